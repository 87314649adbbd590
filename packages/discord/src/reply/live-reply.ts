// An answer that grows in Discord: one message, edited about once a second, split when it is complete.

import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '@pocket-agent/kit';
import { AttachmentBuilder, type MessageCreateOptions, RESTJSONErrorCodes } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { hasErrorCode, isClientError, isRefusal, refusalReason } from '../base/discord-errors.ts';
import { DiscordBotError } from '../base/errors.ts';
import type { ReplyOptions } from '../config/options.ts';
import type { AnswerFile } from './answer-files.ts';
import { finalParts, growingParts, joinNote, type Part, refusalNote, truncateNote, withNote } from './answer-parts.ts';
import { type ButtonAction, buttons } from './buttons.ts';
import { inertLinks, previewFlags } from './inert-links.ts';
import { type AnswerChannel, InteractionChannel } from './interaction-channel.ts';
import { deleteMessage } from './own-messages.ts';
import { findUnrecordedReply } from './unrecorded-reply.ts';

interface ReplyTarget {
  channel: AnswerChannel;
  /** The message to reply to; undefined for an interaction. */
  replyTo: string | undefined;
  /** Quoted question above the answer of a command. */
  heading: string;
  claim: string;
  /** The messages of this answer that are recorded. */
  ids: readonly string[];
  /** The answer was started by a process that ended; it may have sent a message that was not recorded. */
  isResumed: boolean;
  /** Saves the ids after a message was sent or deleted, so that a restart finds them. */
  onIds(ids: readonly string[]): Promise<void>;
  /** Whether the bot may attach files in the channel. */
  canAttach: boolean;
  /** Hosts whose links may show previews. */
  allowLinkHosts: readonly string[];
  /** Whether the answer can be regenerated, which edits it later. */
  canRepeat: boolean;
}

/** The result of showing an answer. */
export interface Outcome {
  /** `refused`: Discord rejected part of it; `failed`: Discord was unreachable, or another process took over. */
  state: 'shown' | 'refused' | 'failed';
  /** The text that users can see. */
  visibleText: string;
  /** Why Discord refused it. */
  reason: string;
}

interface FinalAnswer {
  text: string;
  note: string;
  actions: readonly ButtonAction[];
  /** Whether a long answer may be sent as a file. */
  canAttach: boolean;
  files: readonly AnswerFile[];
}

interface Finish {
  note?: string;
  /** Whether the answer can be regenerated. */
  again?: boolean;
  files?: readonly AnswerFile[];
}

type PreviewFlags = ReturnType<typeof previewFlags>;

interface RefusedPart {
  parts: readonly Part[];
  /** The index of the refused part. */
  index: number;
  final: FinalAnswer;
  reason: string;
}

/** A new message reopens an archived thread, an edit does not. */
const THREAD_ARCHIVED = 50083;
const FINAL_ATTEMPTS = 3;
/** The limits of Discord for a message, one file less for a long answer. */
const MAX_FILES = 9;
const MAX_FILE_BYTES = 10_000_000;

export class LiveReply {
  readonly #target: ReplyTarget;
  readonly #intervalMs: number;
  readonly #maxParts: number;
  readonly #logger: Logger;
  readonly #ids: string[];
  /** Per message: `key` avoids repeated edits, `text` is the visible part of the answer. */
  readonly #shown: { key: string; text: string }[] = [];
  #text = '';
  #status = '';
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #isDirty = false;
  #isFinished = false;
  /** Refused requests count against the rate limit, so edits stop until the final one. */
  #isRefused = false;
  #lastFlush = 0;
  /** Whether the channel was searched for an unrecorded message. */
  #hasSearched: boolean;

  constructor(target: ReplyTarget, { editIntervalMs = 1_000, maxParts = 5 }: ReplyOptions, logger: Logger) {
    this.#target = target;
    this.#intervalMs = editIntervalMs;
    this.#maxParts = maxParts;
    this.#logger = logger;
    this.#ids = [...target.ids];
    this.#hasSearched = !target.isResumed;
  }

  /** Shows the text so far and a status line with the next edit. */
  show(text: string, status: string): void {
    this.#text = text;
    this.#status = status;
    this.#isDirty = true;
    this.#schedule();
  }

