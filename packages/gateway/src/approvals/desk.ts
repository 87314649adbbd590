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
  close(): Promise<void>;
}

/** Asks at all desks. The first answer counts. */
export function askedDesks(
  desks: readonly ApprovalDesk[],
  { caller, logger }: { caller: string; logger: Logger },
): Approve {
  return async (request): Promise<ApprovalAnswer> => {
    const ended = new AbortController();
    const signal = AbortSignal.any([request.signal, ended.signal]);
    const asked = desks.map(async (desk) => {
      const given = await desk.ask({ caller, request: { ...request, signal } });
      return { ...given, desk };
    });
    try {
      const { answer, by, desk } = await Promise.any(asked);
      const what = 'deny' in answer ? 'denied' : 'allowed';
      logger.info(`${request.tool} for "${caller}" was ${what} by ${by} (${desk.name}).`);
      return { ...answer, hash: request.hash };
    } catch (error) {
      request.signal.throwIfAborted();
      const reasons = error instanceof AggregateError ? error.errors.map(errorText).join('; ') : errorText(error);
      logger.error(`Nobody could be asked about ${request.tool} for "${caller}": ${reasons}`);
      return { deny: 'nobody could be asked to approve it', by: 'no-approver' };
    } finally {
      ended.abort();
    }
  };
}
