// Approval desks: people who are asked about calls of clients that cannot ask their own user.
import { errorText, type Logger } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import type { Approve } from 'pocket-agent/internal/gate';
import type { GivenAnswer } from '../callers/state.ts';

/** A call of a caller that waits for a decision. */
export interface DeskQuestion {
  caller: string;
  /** Its signal ends when the time is over, the caller is gone, or another desk has the answer. */
  request: ApprovalRequest;
}

/** A place where people answer questions. */
export interface ApprovalDesk {
  /** Where it is, for the log. */
  readonly name: string;
  /** Resolves with the answer of a person. Rejects if no person can be asked here, and when the signal of the request aborts. */
  ask(question: DeskQuestion): Promise<GivenAnswer>;
  /** The process ends: questions of calls that end from now on stay open for the next process. */
  leave(): void;
  close(): Promise<void>;
}

/** A caller who floods the approvers would hide the questions of others. */
const MAX_OF_CALLER = 20;
const MAX_OPEN = 500;

/** All desks. The first answer counts. */
export class ApprovalDesks {
  readonly #desks: readonly ApprovalDesk[];
  readonly #logger: Logger;
  /** Open questions by caller. */
  readonly #open = new Map<string, number>();
  #total = 0;

  constructor(desks: readonly ApprovalDesk[], logger: Logger) {
    this.#desks = desks;
    this.#logger = logger;
  }

  /** Who approves calls of a caller; undefined if there is no desk. */
  of(caller: string): Approve | undefined {
    return this.#desks.length > 0 ? (request) => this.#ask({ caller, request }) : undefined;
  }

  leave(): void {
    for (const desk of this.#desks) desk.leave();
  }

  async close(): Promise<void> {
    await Promise.all(this.#desks.map((desk) => desk.close()));
  }

  async #ask({ caller, request }: DeskQuestion): Promise<ApprovalAnswer> {
    const own = this.#open.get(caller) ?? 0;
    if (own >= MAX_OF_CALLER || this.#total >= MAX_OPEN)
      return { deny: 'too many calls wait for an approval already', by: 'no-approver' };
    const ended = new AbortController();
    const signal = AbortSignal.any([request.signal, ended.signal]);
    this.#count(caller, 1);
    try {
      const { answer, by, desk } = await this.#firstAnswer({ caller, request: { ...request, signal } });
      const what = 'deny' in answer ? 'denied' : 'allowed';
      this.#logger.info(`${request.tool} for "${caller}" was ${what} by ${by} (${desk.name}).`);
      return { ...answer, hash: request.hash };
    } catch (error) {
      request.signal.throwIfAborted();
      if (!(error instanceof AggregateError)) throw error;
      return { deny: 'no approver could be reached', by: 'no-approver' }; // the log says why
    } finally {
      this.#count(caller, -1);
      ended.abort();
    }
  }

  #firstAnswer(question: DeskQuestion) {
    const { request, caller } = question;
    const ask = async (desk: ApprovalDesk) => {
      try {
        return { ...(await desk.ask(question)), desk };
      } catch (error) {
        if (!request.signal.aborted)
          this.#logger.warn(`${desk.name} cannot ask about ${request.tool} for "${caller}": ${errorText(error)}`);
        throw error;
      }
    };
    return Promise.any(this.#desks.map(ask));
  }

  #count(caller: string, change: number): void {
    const count = (this.#open.get(caller) ?? 0) + change;
    if (count > 0) this.#open.set(caller, count);
    else this.#open.delete(caller);
    this.#total += change;
  }
}
