// An answer that people watch grow: one message, edited about once a second, then as many as it takes.

import { setTimeout as passed } from 'node:timers/promises';
import type { SendableChannels } from 'discord.js';
import { AttachmentBuilder, type MessageCreateOptions, RESTJSONErrorCodes } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { isCode, isRefusal } from '../discord-error.ts';
import { DiscordBotError, messageOf } from '../errors.ts';
import { type ButtonAction, buttons } from './buttons.ts';
import { MESSAGE_LENGTH, splitMessage } from './split.ts';
import { strayReply } from './stray-reply.ts';

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
}

export interface ReplyOptions {
  /** Between edits. Default 1,000. */
  editIntervalMs?: number;
  /** Longer answers go into a file. Default 5. */
  maxParts?: number;
}

type Outcome = 'shown' | 'refused' | 'failed';

interface Part {
  content: string;
  actions: readonly ButtonAction[];
  file?: string;
}

/** Discord opens it again for a new message, not for an edit. */
const THREAD_ARCHIVED = 50083;
const FINAL_TRIES = 3;
const TRY_AGAIN_MS = 500;
const LONGEST_NOTE = 400;
const NOTHING = '-# The model answered nothing. Ask in other words.';

export class LiveReply {
  readonly #target: ReplyTarget;
  readonly #intervalMs: number;
  readonly #maxParts: number;
  readonly #logger: Logger;
  readonly #ids: string[];
  /** What each message shows, to send only what changes. */
  readonly #shown: string[] = [];
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

  /** The answer as it stays. `refused`: Discord will not take it; `failed`: it could not be reached for now. */
  async finish(text: string, { note = '', again = true }: { note?: string; again?: boolean } = {}): Promise<Outcome> {
    await this.leave();
    const actions: ButtonAction[] = again ? ['again'] : [];
    for (let count = 1; ; count++) {
      try {
        await this.#put(this.#finalParts(text, note, actions));
        return 'shown';
      } catch (error) {
        this.#logger.warn('An answer could not be shown', { claim: this.#target.claim, reason: messageOf(error) });
        if (isRefusal(error) || error instanceof DiscordBotError) return 'refused';
        if (count === FINAL_TRIES) return 'failed';
        await passed(TRY_AGAIN_MS * count);
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
      await this.#put(this.#growingParts());
    } catch (error) {
      this.#isRefused = isRefusal(error);
      this.#logger.debug('An edit was skipped', { claim: this.#target.claim, reason: messageOf(error) });
    }
    this.#lastFlush = Date.now();
  }

  #growingParts(): Part[] {
    const status = this.#status === '' ? '' : this.#status.slice(0, 400);
    const parts = splitMessage(this.#target.heading + this.#text, MESSAGE_LENGTH - 420).slice(0, this.#maxParts);
    const last = parts.length - 1;
    if (last < 0) return [{ content: status || '-# …', actions: ['stop'] }];
    return parts.map((content, index) => ({
      content: index === last ? joined(content, status) : content,
      // by its button a new one is found again
      actions: index === last || index >= this.#ids.length ? ['stop'] : [],
    }));
  }

  #finalParts(text: string, note: string, actions: readonly ButtonAction[]): Part[] {
    const { heading, canAttach } = this.#target;
    const last = (note || (text.trim() === '' ? NOTHING : '')).slice(0, LONGEST_NOTE).toWellFormed();
    // what is split has its fences closed, so the note stands outside of them
    const parts = splitMessage(heading + text);
    const end = parts.pop() ?? '';
    const whole = joined(end, last);
    parts.push(...(whole.length > MESSAGE_LENGTH ? [end, last] : [whole]));
    if (parts.length > this.#maxParts && canAttach) {
      const where = joined(`-# The whole answer has ${text.length} characters and is in the file.`, last, '\n');
      const [beginning = ''] = splitMessage(heading + text, MESSAGE_LENGTH - where.length - 2);
      return [{ content: joined(beginning, where), actions, file: text }];
    }
    return parts.map((content, index) => ({ content, actions: index === parts.length - 1 ? actions : [] }));
  }

  async #put(parts: readonly Part[]): Promise<void> {
    if (!this.#hasLooked) await this.#findStray(parts);
    for (const [index, part] of parts.entries()) {
      const key = JSON.stringify(part);
      if (this.#shown[index] === key) continue;
      const id = this.#ids[index];
      if (id === undefined || !(await this.#edit(id, part))) await this.#post(index, part);
      this.#shown[index] = key;
    }
    this.#shown.length = parts.length;
    if (this.#ids.length <= parts.length) return;
    for (const id of this.#ids.slice(parts.length)) await this.#delete(id);
    this.#ids.length = parts.length;
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

  #payload({ content, actions, file }: Part): Pick<MessageCreateOptions, 'content' | 'components' | 'files'> {
    return {
      content,
      components: buttons(actions, this.#target.claim),
      ...(file === undefined ? {} : { files: [new AttachmentBuilder(Buffer.from(file), { name: 'answer.md' })] }),
    };
  }
}

function joined(text: string, note: string, between = '\n\n'): string {
  if (note === '') return text;
  return text.trim() === '' ? note : `${text}${between}${note}`;
}
