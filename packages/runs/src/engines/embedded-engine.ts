// The engine of one process on SQLite: advances queued runs, beginning with those of a process that died.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { hasToWait } from '../journal/conversations.ts';
import { queueing } from '../journal/journal.ts';
import type { RunTable } from '../journal/schema.ts';
import type { Engine } from './engine.ts';
import { Worker, type WorkerOptions } from './worker.ts';
import { tryWorkerLock } from './worker-lock.ts';

/** How often to look for changes by other processes, and for overdue runs and questions. */
const TICK_MS = 1_000;

export class EmbeddedEngine implements Engine {
  readonly #worker: Worker;
  readonly #file: string;
  #unlock: (() => void) | undefined;
  /** Whether another process was found at work. */
  #isWaiting = false;
  #timer: NodeJS.Timeout | undefined;
  #tickedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** One search for runs at a time. */
  #claiming: Promise<void> = Promise.resolve();

  constructor(file: string, options: WorkerOptions) {
    this.#file = file;
    this.#worker = new Worker(options);
  }

  /** Nothing to do: the row of the run is the queue. */
  async queued(): Promise<void> {}

  async start(): Promise<void> {
    if (this.#worker.options.agents.size === 0) return;
    await this.#claimRuns();
    this.#timer = setInterval(() => this.wake(), TICK_MS).unref();
  }

  wake(): void {
    if (!this.#timer) return;
    this.#claiming = this.#claiming.then(() => this.#claimRuns()).catch((error) => this.#worker.report(error));
  }

  cancel(run: string): void {
    this.#worker.cancel(run);
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#claiming;
    await this.#worker.leave(graceMs);
    this.#unlock?.();
  }

  async #claimRuns(): Promise<void> {
    if (this.#isClosed) return;
    if (!this.#unlock && !(await this.#becomeWorker())) return;
    if (performance.now() - this.#tickedAt >= TICK_MS) {
      this.#tickedAt = performance.now();
      await this.#worker.requeueLost();
      await this.#worker.tick();
    }
    while (!this.#isClosed && this.#worker.size < this.#worker.options.maxParallelRuns) {
      const row = await this.#claim();
      if (!row) return;
      this.#worker.advance(row).then(
        (isSaved) => isSaved && this.wake(), // otherwise the timer tries again, because the database may be back then
        (error) => this.#worker.report(error),
      );
    }
  }

  async #becomeWorker(): Promise<boolean> {
    this.#unlock = await tryWorkerLock(this.#file);
    if (!this.#unlock) {
      const text = `Another process advances the runs of ${this.#file}; this one waits until that one ends.`;
      if (!this.#isWaiting) this.#worker.options.logger.warn(text);
      this.#isWaiting = true;
      return false;
    }
    // the process that ran them has ended
    const { db } = this.#worker.options.store;
    await db.updateTable('pocket_runs').set(queueing()).where('status', '=', 'running').execute();
    return true;
  }

  #claim(): Promise<RunTable | undefined> {
    const { store, agents, maxParallelRunsPerCaller } = this.#worker.options;
    let next = store.db
      .selectFrom('pocket_runs')
      .select('id')
      .where('status', '=', 'queued')
      .where('agent', 'in', [...agents.keys()])
      .where(({ or, eb, not }) => or([eb('conversation', 'is', null), not(hasToWait)]))
      .orderBy('created_at')
      .limit(1);
    if (maxParallelRunsPerCaller !== undefined)
      next = next.where(
        sql<boolean>`(caller is null or (select count(*) from pocket_runs other where other.status = 'running'
          and other.agent = pocket_runs.agent and other.caller = pocket_runs.caller) < ${maxParallelRunsPerCaller})`,
      );
    return store.db
      .updateTable('pocket_runs')
      .set({ status: 'running', holder: randomUUID(), attempts: sql<number>`attempts + 1` })
      .where('id', '=', next)
      .returningAll()
      .executeTakeFirst();
  }
}
