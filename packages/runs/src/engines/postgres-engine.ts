// The engine of many processes on PostgreSQL: pg-boss decides which of them advances a run, and gives the runs of a process
// that died to others. A job says only that a run is queued; the journal is the truth.
import { BatchQueue, configError, sha256 } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { Job, PgBoss } from 'pg-boss';
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

/** The most jobs that a process takes at once, so that processes share what is queued. */
const MAX_JOBS = 4;

interface RunJob {
  run: string;
}

/** The runs of one agent in this process. */
interface Slots {
  queue: string;
  /** Runs in progress. */
  busy: number;
  /** The worker of pg-boss that waits for jobs. It has an id as soon as it has begun to. */
  waiting: { id?: string } | undefined;
}

export class PostgresEngine implements Engine {
  readonly #worker: Worker;
  readonly #boss: PgBoss;
  readonly #adapter: typeof import('pg-boss').fromKysely;
  readonly #claims: BatchQueue<string, RunTable | undefined>;
  readonly #known = new Map<string, Promise<string>>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: WorkerOptions, { boss, fromKysely }: Pick<Loaded, 'boss' | 'fromKysely'>) {
    this.#worker = new Worker(options);
    this.#boss = boss;
    this.#claims = new BatchQueue((ids) => claimTogether(options.store.db, ids), {
      maxBatches: 2,
      count: ({ length }) => length,
    });
    this.#adapter = fromKysely;
  }

  async queued(db: Database, runs: readonly QueuedRun[]): Promise<void> {
    for (const [agent, queued] of Map.groupBy(runs, (run) => run.agent)) {
      const jobs = queued.map(({ id, caller }) => {
        const data: RunJob = { run: id };
        return { data, ...(caller === null ? {} : { group: { id: caller } }) };
      });
      await this.#boss.insert(await this.#queueOf(agent), jobs, { db: this.#adapter(db) });
    }
  }

  async start(): Promise<void> {
    await this.#boss.start();
    const { agents } = this.#worker.options;
    if (agents.size === 0) return;
    for (const agent of agents.keys())
      await this.#wait({ queue: await this.#queueOf(agent), busy: 0, waiting: undefined });
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
   * Adds a worker, which takes the next jobs, once. One that waits is enough: a new job wakes all that wait, and each asks the
   * database.
   */
  async #wait(slots: Slots): Promise<void> {
    const { maxParallelRuns, maxParallelRunsPerCaller: perCaller } = this.#worker.options;
    const free = maxParallelRuns - slots.busy;
    if (slots.waiting !== undefined || free <= 0 || this.#isClosed) return;
    const options = {
      batchSize: perCaller === undefined ? Math.min(free, MAX_JOBS) : 1,
      pollingIntervalSeconds: 1,
      notifyPollingIntervalSeconds: POLL_S,
      ...(perCaller === undefined ? {} : { groupConcurrency: perCaller }),
    };
    const waiting: Slots['waiting'] = {};
    slots.waiting = waiting;
    const id = await this.#boss.work<RunJob>(slots.queue, options, async (jobs) => {
      slots.waiting = undefined;
      slots.busy += jobs.length;
      await this.#wait(slots);
      try {
        await this.#workOn(jobs, slots);
      } finally {
        await this.#boss.offWork(slots.queue, { id, wait: false });
      }
    });
    waiting.id = id;
  }

  async #workOn(jobs: readonly Job<RunJob>[], slots: Slots): Promise<void> {
    const hasLimit = this.#worker.options.maxParallelRunsPerCaller !== undefined;
    // pg-boss ends the jobs together, after the last one. Until then, a job whose run has ended would come again if the process
    // dies, and the next job of its caller would wait.
    const endsAlone = jobs.length > 1 || hasLimit;
    const { queue } = slots;
    const work = async ({ id, data, groupId }: Job<RunJob>): Promise<void> => {
      try {
        await this.#advance(data.run);
        if (endsAlone) await this.#boss.complete(queue, id);
      } catch (error) {
        if (jobs.length === 1) throw error; // pg-boss tries the job again
        // as a new job: pg-boss ends all of these ids, even if one of them is in progress again
        const retry = { startAfter: RETRY_S, ...(groupId ? { group: { id: groupId } } : {}) };
        await inTransaction(this.#worker.options.store.db, async (transaction) => {
          const db = this.#adapter(transaction);
          await this.#boss.send(queue, data, { ...retry, db });
          await this.#boss.complete(queue, id, undefined, { db });
        });
      } finally {
        slots.busy--;
        await this.#wait(slots);
        if (hasLimit && slots.waiting?.id !== undefined) this.#boss.notifyWorker(slots.waiting.id);
      }
    };
    const results = await Promise.allSettled(jobs.map(work));
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
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
    const alone = await this.#claims.add(id);
    if (alone) return alone;
    return inTransaction(db, async (transaction) => {
      // two runs of a conversation must not begin at the same time
      await sql`select pg_advisory_xact_lock(hashtextextended(conversation, 0)) from pocket_runs
        where id = ${id} and conversation is not null`.execute(transaction);
      return claimOf(transaction, [id])
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

/** Of two jobs for one run, one gets it. */
async function claimTogether(db: Database, ids: readonly string[]): Promise<(RunTable | undefined)[]> {
  const rows = await claimOf(db, ids).where('conversation', 'is', null).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const row = byId.get(id);
    byId.delete(id);
    return row;
  });
}

function claimOf(db: Database, ids: readonly string[]) {
  return db
    .updateTable('pocket_runs')
    .set({ status: 'running', holder: sql<string>`gen_random_uuid()::text`, attempts: sql<number>`attempts + 1` })
    .where('id', 'in', ids)
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
