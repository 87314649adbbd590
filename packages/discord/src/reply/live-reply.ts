// An answer that people watch grow: one message, edited about once a second, then as many as it takes.

import { setTimeout as passed } from 'node:timers/promises';
import type { SendableChannels } from 'discord.js';
import { AttachmentBuilder, type MessageCreateOptions, RESTJSONErrorCodes } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { isClientError, isCode, isRefusal, refusalReason } from '../base/discord-errors.ts';
import { DiscordBotError, messageOf } from '../base/errors.ts';
import type { ReplyOptions } from '../config/options.ts';
import { cutNote, finalParts, growingParts, joined, noted, type Part, refusedNote } from './answer-parts.ts';
import { type ButtonAction, buttons } from './buttons.ts';
import { inertLinks, previewFlags } from './inert-links.ts';
import { strayReply } from './unrecorded-reply.ts';

interface ReplyTarget {
  channel: SendableChannels;
  /** The message that is answered; none for an interaction. */
  replyTo: string | undefined;
  /** What stands above the answer. */
  heading: string;
  claim: string;
  /** Messages of this answer that are there already. */
  ids: readonly string[];
  /** A process that is gone may have sent one more. */
  isTakenUp: boolean;
  /** Called before a new message counts as sent, so that a restart finds it, and when one is gone. */
  onIds(ids: readonly string[]): Promise<void>;
  /** Whether files may be sent there. */
  canAttach: boolean;
  /** Links to these hosts may be previewed. */
  allowLinkHosts: readonly string[];
}

/** What became of an answer at Discord. */
export interface Outcome {
  /** `refused`: Discord will not take some of it; `failed`: it could not be reached, or another process goes on. */
  state: 'shown' | 'refused' | 'failed';
  /** What people see of the answer. */
  seen: string;
  /** Why it was refused, as a note that is shown, unless Discord refused that too. */
  reason: string;
}

interface Final {
  text: string;
  note: string;
  actions: readonly ButtonAction[];
  /** Whether a long answer may be a file. */
  canAttach: boolean;
}

type Quiet = ReturnType<typeof previewFlags>;

interface Refused {
  parts: readonly Part[];
  /** Which of them. */
  index: number;
  final: Final;
  reason: string;
}

/** Discord opens it again for a new message, not for an edit. */
const THREAD_ARCHIVED = 50083;
const FINAL_TRIES = 3;

export class LiveReply {
  readonly #target: ReplyTarget;
  readonly #intervalMs: number;
  readonly #maxParts: number;
  readonly #logger: Logger;
  readonly #ids: string[];
  /** What each message shows: `key` to send only what changes, `text` is what people see of the answer. */
  readonly #shown: { key: string; text: string }[] = [];
  #text = '';
  #status = '';
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #isDirty = false;
  #isFinished = false;
  /** Discord counts what it refuses, so nothing more is tried before the end. */
  #isRefused = false;
  #lastFlush = 0;
  /** For one that was sent and not noted down. */
  #hasLooked: boolean;

  constructor(target: ReplyTarget, { editIntervalMs = 1_000, maxParts = 5 }: ReplyOptions, logger: Logger) {
    this.#target = target;
    this.#intervalMs = editIntervalMs;
    this.#maxParts = maxParts;
    this.#logger = logger;
    this.#ids = [...target.ids];
    this.#hasLooked = !target.isTakenUp;
  }

  /** What is there of the answer so far, and what is going on. */
  show(text: string, status: string): void {
    this.#text = text;
    this.#status = status;
    this.#isDirty = true;
    this.#schedule();
  }

