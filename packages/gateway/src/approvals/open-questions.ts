// Questions in the state of the gateway. Approvers answer them at any of its processes; the process that asked polls for the
// answer. If that process ends, the question stays open: the next call like it takes it over, with the answer if there is one.
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
  #isPolling = false;
  /** Questions of later processes are never taken over. */
  readonly #startedAt = Date.now();
  #isLeaving = false;
  /** Shared by approvers that wait for changes at the same time. */
  #listed: { at: number; questions: Promise<OpenQuestion[]> } | undefined;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  async ask({ caller, request }: DeskQuestion): Promise<GivenAnswer> {
    const { tool, server, capability, description, arguments: args, changed, hash, signal } = request;
    const { state, timeoutMs } = this.#options;
    const askedAt = Date.now();
    const question: OpenQuestion = {
      ...{ id: randomUUID(), caller, tool, capability, arguments: args, changed, hash },
      ...withoutUndefined({ server, description }),
      ...{ askedAt, expiresAt: askedAt + timeoutMs() },
    };
    const { id } = question;
    if (JSON.stringify(question).length > MAX_CHARACTERS)
      throw new PocketError('ACCESS_DENIED', `the call has more than ${MAX_CHARACTERS} characters`);
    signal.throwIfAborted();
    const given = await this.#takeOver(question);
    if (given) return given;
    const answered = Promise.withResolvers<GivenAnswer>();
    answered.promise.catch(() => {}); // it may be rejected before it is awaited
    const release = onAbort(signal, () => answered.reject(signal.reason));
    this.#waiting.set(id, answered.resolve);
    try {
      await state.ask(question);
      this.#timer ??= setInterval(() => void this.#poll(), LOOK_MS).unref();
      return await answered.promise;
    } finally {
      release();
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#stop();
      if (!this.#isLeaving) await state.withdraw(id).catch((error) => this.#warn(error)); // it expires
    }
  }

  /** Questions of calls that end from now on wait for the next process. */
  leave(): void {
    this.#isLeaving = true;
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

  /**
   * The answer to the same question of an earlier process. It is taken out of the state, so it allows one call. The time limit of
   * this call counts from now.
   */
  async #takeOver(question: OpenQuestion): Promise<GivenAnswer | undefined> {
    const { state } = this.#options;
    const asked = await state.asked();
    const earlier = asked.find((other) => other.askedAt < this.#startedAt && isSame(other, question));
    return earlier && (await state.take(earlier.id))?.given;
  }

  async #poll(): Promise<void> {
    const ids = [...this.#waiting.keys()];
    if (this.#isPolling || ids.length === 0) return;
    this.#isPolling = true;
    try {
      for (const [id, given] of await this.#options.state.answers(ids)) this.#waiting.get(id)?.(given);
    } catch (error) {
      this.#warn(error); // the state may be back soon
    } finally {
      this.#isPolling = false;
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

/** Everything that the approver reads has to be the same. */
function isSame(one: OpenQuestion, other: OpenQuestion): boolean {
  return seen(one) === seen(other);
}

function seen({ caller, tool, capability, description, arguments: args, changed, hash }: OpenQuestion): string {
  return JSON.stringify([caller, tool, capability, description, args, changed, hash]);
}
