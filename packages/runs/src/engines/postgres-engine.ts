// The engine of many processes on PostgreSQL: pg-boss decides which of them advances a run, and gives the runs of a process
// that died to others. A job says only that a run is queued; the journal is the truth.
import { randomUUID } from 'node:crypto';
import { configError, sha256 } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { PgBoss } from 'pg-boss';
import { hasToWait } from '../journal/conversations.ts';
import { type Database, inTransaction } from '../journal/journal.ts';
import type { RunTable } from '../journal/schema.ts';
import type { Engine, QueuedRun } from './engine.ts';
import { Worker, type WorkerOptions } from './worker.ts';

const SCHEMA = 'pocket_runs_queue';
const TICK_MS = 1_000;
/** The run of a process that sent no heartbeat for this long is given to another one. */
const HEARTBEAT_S = 15;
const SUPERVISE_S = 5;
/** How often to look for jobs, should a notification be lost. */
const POLL_S = 5;
/** The longest that pg-boss allows. A run that works for a day without waiting is taken over. */
const MAX_JOB_S = 86_400;
const RETENTION_S = 365 * 86_400;
const KEPT_S = 3_600;
const MAX_RETRIES = 1_000_000;
/** After an error, such as a database that cannot be reached. */
const RETRY_S = 1;

interface RunJob {
  run: string;
}

/** The workers of pg-boss for one agent. */
interface Slots {
  queue: string;
  workers: number;
  /** Those that wait for a job. */
  waiting: number;
}

export class PostgresEngine implements Engine {
  readonly #worker: Worker;
  readonly #boss: PgBoss;
  readonly #adapter: typeof import('pg-boss').fromKysely;
  readonly #known = new Map<string, Promise<string>>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: WorkerOptions, { boss, fromKysely }: Pick<Loaded, 'boss' | 'fromKysely'>) {
    this.#worker = new Worker(options);
    this.#boss = boss;
    this.#adapter = fromKysely;
  }

  async queued(db: Database, { id: run, agent, caller }: QueuedRun): Promise<void> {
    const job: RunJob = { run };
    const group = caller === null ? {} : { group: { id: caller } };
    await this.#boss.send(await this.#queueOf(agent), job, { db: this.#adapter(db), ...group });
  }

  async start(): Promise<void> {
    await this.#boss.start();
    const { agents } = this.#worker.options;
    if (agents.size === 0) return;
    for (const agent of agents.keys()) await this.#work({ queue: await this.#queueOf(agent), workers: 0, waiting: 0 });
    this.#timer = setInterval(() => {
      this.#worker.tick().catch((error) => this.#worker.report(error));
    }, TICK_MS).unref();
  }

  /** PostgreSQL notifies the workers of a new job. */
  wake(): void {}

  cancel(run: string): void {
    this.#worker.cancel(run);
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const stopping = this.#boss.stop({ graceful: true, timeout: graceMs + TICK_MS });
    await this.#worker.leave(graceMs);
    await stopping;
  }

  /**
   * Adds a worker, which waits for the next job. One that waits is enough: a new job wakes all of them, and each asks the database.
   * With a limit per caller a worker stays after its job, because the next job of the caller has waited for its end.
   */
  async #work(slots: Slots): Promise<void> {
    const { maxParallelRuns, maxParallelRunsPerCaller: perCaller } = this.#worker.options;
    const options = {
      pollingIntervalSeconds: 1,
      notifyPollingIntervalSeconds: POLL_S,
      ...(perCaller === undefined ? {} : { groupConcurrency: perCaller }),
    };
    slots.workers++;
    slots.waiting++;
    const id = await this.#boss.work<RunJob>(slots.queue, options, async ([job]) => {
      slots.waiting--;
      if (slots.waiting === 0 && slots.workers < maxParallelRuns && !this.#isClosed) await this.#work(slots);
      try {
        if (job) await this.#advance(job.data.run);
      } finally {
        if (slots.waiting > 0 && perCaller === undefined) {
          slots.workers--;
          await this.#boss.offWork(slots.queue, { id, wait: false });
        } else {
          slots.waiting++;
          this.#boss.notifyWorker(id); // it fetches the next job at once
        }
      }
    });
  }

  async #advance(id: string): Promise<void> {
    if (this.#isClosed) throw new Error('The process ends.'); // the job is tried again elsewhere
    const row = await this.#claim(id);
    if (row) await this.#worker.advance(row);
  }

  /**
   * A run that is running was that of a process that died: its job came again. The end of a run queues the next one of its
   * conversation, so one that has to wait needs no job.
   */
  async #claim(id: string): Promise<RunTable | undefined> {
    const { db } = this.#worker.options.store;
    const alone = await claimOf(db, id).where('conversation', 'is', null).executeTakeFirst();
    if (alone) return alone;
    return inTransaction(db, async (transaction) => {
      // two runs of a conversation must not begin at the same time
      await sql`select pg_advisory_xact_lock(hashtextextended(conversation, 0)) from pocket_runs
        where id = ${id} and conversation is not null`.execute(transaction);
      return claimOf(transaction, id)
        .where('conversation', 'is not', null)
        .where(({ not }) => not(hasToWait))
        .executeTakeFirst();
    });
  }

  #queueOf(agent: string): Promise<string> {
    const known = this.#known.get(agent);
    if (known) return known;
    const name = `runs-${/^[\w-]{1,100}$/.test(agent) ? agent : sha256(agent).slice(0, 32)}`;
    const created = this.#boss
      .createQueue(name, {
        heartbeatSeconds: HEARTBEAT_S,
        retryLimit: MAX_RETRIES,
        retryDelay: RETRY_S,
        expireInSeconds: MAX_JOB_S,
        retentionSeconds: RETENTION_S,
        deleteAfterSeconds: KEPT_S,
        notify: true,
      })
      .then(() => name);
    created.catch(() => this.#known.delete(agent));
    this.#known.set(agent, created);
    return created;
  }
}

function claimOf(db: Database, id: string) {
  return db
    .updateTable('pocket_runs')
    .set({ status: 'running', holder: randomUUID(), attempts: sql<number>`attempts + 1` })
    .where('id', '=', id)
    .where('status', 'in', ['queued', 'running'])
    .returningAll();
}

interface Loaded {
  boss: PgBoss;
  fromKysely: typeof import('pg-boss').fromKysely;
}

export async function loadPgBoss(
  url: string,
  { agents, logger }: Pick<WorkerOptions, 'agents' | 'logger'>,
): Promise<Loaded> {
  const { PgBoss, fromKysely } = await import('pg-boss').catch((cause: unknown) => {
    throw configError('Runs on PostgreSQL need the package pg-boss: npm i pg-boss@12.30.0', cause);
  });
  const isWorker = agents.size > 0;
  const boss = new PgBoss({
    connectionString: url,
    schema: SCHEMA,
    supervise: isWorker,
    schedule: false,
    useListenNotify: isWorker,
    superviseIntervalSeconds: SUPERVISE_S,
    monitorIntervalSeconds: SUPERVISE_S,
    max: 5,
  });
  // a connection that broke is opened again
  boss.on('error', (error) => logger.warn(`The queue of runs: ${error.message}`));
  return { boss, fromKysely };
}