  /** The answer as it stays. */
  async finish(text: string, { note = '', again = true }: { note?: string; again?: boolean } = {}): Promise<Outcome> {
    await this.leave();
    const { canAttach, isTakenUp } = this.#target;
    const final: Final = { text, note, actions: again ? ['again'] : [], canAttach };
    for (let count = 1; ; count++) {
      try {
        // a proxy that lets no try of a second round through may take a note instead of the answer
        return await this.#deliver(final, isTakenUp && count === FINAL_TRIES ? isClientError : isRefusal);
      } catch (error) {
        this.#logger.warn('An answer could not be shown', { claim: this.#target.claim, reason: messageOf(error) });
        if (isRefusal(error)) return { state: 'refused', seen: this.#seen, reason: refusalReason(error) };
        if (count === FINAL_TRIES || error instanceof DiscordBotError) return { state: 'failed', seen: '', reason: '' };
        await passed((this.#intervalMs / 2) * count);
      }
    }
  }

  /** Somebody else shows the answer from here on. */
  async leave(): Promise<void> {
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

  /** One at a time: while Discord makes us wait, the text grows and the edits between are never sent. */
  async #flush(): Promise<void> {
    this.#isDirty = false;
    this.#lastFlush = Date.now();
    try {
      const growing = {
        heading: this.#inert(this.#target.heading),
        text: this.#inert(this.#text),
        maxParts: this.#maxParts,
      };
      const parts = growingParts(growing, { status: this.#status, known: this.#ids.length });
      if (!this.#hasLooked) await this.#findStray(parts);
      for (const [index, part] of parts.entries()) await this.#place(index, part);
      await this.#takeAway(parts.length);
    } catch (error) {
      this.#isRefused = isRefusal(error);
      this.#logger.debug('An edit was skipped', { claim: this.#target.claim, reason: messageOf(error) });
    }
    this.#lastFlush = Date.now();
  }

  /** Shows every part that Discord takes, and a note for each one that it does not. */
  async #deliver(final: Final, isFinal: (error: unknown) => boolean): Promise<Outcome> {
    const { text, note, actions, canAttach } = final;
    const maxParts = canAttach ? this.#maxParts : Number.POSITIVE_INFINITY;
    const shown = { heading: this.#inert(this.#target.heading), text: this.#inert(text) };
    const parts = finalParts({ ...shown, fileText: text, note, actions, maxParts });
    if (!this.#hasLooked) await this.#findStray(parts);
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
        reason: messageOf(refusal),
      });
      if (part.file !== undefined) return this.#deliver({ ...final, canAttach: false }, isFinal);
      reason = refusalReason(refusal);
      if (await this.#placeNote({ parts, index, final, reason })) continue;
      kept = index;
      break;
    }
    await this.#takeAway(kept);
    return { state: reason === '' ? 'shown' : 'refused', seen: this.#seen, reason };
  }

  get #seen(): string {
    return this.#shown
      .map(({ text }) => text)
      .join('\n')
      .trim();
  }

  /** In place of a part that was refused. False when it was refused, too: then it is under the part before, if possible. */
  async #placeNote({ parts, index, final, reason }: Refused): Promise<boolean> {
    const { note, actions } = final;
    const isLast = index === parts.length - 1;
    const told = refusedNote(parts.length === 1 ? 'this answer' : 'this part of the answer', reason);
    try {
      await this.#place(
        index,
        noted(isLast ? joined(told, cutNote(note), '\n') : told, { actions: isLast ? actions : [] }),
      );
      return true;
    } catch (error) {
      if (!isRefusal(error) || index === 0) throw error;
    }
    const above = { text: parts[index - 1]?.text ?? '', actions };
    try {
      await this.#place(index - 1, noted(refusedNote('the rest of this answer', reason), above));
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    return false;
  }

  /** Edits the message with that number, or sends it if it does not exist. */
  async #place(index: number, part: Part): Promise<void> {
    const key = JSON.stringify([part.content, part.actions, part.file]);
    if (this.#shown[index]?.key === key) return;
    const id = this.#ids[index];
    if (id === undefined || !(await this.#edit(id, part))) await this.#post(index, part);
    this.#shown[index] = { key, text: part.text };
  }

  /** Deletes the messages after the first ones. */
  async #takeAway(from: number): Promise<void> {
    if (this.#ids.length <= from) return;
    for (const id of this.#ids.slice(from).reverse()) {
      await this.#delete(id);
      this.#ids.pop();
      this.#shown.length = Math.min(this.#shown.length, this.#ids.length);
    }
    await this.#target.onIds([...this.#ids]);
  }

  async #findStray(parts: readonly Part[]): Promise<void> {
    const { channel, claim, replyTo, onIds } = this.#target;
    const ids = this.#ids;
    const stray = await strayReply({ channel, claim, replyTo, ids, content: parts[ids.length]?.content });
    if (stray !== undefined) {
      await onIds([...ids, stray]);
      ids.push(stray);
    }
    this.#hasLooked = true;
  }

  async #delete(id: string): Promise<void> {
    await this.#target.channel.messages.delete(id).catch((error) => {
      if (!isCode(error, RESTJSONErrorCodes.UnknownMessage)) throw error; // gone is what it should be
    });
  }

  /** False when somebody deleted the message. */
  async #edit(id: string, part: Part): Promise<boolean> {
    const { channel } = this.#target;
    // without `attachments` the file of an answer that is replaced would stay
    const edit = () => channel.messages.edit(id, { ...this.#payload(part), attachments: [] });
    try {
      await edit();
    } catch (error) {
      if (isCode(error, RESTJSONErrorCodes.UnknownMessage)) return false;
      if (!isCode(error, THREAD_ARCHIVED) || !channel.isThread()) throw error;
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
      // a second try, or a second process, gets the message that is there
      ...(wasDeleted ? {} : { nonce: `${claim}-${index}`, enforceNonce: true }),
    });
    this.#ids[index] = message.id;
    await onIds([...this.#ids]);
    // a notice, or the first words of a process that is gone
    if (message.content.trim() !== part.content.trim()) await this.#edit(message.id, part);
  }

  #inert(text: string): string {
    return inertLinks(text, this.#target.allowLinkHosts);
  }

  #payload({ content, actions, file }: Part): Pick<MessageCreateOptions, 'content' | 'components' | 'files'> & Quiet {
    return {
      content,
      ...previewFlags(content, this.#target.allowLinkHosts),
      components: buttons(actions, this.#target.claim),
      ...(file === undefined ? {} : { files: [new AttachmentBuilder(Buffer.from(file), { name: 'answer.md' })] }),
    };
  }
}
