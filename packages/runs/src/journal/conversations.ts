// Conversations: runs that take turns, each of which begins with the messages of those before it.

import { sql } from 'kysely';
import type { Message } from 'pocket-agent';
import { eventOf } from './events.ts';
import { type Database, type RunStore, requeue } from './journal.ts';
import type { RunTable } from './schema.ts';

/** For a statement that updates `pocket_runs`: an earlier run of the conversation has not ended. */
export const hasToWait = sql<boolean>`exists (select 1 from pocket_runs other
  where other.conversation = pocket_runs.conversation and other.id <> pocket_runs.id
  and (other.status in ('running', 'waiting') or (other.status = 'queued'
    and (other.created_at < pocket_runs.created_at
      or (other.created_at = pocket_runs.created_at and other.id < pocket_runs.id)))))`;

/** A run has ended: queues the next one of its conversation. */
export async function queueNext(store: RunStore, db: Database, ended: string): Promise<void> {
  const { conversation } = await db
    .selectFrom('pocket_runs')
    .select('conversation')
    .where('id', '=', ended)
    .executeTakeFirstOrThrow();
  if (conversation === null) return;
  const next = await db
    .selectFrom('pocket_runs')
    .select(['id', 'status'])
    .where('conversation', '=', conversation)
    .where('status', '=', 'queued')
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  if (next) await requeue(store, db, next);
}

interface Earlier {
  messages: Message[];
  /** The newest compacted state of these runs; `null` as JSON if the messages were replaced since. */
  compacted: string | null;
}

/** The messages of the runs that ended before this one began. Later ones wait for it. */
export async function earlierMessages(
  db: Database,
  { id, conversation }: Pick<RunTable, 'id' | 'conversation'>,
): Promise<Earlier> {
  if (conversation === null) return { messages: [], compacted: null };
  const earlier = db
    .selectFrom('pocket_runs')
    .where('conversation', '=', conversation)
    .where('id', '!=', id)
    .where('status', 'in', ['finished', 'failed', 'cancelled']);
  const rows = await earlier
    .innerJoin('pocket_run_journal as journal', 'journal.run', 'pocket_runs.id')
    .selectAll('journal')
    .where('journal.type', 'in', ['message', 'reset'])
    .where('journal.sub_agent', 'is', null)
    .orderBy('pocket_runs.updated_at')
    .orderBy('pocket_runs.created_at')
    .orderBy('pocket_runs.id')
    .orderBy('journal.number')
    .execute();
  let messages: Message[] = [];
  for (const { type, data } of rows.map(eventOf)) {
    if (type === 'message') messages.push(data);
    if (type === 'reset') messages = [...(data.messages ?? [])];
  }
  const last = await earlier
    .select('compacted')
    .where('compacted', 'is not', null) // most runs compact nothing
    .orderBy('updated_at', 'desc')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return { messages, compacted: last?.compacted ?? null };
}
