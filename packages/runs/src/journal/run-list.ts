// What lists of runs show of each run, and the pages of such lists.
import { configError } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { RunTotals, UserInput } from 'pocket-agent';
import { beginsWith, type Database } from './journal.ts';
import type { ListRunsOptions } from './options.ts';
import type { JournalTable, RunStatus, RunTable } from './schema.ts';

/** What is known of a run without reading its events. */
export interface RunInfo {
  id: string;
  agent: string;
  caller?: string;
  /** waiting: for an answer to a question. */
  status: RunStatus;
  input: string | UserInput;
  conversation?: string;
  about?: Record<string, unknown>;
  /** `delivered()` has not been called for a run that was started with `deliver`. */
  undelivered?: true;
  createdAt: string;
  updatedAt: string;
  deadlineAt?: string;
  /** The number of its events. */
  events: number;
  steps: number;
  /** Usage and cost until its last step. */
  totals?: RunTotals;
}

/** One page of a list of runs. */
export interface RunPage {
  runs: RunInfo[];
  /** Pass it as `cursor` to get the next page. */
  next?: string;
}

const DEFAULT_PAGE = 100;

export async function findRun(db: Database, id: string): Promise<RunInfo | undefined> {
  const row = await db.selectFrom('pocket_runs').selectAll().where('id', '=', id).executeTakeFirst();
  return row && infoOf(row);
}

/** The newest event of a run, and the status of the run. */
export type LastEvent = JournalTable & Pick<RunTable, 'status'>;

/** In the order of the ids; undefined for runs that do not exist. */
export async function lastEvents(db: Database, ids: readonly string[]): Promise<(LastEvent | undefined)[]> {
  const rows = await db
    .selectFrom('pocket_runs')
    .innerJoin('pocket_run_journal as last', (join) =>
      join.onRef('last.run', '=', 'pocket_runs.id').onRef('last.number', '=', 'pocket_runs.length'),
    )
    .selectAll('last')
    .select('status')
    .where('id', 'in', ids)
    .execute();
  const byId = new Map(rows.map((row) => [row.run, row]));
  return ids.map((id) => byId.get(id));
}

/** Newest first. */
export async function listRuns(db: Database, options: ListRunsOptions): Promise<RunPage> {
  const { agent, caller, status, conversation, prefix, undelivered, limit = DEFAULT_PAGE, cursor } = options;
  let query = db.selectFrom('pocket_runs').selectAll();
  if (agent !== undefined) query = query.where('agent', '=', agent);
  if (caller !== undefined) query = query.where('caller', '=', caller);
  if (status !== undefined) query = query.where('status', '=', status);
  if (conversation !== undefined) query = query.where('conversation', '=', conversation);
  // a literal, so that the partial index serves
  if (undelivered) query = query.where('undelivered', '=', sql.lit(1));
  if (prefix !== undefined) query = query.where(beginsWith('id', prefix));
  if (cursor !== undefined) {
    const [, time, id = ''] = /^(\d{1,15}) (.*)$/s.exec(cursor) ?? [];
    if (time === undefined) throw configError('"cursor" must be `next` of an earlier page.');
    query = query.where(({ eb, or, and }) =>
      or([eb('created_at', '<', Number(time)), and([eb('created_at', '=', Number(time)), eb('id', '<', id)])]),
    );
  }
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const runs = rows.slice(0, limit).map(infoOf);
  return last ? { runs, next: `${last.created_at} ${last.id}` } : { runs };
}

function infoOf(row: RunTable): RunInfo {
  const { id, agent, caller, status, input, created_at, updated_at, deadline_at, length, progress } = row;
  const { conversation, about, undelivered } = row;
  const { steps = 0, totals } = progress === null ? {} : JSON.parse(progress);
  return {
    id,
    agent,
    ...(caller === null ? {} : { caller }),
    status,
    input: JSON.parse(input),
    ...(conversation === null ? {} : { conversation }),
    ...(about === null ? {} : { about: JSON.parse(about) }),
    ...(undelivered === null ? {} : { undelivered: true as const }),
    createdAt: new Date(created_at).toISOString(),
    updatedAt: new Date(updated_at).toISOString(),
    ...(deadline_at === null ? {} : { deadlineAt: new Date(deadline_at).toISOString() }),
    events: length,
    steps,
    ...(totals ? { totals } : {}),
  };
}
