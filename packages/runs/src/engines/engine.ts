// An engine decides which process advances which run, and when.
import type { Database, QueuedRun } from '../journal/journal.ts';

export interface Engine {
  /** Called in each transaction that queues runs. */
  queued(db: Database, runs: readonly QueuedRun[], delaySeconds?: number): Promise<void>;
  /** Begins to advance runs, if this process has agents. */
  start(): Promise<void>;
  /** Called after a transaction that may have queued a run. */
  wake(): void;
  /** A run was cancelled: stop it if this process advances it. */
  cancel(run: string): void;
  /** Runs of this process stop at the end of a step, at the latest after `graceMs`, and are queued again. */
  close(graceMs: number): Promise<void>;
}
