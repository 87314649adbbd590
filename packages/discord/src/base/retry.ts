// Retries with growing delays while the database or Discord is unavailable.
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 5_000;

interface RetryOptions {
  /** No retry starts after this time. */
  until: number;
  /** Ends the retries; the last error is thrown. */
  signal: AbortSignal;
  /** Called once, before the first retry. */
  onWait(error: unknown): void;
  /** Whether an error is worth a retry; by default every error. */
  shouldRetry?(error: unknown): boolean;
}

export async function retry<Result>(
  work: () => Promise<Result>,
  { until, signal, onWait, shouldRetry = () => true }: RetryOptions,
): Promise<Result> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!shouldRetry(error) || signal.aborted || Date.now() + delayMs > until) throw error;
      if (delayMs === FIRST_DELAY_MS) onWait(error);
      await sleep(delayMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) throw error;
    }
  }
}
