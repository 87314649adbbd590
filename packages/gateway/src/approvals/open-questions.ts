// Questions in the state of the gateway. Approvers answer them at any of its processes; the one that asked looks for the answer.
import { randomUUID } from 'node:crypto';
import { errorText, type Logger, onAbort, PocketError, withoutUndefined } from '@pocket-agent/kit';
import type { GatewayState, GivenAnswer, OpenQuestion } from '../callers/state.ts';
import type { ApprovalDesk, DeskQuestion } from './desk.ts';

const LOOK_MS = 500;
/** People must be able to read what they approve, and lists of questions must not grow without bound. */
const MAX_CHARACTERS = 20_000;

interface QuestionsOptions {
  state: GatewayState;
  logger: Logger;
  /** How long a question waits. */
  timeoutMs(): number;
}

export class OpenQuestions implements ApprovalDesk {
  readonly name = 'endpoint';
  readonly #options: QuestionsOptions;
  /** Questions that this process has asked. */
  readonly #waiting = new Map<string, (given: GivenAnswer) => void>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  /** Many approvers may wait for news at the same time. */
  #listed: { at: number; questions: Promise<OpenQuestion[]> } | undefined;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  async ask({ caller, request }: DeskQuestion): Promise<GivenAnswer> {
    const { tool, capability, description, arguments: args, changed, hash, signal } = request;
    const { state, timeoutMs } = this.#options;
    const askedAt = Date.now();
    const question: OpenQuestion = {
      ...{ id: randomUUID(), caller, tool, capability, arguments: args, changed, hash },
      ...withoutUndefined({ description }),
      ...{ askedAt, expiresAt: askedAt + timeoutMs() },
    };
    const { id } = question;
    if (JSON.stringify(question).length > MAX_CHARACTERS)
      throw new PocketError('ACCESS_DENIED', `the call has more than ${MAX_CHARACTERS} characters`);
    signal.throwIfAborted();
    const answered = Promise.withResolvers<GivenAnswer>();
    answered.promise.catch(() => {}); // it may be rejected before it is awaited
    const release = onAbort(signal, () => answered.reject(signal.reason));
    this.#waiting.set(id, answered.resolve);
    try {
      await state.ask(question);
      this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
      return await answered.promise;
    } finally {
      release();
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#stop();
      await state.withdraw(id).catch((error) => this.#warn(error)); // it expires
    }
  }

  /** The open questions of all processes. */
  list(): Promise<OpenQuestion[]> {
    if (!this.#listed || Date.now() - this.#listed.at > LOOK_MS)
      this.#listed = { at: Date.now(), questions: this.#options.state.questions() };
    return this.#listed.questions;
  }

  /** False if the question is not open. */
  async answer(id: string, given: GivenAnswer): Promise<boolean> {
    this.#listed = undefined;
    const isOpen = await this.#options.state.answer(id, given);
    if (isOpen) this.#waiting.get(id)?.(given);
    return isOpen;
  }

  async close(): Promise<void> {
    this.#stop();
  }

  async #look(): Promise<void> {
    const ids = [...this.#waiting.keys()];
    if (this.#looking || ids.length === 0) return;
    this.#looking = true;
    try {
      for (const [id, given] of await this.#options.state.answers(ids)) this.#waiting.get(id)?.(given);
    } catch (error) {
      this.#warn(error); // the state may be back soon
    } finally {
      this.#looking = false;
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #warn(error: unknown): void {
    this.#options.logger.warn(`The questions of the gateway: ${errorText(error)}`);
  }
}
