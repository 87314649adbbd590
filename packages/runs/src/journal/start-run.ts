// The row of a run that starts.
import type { Message, UserInput } from 'pocket-agent';
import type { NewEvent } from './events.ts';
import { type Database, type RunStore, write } from './journal.ts';
import { inputJson } from './options.ts';
import { RunError } from './run-error.ts';
import type { RunTable } from './schema.ts';

export function newRun({ id, agent, input }: { id: string; agent: string; input: string | UserInput }): RunTable {
  const now = Date.now();
  return {
    id,
    agent,
    caller: null,
    status: 'queued',
    input: inputJson(input),
    profile: null,
    created_at: now,
    updated_at: now,
    deadline_at: null,
    length: 0,
    holder: null,
    attempts: 0,
    progress: null,
    compacted: null,
    sub_agents: null,
    conversation: null,
    about: null,
    undelivered: null,
  };
}

/** Starts a run once: nothing happens if it exists. Throws if another one has its id. */
export async function insertRun(
  store: RunStore,
  db: Database,
  { row, messages }: { row: RunTable; messages?: readonly Message[] | undefined },
): Promise<void> {
  const { id, agent, caller, input } = row;
  const inserted = await db
    .insertInto('pocket_runs')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted) {
    const data = { agent, input: JSON.parse(input), ...(caller === null ? {} : { caller }) };
    const begin: NewEvent[] = messages ? [{ type: 'reset', data: { messages: [...messages] } }] : [];
    await write(store, db, { run: id, events: [{ type: 'started', data }, ...begin] });
    await store.queued(db, row);
    return;
  }
  const known = await db
    .selectFrom('pocket_runs')
    .select(['agent', 'input', 'caller'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  if (known.agent === agent && known.input === input && known.caller === caller) return;
  throw new RunError('RUN_EXISTS', `The run "${id}" exists, with another agent, input or caller: choose another id.`);
}
