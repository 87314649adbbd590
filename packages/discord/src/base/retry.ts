// Work that is tried again while something it needs is away.
import { setTimeout as passed } from 'node:timers/promises';

const FIRST_MS = 250;
const LONGEST_MS = 5_000;

interface Patience {
  /** When it is too late to try again. */
  until: number;
  /** Ends the waiting; what was tried last counts. */
  signal: AbortSignal;
  /** Called once, when it has to wait. */
  onWait(error: unknown): void;
  /** Whether a failure may pass; every one when left out. */
  isWorth?(error: unknown): boolean;
}

export async function tryAgain<Result>(
  work: () => Promise<Result>,
  { until, signal, onWait, isWorth = () => true }: Patience,
): Promise<Result> {
  for (let waitMs = FIRST_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isWorth(error) || signal.aborted || Date.now() + waitMs > until) throw error;
      if (waitMs === FIRST_MS) onWait(error);
      await passed(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) throw error;
    }
  }
}
