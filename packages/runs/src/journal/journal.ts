// Writes the journal of runs. Every write first updates the row of the run, so a process that no longer holds the run writes
// nothing. On PostgreSQL a write is one statement, and so one round trip; on SQLite it is a transaction.
import { randomUUID } from 'node:crypto';
import type { Store } from '@pocket-agent/store';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { NewEvent } from './events.ts';
import { RunError } from './run-error.ts';
import type { JournalTable, RunsSchema, RunTable } from './schema.ts';

/** What an engine needs to know about a run that is queued. */
export type QueuedRun = Pick<RunTable, 'id' | 'agent' | 'caller'> & ReturnType<typeof queueing>;

/** The database, with a method that must be called in each transaction that queues runs. */
export interface RunStore extends Store<RunsSchema> {
  /** `delaySeconds`: not to be taken up earlier. */
  queued(db: Database, runs: readonly QueuedRun[], delaySeconds?: number): Promise<void>;
}

export type Database = Kysely<RunsSchema>;

const ROWS_PER_INSERT = 200;

/** What queues a run, for one attempt: whoever had it before can neither write to it nor take it up again. */
export function queueing(): { status: 'queued'; holder: string } {
  return { status: 'queued', holder: randomUUID() };
}

/** In a transaction of its own, unless `db` is one. */
export function inTransaction<Value>(db: Database, work: (db: Database) => Promise<Value>): Promise<Value> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}

/** An event to write. `subAgent`: whose it is, if not the agent's of the run. */
export type JournalEvent = NewEvent & { subAgent?: string };

/** An event without its number, as in the database. */
export interface JournalRow extends Pick<JournalTable, 'type' | 'json'> {
  subAgent: string | null;
}

interface RowsWrite {
  run: string;
  /** The process that writes must hold the run. */
  holder?: string;
  /** The run must be in one of these. */
  among?: readonly RunTable['status'][];
  rows: readonly JournalRow[];
  set?: Partial<RunTable>;
}

interface Write extends Omit<RowsWrite, 'rows'> {
  events: readonly JournalEvent[];
}

/** Locks a run until the end of the transaction. On SQLite, the transaction has locked the file. */
export async function lockRun({ kind }: RunStore, db: Database, run: string): Promise<RunTable | undefined> {
  const query = db.selectFrom('pocket_runs').selectAll().where('id', '=', run);
  return (kind === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
}

/** Adds events to the journal. False if the run is held by another process, or is in another state. */
export function write(store: RunStore, db: Database, { events, ...change }: Write): Promise<boolean> {
  return writeRows(store, db, { ...change, rows: rowsOf(events) });
}

export async function writeRows(store: RunStore, db: Database, { rows, ...change }: RowsWrite): Promise<boolean> {
  const now = Date.now();
  const update = updateOf(change, { added: rows.length, now });
  if (rows.length === 0) return (await update.execute(db)).rows.length === 1;
  if (store.kind === 'postgres') {
    const added = sql`with held as (${update})
      insert into pocket_run_journal (run, number, type, json, at, sub_agent)
      select ${change.run}::text, held.length - ${rows.length}::int + event.number, type, json, ${now}::bigint, sub_agent
      from held, unnest(${rows.map(({ type }) => type)}::text[], ${rows.map(({ json }) => json)}::text[],
        ${rows.map(({ subAgent }) => subAgent)}::text[]) with ordinality as event (type, json, sub_agent, number)`;
    return ((await added.execute(db)).numAffectedRows ?? 0n) > 0n;
  }
  return inTransaction(db, async (transaction) => {
    const [updated] = (await update.execute(transaction)).rows;
    if (!updated) return false;
    const first = updated.length - rows.length + 1;
    const values = rows.map(
      ({ type, json, subAgent }, index) =>
        sql`(${change.run}, ${first + index}, ${type}, ${json}, ${now}, ${subAgent})`,
    );
    for (let start = 0; start < values.length; start += ROWS_PER_INSERT)
      await sql`insert into pocket_run_journal (run, number, type, json, at, sub_agent)
        values ${sql.join(values.slice(start, start + ROWS_PER_INSERT))}`.execute(transaction);
    return true;
  });
}

interface Requeue extends Pick<RunTable, 'id' | 'status'> {
  holder?: string | null;
  attempts?: number;
  delaySeconds?: number;
}

/** Queues a run for a new attempt, if it is in this state. */
export async function requeue(store: RunStore, db: Database, { id, status, holder, ...how }: Requeue): Promise<void> {
  const { attempts, delaySeconds } = how;
  const queued = queueing();
  let update = db
    .updateTable('pocket_runs')
    .set({ ...queued, ...(attempts === undefined ? {} : { attempts }) })
    .where('id', '=', id)
    .where('status', '=', status);
  if (holder !== undefined) update = update.where('holder', '=', holder);
  const row = await update.returning(['agent', 'caller']).executeTakeFirst();
  if (row) await store.queued(db, [{ id, ...row, ...queued }], delaySeconds);
}

export function rowsOf(events: readonly JournalEvent[]): JournalRow[] {
  return events.map(({ type, data, subAgent = null }) => ({ type, json: JSON.stringify(data), subAgent }));
}

/** How many of the first items are together not larger than `max`; at least one. */
export function countWithin<Item>(max: number, items: readonly Item[], sizeOf: (item: Item) => number): number {
  let size = 0;
  const end = items.findIndex((item, index) => {
    size += sizeOf(item);
    return index > 0 && size > max;
  });
  return end < 0 ? items.length : end;
}

/** The statement that every write begins with: it changes nothing if the run is not in the expected state. */
function updateOf(
  { run, holder, among, set = {} }: Omit<RowsWrite, 'rows'>,
  { added, now }: { added: number; now: number },
): RawBuilder<{ length: number }> {
  const changes = Object.entries(set).map(([column, value]) => sql`, ${sql.ref(column)} = ${value}`);
  const isHeld = holder === undefined ? sql`` : sql`and holder = ${holder}`;
  const isAmong = among === undefined ? sql`` : sql`and status in (${sql.join(among)})`;
  return sql`update pocket_runs set length = length + ${added}, updated_at = ${now} ${sql.join(changes, sql``)}
    where id = ${run} ${isHeld} ${isAmong} returning length`;
}

/** A condition. Databases count characters, strings of JavaScript count some of them twice. */
export function beginsWith(column: 'id' | 'name', prefix: string): RawBuilder<boolean> {
  return sql<boolean>`substr(${sql.ref(column)}, 1, ${[...prefix].length}) = ${prefix}`;
}

export function lost(run: string): RunError {
  return new RunError('RUN_LOST', `The run "${run}" was cancelled, or is continued by another process.`);
}

export function unknownRun(run: string): RunError {
  return new RunError('RUN_UNKNOWN', `There is no run "${run}".`);
}
