// The database of conversations: its clock, keys, and conditions that several queries share.
import { sha256 } from '@pocket-agent/kit';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Store } from '../database/store.ts';
import type { ConversationsSchema } from './schema.ts';

export type ConversationStore = Store<ConversationsSchema>;

/** Whose conversation it is. */
export interface Place {
  scope: string;
  owner: string;
  id: string;
}

/** Runs work in the transaction of the store or, if it has none, in a new one. */
export function inTransaction<Result>(
  store: ConversationStore,
  work: (store: ConversationStore) => Promise<Result>,
): Promise<Result> {
  if (store.db.isTransaction) return work(store);
  return store.db.transaction().execute((db) => work({ ...store, db }));
}

export function keyOf({ scope, owner, id }: Place): string {
  return sha256(JSON.stringify([scope, owner, id]));
}

/** The time in milliseconds by the clock of the database, because the clocks of several machines differ. */
export function databaseTime({ kind }: ConversationStore): RawBuilder<number> {
  return kind === 'postgres'
    ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
}

export function timeIn(store: ConversationStore, ms: number): RawBuilder<number> {
  return sql<number>`${databaseTime(store)} + ${sql.lit(Math.round(ms))}`;
}

export function isAlive(store: ConversationStore): RawBuilder<SqlBool> {
  return sql<SqlBool>`(expires_at is null or expires_at > ${databaseTime(store)})`;
}

/** No run holds the conversation. */
export function isFree(store: ConversationStore): RawBuilder<SqlBool> {
  return sql<SqlBool>`(lease is null or lease_until < ${databaseTime(store)})`;
}
