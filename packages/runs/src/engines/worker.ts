// The runs that this process advances, and regular checks for overdue and lost runs.
import { errorText, type Logger, settlesWithin } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { PocketAgent } from 'pocket-agent';
import type { Changes } from '../journal/changes.ts';
import { queueNext } from '../journal/conversations.ts';
import { HeldWrites } from '../journal/held-writes.ts';
import { inTransaction, queueing, type RunStore, requeue, write } from '../journal/journal.ts';
import type { LiveEvents } from '../journal/live-events.ts';
import { closeQuestions, type Questions } from '../journal/questions.ts';
import type { Schedules } from '../journal/schedules.ts';
import type { RunTable } from '../journal/schema.ts';
import { HeldRun, late } from './advance.ts';

const LATE_AT_ONCE = 100;
/** After an error, such as a database that cannot be reached. */
const RETRY_S = 1;

export interface WorkerOptions {
  store: RunStore;
  questions: Questions;
  schedules: Schedules;
  changes: Changes;
  live: LiveEvents;
  agents: ReadonlyMap<string, PocketAgent<unknown>>;
  maxParallelRuns: number;
  maxParallelRunsPerCaller: number | undefined;
  logger: Logger;
}

interface Release {
  /** Whether the agent had begun: only then does this count as an attempt. */
  hasBegun: boolean;
  delaySeconds?: number;
}

export class Worker {
  readonly options: WorkerOptions;
  readonly #writes: HeldWrites;
  #ticking: Promise<void> | undefined;
  #isLeaving = false;
  readonly #held = new Map<string, { run: HeldRun; ended: Promise<void> }>();

  constructor(options: WorkerOptions) {
    this.options = options;
    this.#writes = new HeldWrites(options.store);
  }

  /** The number of runs. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Resolves when nothing of the run is left in this process: to false if the database could not be used, and the run is queued
   * again. Rejects if even that could not be saved.
   */
  async advance(row: RunTable): Promise<boolean> {
    const { store, questions, changes, live, agents } = this.options;
    const agent = agents.get(row.agent);
    if (!agent) return true;
    if (this.#isLeaving) {
      await this.#release(row, { hasBegun: false });
      return true;
    }
    const run = new HeldRun(row, { store, writes: this.#writes, questions, changes, live, agent });
    const advancing = run.advance();
    const held = { run, ended: advancing.catch(() => {}) };
    this.#held.set(row.id, held);
    try {
      await advancing;
      return true;
    } catch (error) {
      this.report(error);
      await this.#release(row, { hasBegun: run.hasBegun, delaySeconds: RETRY_S });
      return false;
    } finally {
      if (this.#held.get(row.id) === held) this.#held.delete(row.id);
    }
  }

  /** Queues the runs that nothing in this process advances. For an engine that has one process. */
  async requeueLost(): Promise<void> {
    const held = [...this.#held.keys()];
    await this.options.store.db
      .updateTable('pocket_runs')
      .set(queueing())
      .where('status', '=', 'running')
      .where('id', 'not in', held.length > 0 ? held : [''])
      .execute();
  }

  /** Queues a run that this process holds. */
  async #release({ attempts, ...row }: RunTable, { hasBegun, delaySeconds = 0 }: Release): Promise<void> {
    const { store } = this.options;
    const again = { ...row, attempts: hasBegun ? attempts : attempts - 1, delaySeconds };
    await inTransaction(store.db, (db) => requeue(store, db, again));
  }

  cancel(run: string): void {
    this.#held.get(run)?.run.stop('The run was cancelled.');
  }

  /**
   * Handles what no timer covers: overdue questions and runs, and runs that other processes took over or cancelled. Does nothing
   * while the call before is in progress, as on a slow database.
   */
  async tick(): Promise<void> {
    if (this.#ticking) return;
    this.#ticking = this.#tick().finally(() => {
      this.#ticking = undefined;
    });
    await this.#ticking;
  }

  async #tick(): Promise<void> {
    await this.options.schedules.startDue(Date.now());
    await this.options.questions.expire();
    await this.#failLate();
    await this.#stopLost();
  }

  async leave(graceMs: number): Promise<void> {
    this.#isLeaving = true;
    const held = [...this.#held.values()];
    for (const { run } of held) run.leave();
    const ended = Promise.all(held.map((each) => each.ended));
    await settlesWithin(graceMs, ended);
    for (const { run } of held) run.stop('The process ends.');
    await ended;
    await this.#ticking?.catch(() => {}); // its caller reports an error
  }

  report(error: unknown): void {
    this.options.logger.error(`Runs could not be advanced: ${errorText(error)}`);
  }

  async #failLate(): Promise<void> {
    const { store, changes } = this.options;
    const rows = await store.db
      .selectFrom('pocket_runs')
      .select('id')
      .where('status', '=', sql.lit('waiting'))
      .where('deadline_at', 'is not', null)
      .where('deadline_at', '<=', Date.now())
      .limit(LATE_AT_ONCE)
      .execute();
    for (const { id } of rows)
      await inTransaction(store.db, async (db) => {
        const isLate = await write(store, db, {
          run: id,
          among: ['waiting'],
          events: [late()],
          set: { status: 'failed' },
        });
        if (!isLate) return;
        await closeQuestions(db, id);
        await queueNext(store, db, id);
      });
    for (const { id } of rows) changes.notify(id);
  }

  async #stopLost(): Promise<void> {
    // this process may claim more runs while the database is read
    const held = [...this.#held];
    if (held.length === 0) return;
    const rows = await this.options.store.db
      .selectFrom('pocket_runs')
      .select(['id', 'holder'])
      .where(
        'id',
        'in',
        held.map(([id]) => id),
      )
      .execute();
    const holders = new Map(rows.map(({ id, holder }) => [id, holder]));
    for (const [id, { run }] of held)
      if (holders.get(id) !== run.row.holder) run.stop('The run was cancelled, or taken over.');
  }
}
