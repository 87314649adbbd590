// Asks people in a channel of a chat, who reply to the message. Replies are polled while a question is open. After the process
// has ended, the next call like it takes over the message, with the replies since then.
import { delay, errorText, type Logger, onAbort, PocketError } from '@pocket-agent/kit';
import type { GivenAnswer } from '../callers/state.ts';
import { ANSWERS, questionText, readAnswerText, UNREADABLE } from './chat-answer.ts';
import type { ApprovalDesk, DeskQuestion } from './desk.ts';

const POLL_MS = 2_000;
/** After an error, such as too many requests. */
const PAUSE_MS = 10_000;
/** For this long after its start, a process looks for messages of earlier processes. */
const TAKE_OVER_MS = 86_400_000;

const CLOSED = 'This question is closed: it was answered elsewhere or not in time, or the caller has gone.';

/** A message of the gateway. */
export interface SentMessage {
  id: string;
  /** Milliseconds since 1970, by the clock of the service. */
  at: number;
}

export interface ChatReply {
  id: string;
  /** The message that it replies to. */
  to: string;
  /** Compared with `approvers`. */
  who: string;
  text: string;
}

/** A channel of Mattermost or Discord. */
export interface Chat {
  readonly name: string;
  /** The most characters of a message. */
  readonly maxLength: number;
  send(text: string): Promise<SentMessage>;
  /** A recent message of the gateway with exactly this text, from before this time. */
  find(text: string, before: number): Promise<SentMessage | undefined>;
  edit(id: string, text: string): Promise<void>;
  reply(to: string, text: string): Promise<void>;
  /** Replies of people to these messages; those that were returned before may be among them. */
  replies(open: readonly SentMessage[]): Promise<ChatReply[]>;
  close(): void;
}

interface ChatDeskOptions {
  chat: Chat;
  /** Who may answer. Undefined: everybody who can write in the channel. */
  approvers: readonly string[] | undefined;
  pollMs: number | undefined;
  logger: Logger;
}

interface Waiting {
  message: SentMessage;
  answer(given: GivenAnswer): void;
}

export class ChatDesk implements ApprovalDesk {
  readonly name: string;
  readonly #options: ChatDeskOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** Replies that were read. */
  readonly #seen = new Set<string>();
  /** Edits of messages in progress. */
  readonly #closing = new Set<Promise<void>>();
  readonly #ended = new AbortController();
  readonly #startedAt = Date.now();
  #isPolling = false;
  #isLeaving = false;

  constructor(options: ChatDeskOptions) {
    this.#options = options;
    this.name = options.chat.name;
  }

  async ask(question: DeskQuestion): Promise<GivenAnswer> {
    const { chat } = this.#options;
    const { signal } = question.request;
    const text = questionText(question);
    if (text.length > chat.maxLength)
      throw new PocketError('ACCESS_DENIED', `the call is too long for a message of ${chat.name}`);
    const message = (await this.#earlier(text)) ?? (await chat.send(text));
    const answered = Promise.withResolvers<GivenAnswer>();
    const release = onAbort(signal, () => answered.reject(signal.reason));
    this.#waiting.set(message.id, { message, answer: answered.resolve });
    void this.#poll();
    try {
      const given = await answered.promise;
      const outcome = `${'deny' in given.answer ? 'Denied' : 'Allowed'} by ${given.by}.`;
      // before the call is made: an open message would allow the same call again after a restart
      await this.#close(message, text.replace(ANSWERS, outcome));
      return given;
    } catch (error) {
      if (!this.#isLeaving) void this.#close(message, text.replace(ANSWERS, CLOSED));
      throw error;
    } finally {
      release();
      this.#waiting.delete(message.id);
    }
  }

  leave(): void {
    this.#isLeaving = true;
  }

  async close(): Promise<void> {
    await Promise.all(this.#closing);
    this.#ended.abort();
    this.#options.chat.close();
  }

  async #earlier(text: string): Promise<SentMessage | undefined> {
    if (Date.now() - this.#startedAt > TAKE_OVER_MS) return undefined;
    const { chat, logger } = this.#options;
    const found = await chat.find(text, this.#startedAt).catch((error) => {
      logger.warn(`Earlier questions on ${chat.name} cannot be read: ${errorText(error)}`);
    });
    return found && !this.#waiting.has(found.id) ? found : undefined;
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    const { chat, pollMs = POLL_MS, logger } = this.#options;
    const { signal } = this.#ended;
    try {
      while (this.#waiting.size > 0 && !signal.aborted) {
        const isDone = await this.#readReplies().catch((error) => {
          logger.warn(`Replies on ${chat.name} cannot be read: ${errorText(error)}`);
          return false;
        });
        await delay(isDone === false ? Math.max(pollMs, PAUSE_MS) : pollMs, signal).catch(() => {}); // closed
      }
    } finally {
      this.#isPolling = false;
      this.#seen.clear();
    }
  }

  async #readReplies(): Promise<void> {
    const { chat, approvers } = this.#options;
    for (const { id, to, who, text } of await chat.replies([...this.#waiting.values()].map(({ message }) => message))) {
      const waiting = this.#waiting.get(to);
      if (!waiting || this.#seen.has(id)) continue;
      this.#seen.add(id);
      const answer = readAnswerText(text);
      if (approvers && !approvers.includes(who)) await this.#tell(to, 'Only the approvers of the gateway can answer.');
      else if (answer) waiting.answer({ answer, by: who });
      else await this.#tell(to, UNREADABLE);
    }
  }

  /** The other replies are read, even if this fails. */
  async #tell(to: string, text: string): Promise<void> {
    const { chat, logger } = this.#options;
    await chat.reply(to, text).catch((error) => logger.warn(`A reply on ${chat.name} failed: ${errorText(error)}`));
  }

  #close({ id }: SentMessage, text: string): Promise<void> {
    const { chat, logger } = this.#options;
    const closing = chat
      .edit(id, text)
      .catch((error) => logger.warn(`A question on ${chat.name} could not be closed: ${errorText(error)}`))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    return closing;
  }
}