  /** Shows the complete answer. Files that Discord does not take are left out, with a note. */
  async finish(text: string, { note = '', again = true, files = [] }: Finish = {}): Promise<Outcome> {
    await this.stop();
    const { canAttach, isResumed, canRepeat } = this.#target;
    const actions: ButtonAction[] = again && canRepeat ? ['again'] : [];
    const final: FinalAnswer = { ...withFiles({ note, files, canAttach }), text, actions, canAttach };
    for (let count = 1; ; count++) {
      try {
        // after a restart, on the last attempt, replace parts that a proxy blocks by a note
        return await this.#deliver(final, isResumed && count === FINAL_ATTEMPTS ? isClientError : isRefusal);
      } catch (error) {
        this.#logger.warn('Showing an answer failed', { claim: this.#target.claim, reason: errorText(error) });
        if (isRefusal(error)) return { state: 'refused', visibleText: this.#visibleText, reason: refusalReason(error) };
        if (count === FINAL_ATTEMPTS || error instanceof DiscordBotError)
          return { state: 'failed', visibleText: '', reason: '' };
        await sleep((this.#intervalMs / 2) * count);
      }
    }
  }

  /** Stops all edits. */
  async stop(): Promise<void> {
    this.#isFinished = true;
    clearTimeout(this.#timer);
    await this.#flushing;
  }

  #schedule(): void {
    if (this.#isFinished || this.#isRefused || this.#timer || this.#flushing || !this.#isDirty) return;
    const delay = Math.max(this.#intervalMs / 4, this.#lastFlush + this.#intervalMs - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = undefined;
        this.#schedule();
      });
    }, delay).unref();
  }

  /** Runs one at a time: while Discord delays an edit the text grows, and edits in between are skipped. */
  async #flush(): Promise<void> {
    this.#isDirty = false;
    this.#lastFlush = Date.now();
    try {
      const growing = {
        heading: this.#disablePreviews(this.#target.heading),
        text: this.#disablePreviews(this.#text),
        maxParts: this.#maxParts,
      };
      const parts = growingParts(growing, { status: this.#status, sentCount: this.#ids.length });
      if (!this.#hasSearched) await this.#findUnrecorded(parts);
      for (const [index, part] of parts.entries()) await this.#place(index, part);
      await this.#deleteFrom(parts.length);
    } catch (error) {
      this.#isRefused = isRefusal(error);
      this.#logger.debug('An edit was skipped', { claim: this.#target.claim, reason: errorText(error) });
    }
    this.#lastFlush = Date.now();
  }

  /** Shows all parts, and a note in place of each part that Discord refuses. */
  async #deliver(final: FinalAnswer, isFinal: (error: unknown) => boolean): Promise<Outcome> {
    const { text, note, actions, canAttach, files } = final;
    const maxParts = canAttach ? this.#maxParts : Number.POSITIVE_INFINITY;
    const shown = { heading: this.#disablePreviews(this.#target.heading), text: this.#disablePreviews(text) };
    const parts = finalParts({ ...shown, fileText: text, note, actions, maxParts, files });
    if (!this.#hasSearched) await this.#findUnrecorded(parts);
    let reason = '';
    let kept = parts.length;
    for (const [index, part] of parts.entries()) {
      const refusal = await this.#place(index, part).catch((error: unknown) => {
        if (!isFinal(error)) throw error;
        return error;
      });
      if (refusal === undefined) continue;
      this.#logger.warn('A part of an answer was refused', {
        claim: this.#target.claim,
        reason: errorText(refusal),
      });
      if (part.files) return this.#deliver({ ...final, ...withFiles({ ...final, canAttach: false }) }, isFinal);
      if (part.file !== undefined) return this.#deliver({ ...final, canAttach: false }, isFinal);
      reason = refusalReason(refusal);
      if (await this.#placeNote({ parts, index, final, reason })) continue;
      kept = index;
      break;
    }
    await this.#deleteFrom(kept);
    return { state: reason === '' ? 'shown' : 'refused', visibleText: this.#visibleText, reason };
  }

  get #visibleText(): string {
    return this.#shown
      .map(({ text }) => text)
      .join('\n')
      .trim();
  }

  /** Puts a note in place of a refused part. If the note is refused too, puts it below the previous part and returns false. */
  async #placeNote({ parts, index, final, reason }: RefusedPart): Promise<boolean> {
    const { note, actions } = final;
    const isLast = index === parts.length - 1;
    const refusal = refusalNote(parts.length === 1 ? 'this answer' : 'this part of the answer', reason);
    const shown = isLast ? joinNote(refusal, truncateNote(note), '\n') : refusal;
    try {
      await this.#place(index, withNote(shown, { actions: isLast ? actions : [] }));
      return true;
    } catch (error) {
      if (!isRefusal(error) || index === 0) throw error;
    }
    const above = { text: parts[index - 1]?.text ?? '', actions };
    try {
      await this.#place(index - 1, withNote(refusalNote('the rest of this answer', reason), above));
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    return false;
  }

  /** Edits the message at this index, or sends it. */
  async #place(index: number, part: Part): Promise<void> {
    const key = JSON.stringify([part.content, part.actions, part.file, part.files?.map(({ name }) => name)]);
    if (this.#shown[index]?.key === key) return;
    const id = this.#ids[index];
    if (id === undefined || !(await this.#edit(id, part))) await this.#post(index, part);
    this.#shown[index] = { key, text: part.text };
  }

  /** Deletes the messages from this index on. */
  async #deleteFrom(from: number): Promise<void> {
    if (this.#ids.length <= from) return;
    for (const id of this.#ids.slice(from).reverse()) {
      await deleteMessage(this.#target.channel, id);
      this.#ids.pop();
      this.#shown.length = Math.min(this.#shown.length, this.#ids.length);
    }
    await this.#target.onIds([...this.#ids]);
  }

  async #findUnrecorded(parts: readonly Part[]): Promise<void> {
    const { channel, claim, replyTo, onIds } = this.#target;
    const ids = this.#ids;
    const unrecorded = await findUnrecordedReply({ channel, claim, replyTo, ids, content: parts[ids.length]?.content });
    if (unrecorded !== undefined) {
      await onIds([...ids, unrecorded]);
      ids.push(unrecorded);
    }
    this.#hasSearched = true;
  }

  /** False if the message was deleted. */
  async #edit(id: string, part: Part): Promise<boolean> {
    const { channel } = this.#target;
    // an empty list removes the file of a replaced answer
    const edit = () => channel.messages.edit(id, { ...this.#payload(part), attachments: [] });
    try {
      await edit();
    } catch (error) {
      if (hasErrorCode(error, RESTJSONErrorCodes.UnknownMessage)) return false;
      const isArchived = hasErrorCode(error, THREAD_ARCHIVED) && !(channel instanceof InteractionChannel);
      if (!isArchived || !channel.isThread()) throw error;
      await channel.setArchived(false);
      await edit();
    }
    return true;
  }

  async #post(index: number, part: Part): Promise<void> {
    const { channel, replyTo, claim, onIds } = this.#target;
    const isFirst = index === 0 && replyTo !== undefined;
    const wasDeleted = this.#ids[index] !== undefined;
    const message = await channel.send({
      ...this.#payload(part),
      ...(isFirst ? { reply: { messageReference: replyTo, failIfNotExists: false } } : {}),
      // with the same nonce Discord returns the existing message to a retry or a second process
      ...(wasDeleted ? {} : { nonce: `${claim}-${index}`, enforceNonce: true }),
    });
    this.#ids[index] = message.id;
    await onIds([...this.#ids]);
    // Discord returned an existing message with other content
    if (message.content.trim() !== part.content.trim()) await this.#edit(message.id, part);
  }

  #disablePreviews(text: string): string {
    return inertLinks(text, this.#target.allowLinkHosts);
  }

  #payload({
    content,
    actions,
    file,
    files = [],
  }: Part): Pick<MessageCreateOptions, 'content' | 'components' | 'files'> & PreviewFlags {
    return {
      content,
      ...previewFlags(content, this.#target.allowLinkHosts),
      components: buttons(actions, this.#target.claim),
      files: [
        ...(file === undefined ? [] : [new AttachmentBuilder(Buffer.from(file), { name: 'answer.md' })]),
        ...files.map(({ name, bytes }) => new AttachmentBuilder(bytes, { name })),
      ],
    };
  }
}

/** The files that can be attached, and a note about the others. */
function withFiles({ note, files, canAttach }: Pick<FinalAnswer, 'note' | 'files' | 'canAttach'>) {
  const attached = canAttach ? files.filter(({ bytes }) => bytes.length <= MAX_FILE_BYTES).slice(0, MAX_FILES) : [];
  const missing = files.length - attached.length;
  if (missing === 0) return { files: attached, note };
  const names = missing === 1 ? 'A generated file' : `${missing} generated files`;
  return { files: attached, note: joinNote(`-# ${names} could not be attached.`, note, '\n') };
}
