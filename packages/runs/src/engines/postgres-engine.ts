// The engine of many processes on PostgreSQL: pg-boss decides which of them advances a run, and gives the runs of a process
// that died to others. A job says only that a run is queued; the journal is the truth. Its id is the holder of the run.
import { BatchQueue, configError, sha256 } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { Job, PgBoss } from 'pg-boss';
import { hasToWait } from '../journal/conversations.ts';
import { type Database, inTransaction, type QueuedRun, requeue } from '../journal/journal.ts';
import type { RunTable } from '../journal/schema.ts';
import type { Engine } from './engine.ts';
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
const RETRY_S = 1;
/** The most jobs that a process takes at once, so that processes share what is queued. */
const MAX_JOBS = 4;

interface RunJob {
  run: string;
}

interface ClaimedJob extends RunJob {
  id: string;
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
  readonly #claims: BatchQueue<ClaimedJob, RunTable | undefined>;
  readonly #known = new Map<string, Promise<string>>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: WorkerOptions, { boss, fromKysely }: Pick<Loaded, 'boss' | 'fromKysely'>) {
    this.#worker = new Worker(options);
    this.#boss = boss;
    this.#claims = new BatchQueue((jobs) => claimTogether(options.store.db, jobs), {
      maxBatches: 2,
      count: ({ length }) => length,
    });
    this.#adapter = fromKysely;
  }

  async queued(db: Database, runs: readonly QueuedRun[], startAfter = 0): Promise<void> {
    for (const [agent, queued] of Map.groupBy(runs, (run) => run.agent)) {
      const jobs = queued.map(({ id: run, holder: id, caller }) => {
        const data: RunJob = { run };
        return { id, data, startAfter, ...(caller === null ? {} : { group: { id: caller } }) };
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
    const work = async (job: Job<RunJob>): Promise<void> => {
      try {
        await this.#advance(job);
        if (hasLimit) await this.#boss.complete(slots.queue, job.id); // now the next job of its caller may be taken
      } finally {
        slots.busy--;
        await this.#wait(slots);
        if (hasLimit && slots.waiting?.id !== undefined) this.#boss.notifyWorker(slots.waiting.id);
      }
    };
    const results = await Promise.allSettled(jobs.map(work));
    // pg-boss tries all of the jobs again; those whose runs this process has left do nothing then
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** Rejects if the job is to come again. */
  async #advance({ id, data: { run } }: Job<RunJob>): Promise<void> {
    if (this.#isClosed) throw new Error('The process ends.');
    const row = await this.#claim({ id, run });
    if (row) await this.#worker.advance(row);
  }

  async #claim(job: ClaimedJob): Promise<RunTable | undefined> {
    const { store } = this.#worker.options;
    const alone = await this.#claims.add(job);
    if (alone) return alone;
    return inTransaction(store.db, async (transaction) => {
      // two runs of a conversation must not begin at the same time
      await sql`select pg_advisory_xact_lock(hashtextextended(conversation, 0)) from pocket_runs
        where id = ${job.run} and conversation is not null`.execute(transaction);
      // one that has to wait needs no job: the end of the run before it queues it again
      const row = await claimOf(transaction, [job])
        .where('conversation', 'is not', null)
        .where(({ not }) => not(hasToWait))
        .executeTakeFirst();
      // the job came again, so the process that had it died, or was suspended: then it is too late when it resumes
      if (!row) await requeue(store, transaction, { id: job.run, status: 'running', holder: job.id });
      return row;
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

async function claimTogether(db: Database, jobs: readonly ClaimedJob[]): Promise<(RunTable | undefined)[]> {
  const rows = await claimOf(db, jobs).where('conversation', 'is', null).execute();
  const byId = new Map(rows.map((row) => [row.holder, row]));
  return jobs.map(({ id }) => byId.get(id));
}

/** Only the job that the run was queued with last gets it, once. */
function claimOf(db: Database, jobs: readonly ClaimedJob[]) {
  const runs = jobs.map(({ run }) => run);
  const holders = jobs.map(({ id }) => id);
  return db
    .updateTable('pocket_runs')
    .set({ status: 'running', attempts: sql<number>`attempts + 1` })
    .where('id', 'in', runs)
    .where('holder', 'in', holders)
    .where('status', '=', 'queued')
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
