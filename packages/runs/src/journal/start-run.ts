// Starts runs: their rows, and the first rows of their journals.
import { BatchQueue } from '@pocket-agent/kit';
import type { Message, UserInput } from 'pocket-agent';
import {
  countWithin,
  type Database,
  inTransaction,
  type JournalEvent,
  type QueuedRun,
  queueing,
  type RunStore,
  rowsOf,
} from './journal.ts';
import { inputJson } from './options.ts';
import { RunError } from './run-error.ts';
import type { JournalTable, RunTable } from './schema.ts';

type QueuedRow = RunTable & QueuedRun;

export function newRun({ id, agent, input }: { id: string; agent: string; input: string | UserInput }): QueuedRow {
  const now = Date.now();
  return {
    id,
    agent,
    caller: null,
    ...queueing(),
    input: inputJson(input),
    profile: null,
    created_at: now,
    updated_at: now,
    deadline_at: null,
    length: 0,
    attempts: 0,
    progress: null,
    compacted: null,
    sub_agents: null,
    conversation: null,
    about: null,
    undelivered: null,
  };
}

/** A run to start; `messages`: the ones that it begins with. */
export interface NewRun {
  row: QueuedRow;
  messages?: readonly Message[] | undefined;
}

/** Characters of the runs that one transaction starts. */
const MAX_SIZE = 1_000_000;
/** Counted for each run, so that a transaction starts at most 200. */
const RUN_SIZE = 5_000;

/** Starts runs. On PostgreSQL, those that are started at the same time share a transaction. */
export class RunStarts {
  /** The result of a start is its error. */
  readonly #batches: BatchQueue<NewRun, unknown>;

  constructor(store: RunStore) {
    const count = (runs: readonly NewRun[]) => countWithin(MAX_SIZE, runs, sizeOf);
    this.#batches = new BatchQueue((runs) => startTogether(store, runs), { maxBatches: 2, count });
  }

  /** Starts a run once: nothing happens if it exists. Throws if another one has its id. */
  async start(run: NewRun): Promise<void> {
    const error = await this.#batches.add(run);
    if (error !== undefined) throw error;
  }
}

function sizeOf({ row, messages }: NewRun): number {
  return messages ? MAX_SIZE : RUN_SIZE + row.input.length;
}

async function startTogether(store: RunStore, runs: readonly NewRun[]): Promise<unknown[]> {
  try {
    return await inTransaction(store.db, (db) => insertRuns(store, db, runs));
  } catch (error) {
    if (runs.length === 1) return [error];
    // only the run that caused the error fails
    return (await Promise.all(runs.map((run) => startTogether(store, [run])))).flat();
  }
}

/** Starts each run once. Returns an error for each whose id belongs to another run. */
export async function insertRuns(
  store: RunStore,
  db: Database,
  runs: readonly NewRun[],
): Promise<(RunError | undefined)[]> {
  // in the order of their ids, so that processes that start the same runs wait for each other in one direction
  const rows = runs.map(({ row, messages }) => ({ ...row, length: messages ? 2 : 1 }));
  const inserted = await db
    .insertInto('pocket_runs')
    .values(rows.toSorted((one, other) => (one.id < other.id ? -1 : 1)))
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute();
  const ids = new Set(inserted.map(({ id }) => id));
  const started = runs.filter(({ row }) => ids.delete(row.id)); // once, if two have the same id
  if (started.length > 0) {
    await db.insertInto('pocket_run_journal').values(started.flatMap(firstRows)).execute();
    await store.queued(
      db,
      started.map(({ row }) => row),
    );
  }
  if (started.length === runs.length) return runs.map(() => undefined);
  const known = await db
    .selectFrom('pocket_runs')
    .select(['id', 'agent', 'input', 'caller'])
    .where(
      'id',
      'in',
      runs.map(({ row }) => row.id),
    )
    .execute();
  const byId = new Map(known.map((row) => [row.id, row]));
  return runs.map(({ row: { id, agent, input, caller } }) => {
    const row = byId.get(id);
    if (row?.agent === agent && row.input === input && row.caller === caller) return undefined;
    return new RunError(
      'RUN_EXISTS',
      `The run "${id}" exists, with another agent, input or caller: choose another id.`,
    );
  });
}

function firstRows({ row, messages }: NewRun): JournalTable[] {
  const { id: run, agent, input, caller, created_at: at } = row;
  const started = { agent, input: JSON.parse(input), ...(caller === null ? {} : { caller }) };
  const events: JournalEvent[] = [{ type: 'started', data: started }];
  if (messages) events.push({ type: 'reset', data: { messages: [...messages] } });
  return rowsOf(events).map(({ type, json }, index) => ({ run, number: index + 1, type, json, at, sub_agent: null }));
}
