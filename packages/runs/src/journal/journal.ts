// Writes the journal of runs. Every write is one transaction with the row of the run, so a process that no longer holds the
// run writes nothing.
import type { Store } from '@pocket-agent/store';
import { type Kysely, sql } from 'kysely';
import type { NewEvent } from './events.ts';
import { RunError } from './run-error.ts';
import type { RunsSchema, RunTable } from './schema.ts';

/** The database, with a method that must be called in each transaction that queues a run. */
export interface RunStore extends Store<RunsSchema> {
  queued(db: Database, run: Pick<RunTable, 'id' | 'agent' | 'caller'>): Promise<void>;
}

export type Database = Kysely<RunsSchema>;

const ROWS_PER_INSERT = 200;

export function inTransaction<Value>({ db }: RunStore, work: (db: Database) => Promise<Value>): Promise<Value> {
  return db.transaction().execute(work);
}

interface Write {
  run: string;
  /** The process that writes must hold the run. */
  holder?: string;
  /** The run must be in one of these. */
  among?: readonly RunTable['status'][];
  events: readonly NewEvent[];
  /** The sub-agent that the events are from; undefined for the agent of the run. */
  subAgent?: string;
  set?: Partial<RunTable>;
}

/** Locks a run until the end of the transaction. On SQLite, the transaction has locked the file. */
export async function lockRun({ kind }: RunStore, db: Database, run: string): Promise<RunTable | undefined> {
  const query = db.selectFrom('pocket_runs').selectAll().where('id', '=', run);
  return (kind === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
}

/** Adds events to the journal. False if the run is held by another process, or is in another state. */
export async function write(db: Database, { run, holder, among, events, subAgent, set = {} }: Write): Promise<boolean> {
  const now = Date.now();
  let update = db
    .updateTable('pocket_runs')
    .set({ ...set, length: sql<number>`length + ${events.length}`, updated_at: now })
    .where('id', '=', run);
  if (holder !== undefined) update = update.where('holder', '=', holder);
  if (among) update = update.where('status', 'in', among);
  const updated = await update.returning('length').executeTakeFirst();
  if (!updated) return false;
  const first = updated.length - events.length + 1;
  const rows = events.map(({ type, data }, index) => ({
    run,
    number: first + index,
    type,
    json: JSON.stringify(data),
    at: now,
    sub_agent: subAgent ?? null,
  }));
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT)
    await db
      .insertInto('pocket_run_journal')
      .values(rows.slice(start, start + ROWS_PER_INSERT))
      .execute();
  return true;
}

export function lost(run: string): RunError {
  return new RunError('RUN_LOST', `The run "${run}" was cancelled, or is continued by another process.`);
}

export function unknownRun(run: string): RunError {
  return new RunError('RUN_UNKNOWN', `There is no run "${run}".`);
}
