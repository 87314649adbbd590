// Repeats a request with exponential backoff, if that is safe and the deadline leaves time for it.
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
      const backoff = Math.min(delayMs * 2 ** count, MAX_DELAY_MS);
      const wait = Math.max(failure.retryAfterMs ?? 0, backoff * (0.5 + Math.random() / 2));
      if (wait >= deadline.remainingMs) throw failure; // no time would be left for the answer
      onRetry();
      await deadline.sleep(wait);
    }
  }
}
