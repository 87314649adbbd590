// Sending again: when it is safe, after a wait that grows, and never beyond the deadline.

import { type CallFailure, toFailure } from '../../base/call-failure.ts';
import type { Deadline } from './deadline.ts';

interface RetryOptions {
  /** Tries after the first. */
  retries: number;
  /** Whether nothing bad comes of a second try after this failure. */
  isSafe(failure: CallFailure): boolean;
  deadline: Deadline;
  /** The first wait; it doubles, with jitter. */
  delayMs: number;
  retrying(): void;
}

const MAX_WAIT_MS = 10_000;

export async function withRetries<Value>(run: () => Promise<Value>, options: RetryOptions): Promise<Value> {
  const { retries, isSafe, deadline, delayMs, retrying } = options;
  for (let count = 0; ; count++) {
    try {
      return await run();
    } catch (error) {
      const failure = toFailure(error);
      if (count >= retries || deadline.signal.aborted || !isSafe(failure)) throw failure;
      const growing = Math.min(delayMs * 2 ** count, MAX_WAIT_MS);
      const wait = Math.max(failure.retryAfterMs ?? 0, growing * (0.5 + Math.random() / 2));
      if (wait >= deadline.remainingMs) throw failure; // there would be no time left for the answer
      retrying();
      await deadline.sleep(wait);
    }
  }
}

/** Milliseconds, from the seconds or the date of a `Retry-After`. */
export function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
