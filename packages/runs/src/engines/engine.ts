// An engine decides which process advances which run, and when.
import type { Database } from '../journal.ts';
import type { RunTable } from '../schema.ts';

export interface Engine {
  /** In each transaction that queues a run. */
  queued(db: Database, run: Pick<RunTable, 'id' | 'agent'>): Promise<void>;
  /** With agents: begins to advance runs. */
  start(): Promise<void>;
  /** After a transaction that may have queued a run. */
  wake(): void;
  /** A run of this process is not wanted any more. */
  cancel(run: string): void;
  /** Runs of this process stop at the end of a step, at the latest after `graceMs`, and are queued again. */
  close(graceMs: number): Promise<void>;
}
