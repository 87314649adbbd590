// The writes of the runs that this process holds. On PostgreSQL, writes of several runs that wait at the same time share one
// statement, and so one round trip; each run has at most one write in progress.
import { BatchQueue } from '@pocket-agent/kit';
import { sql } from 'kysely';
import {
  countWithin,
  type Database,
  type JournalEvent,
  type JournalRow,
  type RunStore,
  rowsOf,
  writeRows,
} from './journal.ts';
import type { RunTable } from './schema.ts';

/** What a write changes besides the journal. With a status the run is over, and is held no longer. */
export type HeldChange = Partial<Pick<RunTable, 'status' | 'progress' | 'compacted' | 'sub_agents'>>;

interface HeldWrite {
  run: string;
  /** Another attempt at the run has another holder. */
  holder: string;
  events: readonly JournalEvent[];
  set: HeldChange;
}

interface PreparedWrite extends Omit<HeldWrite, 'events'> {
  rows: readonly JournalRow[];
}

/** One statement that the database executes, and one on its way. */
const MAX_STATEMENTS = 2;
/** Characters of a statement. A larger write has a statement of its own, so that its failure affects no other run. */
const MAX_SIZE = 1_000_000;

export class HeldWrites {
  readonly #store: RunStore;
  readonly #writes: BatchQueue<PreparedWrite, boolean>;

  constructor(store: RunStore) {
    this.#store = store;
    this.#writes = new BatchQueue((writes) => this.#write(writes), {
      maxBatches: MAX_STATEMENTS,
      count: (writes) => countWithin(MAX_SIZE, writes, sizeOf),
    });
  }

  /** False if the run is held by another process. */
  write({ events, ...change }: HeldWrite, db: Database = this.#store.db): Promise<boolean> {
    const prepared = { ...change, rows: rowsOf(events) };
    if (this.#store.kind === 'sqlite' || db.isTransaction) return this.#writeAlone(prepared, db);
    return this.#writes.add(prepared);
  }

  async #write(writes: readonly PreparedWrite[]): Promise<boolean[]> {
    const [first, ...others] = writes;
    // PostgreSQL plans the statement for one run in half of the time
    if (first && others.length === 0) return [await this.#writeAlone(first)];
    return writeTogether(this.#store.db, writes);
  }

  #writeAlone({ set, ...write }: PreparedWrite, db: Database = this.#store.db): Promise<boolean> {
    return writeRows(this.#store, db, { ...write, set: columnsOf(set) });
  }
}

function sizeOf({ rows, set: { progress, compacted, sub_agents } }: PreparedWrite): number {
  const texts = [progress, compacted, sub_agents, ...rows.map(({ json }) => json)];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

/** Returns which of the writes were saved; the other runs are held by other processes. */
async function writeTogether(db: Database, writes: readonly PreparedWrite[]): Promise<boolean[]> {
  const now = Date.now();
  const sets = writes.map(({ set }) => set);
  const rows = writes.flatMap(({ rows }, index) => rows.map((row, place) => ({ ...row, index, number: place + 1 })));
  const saved = await sql<{ index: number }>`
    with change as (
      select * from unnest(${writes.map(({ run }) => run)}::text[], ${writes.map(({ holder }) => holder)}::text[],
        ${writes.map(({ rows }) => rows.length)}::int[], ${sets.map(({ status }) => status)}::text[],
        ${sets.map(({ progress }) => progress)}::text[], ${sets.map(({ compacted }) => compacted)}::text[],
        ${sets.map(({ sub_agents }) => sub_agents)}::text[])
      with ordinality as change (run, holder, added, status, progress, compacted, sub_agents, number)
    ), held as (
      update pocket_runs as run set length = run.length + change.added, updated_at = ${now}, attempts = 0,
        status = coalesce(change.status, run.status), holder = case when change.status is null then run.holder end,
        progress = coalesce(change.progress, run.progress), compacted = coalesce(change.compacted, run.compacted),
        sub_agents = coalesce(change.sub_agents, run.sub_agents)
      from change where run.id = change.run and run.holder = change.holder
      returning run.id, run.length - change.added as length, change.number - 1 as index
    ), added as (
      insert into pocket_run_journal (run, number, type, json, at, sub_agent)
      select held.id, held.length + event.number, event.type, event.json, ${now}::bigint, event.sub_agent
      from held join unnest(${rows.map(({ index }) => index)}::int[], ${rows.map(({ number }) => number)}::int[],
        ${rows.map(({ type }) => type)}::text[], ${rows.map(({ json }) => json)}::text[],
        ${rows.map(({ subAgent }) => subAgent)}::text[]) as event (index, number, type, json, sub_agent)
      on event.index = held.index
    )
    select index from held`.execute(db);
  const indices = new Set(saved.rows.map(({ index }) => index));
  return writes.map((_write, index) => indices.has(index));
}

function columnsOf(set: HeldChange): Partial<RunTable> {
  return { ...set, attempts: 0, ...(set.status === undefined ? {} : { holder: null }) };
}
