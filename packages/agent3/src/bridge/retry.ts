// Repeats a request with exponential backoff, if that is safe and the deadline leaves time for it.
import { backoffMs } from '@pocket-agent/kit';
import { type CallFailure, toFailure } from '../base/call-failure.ts';
import type { Deadline } from './deadline.ts';

interface RetryOptions {
  /** Attempts after the first. */
  retries: number;
  /** Whether the request may be sent again after this failure. */
  isSafe(failure: CallFailure): boolean;
  deadline: Deadline;
  /** The first delay; it doubles, with jitter. */
  delayMs: number;
  onRetry(): void;
}

const MAX_DELAY_MS = 10_000;

export async function withRetries<Value>(run: () => Promise<Value>, options: RetryOptions): Promise<Value> {
  const { retries, isSafe, deadline, delayMs, onRetry } = options;
  for (let count = 0; ; count++) {
    try {
      return await run();
    } catch (error) {
      const failure = toFailure(error);
      if (count >= retries || deadline.signal.aborted || !isSafe(failure)) throw failure;
      const wait = Math.max(failure.retryAfterMs ?? 0, backoffMs(count, { firstMs: delayMs, maxMs: MAX_DELAY_MS }));
      if (wait >= deadline.remainingMs) throw failure; // no time would be left for the answer
      onRetry();
      await deadline.sleep(wait);
    }
  }
}
