// Rows of conversations: how they are created, and when they expire.
import type { InsertObject, RawBuilder } from 'kysely';
import { type ConversationStore, databaseTime, isFree, keyOf, type Place, timeIn } from './database.ts';
import type { ConversationsSchema } from './schema.ts';

type ConversationRow = InsertObject<ConversationsSchema, 'pocket_conversations'>;

/** A conversation without messages, that no run holds. */
export function newRow(store: ConversationStore, place: Place, expiresAfterMs: number | undefined): ConversationRow {
  const now = databaseTime(store);
  return {
    ...place,
    key: keyOf(place),
    title: '',
    created_at: now,
    updated_at: now,
    expires_at: expiry(store, expiresAfterMs),
    length: 0,
    generation: crypto.randomUUID(),
    compacted: null,
    lease: null,
    lease_until: 0,
  };
}

/** False if there is a conversation with this key. */
export async function insertRow({ db }: ConversationStore, row: ConversationRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('pocket_conversations')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** Creates a row, also in place of an expired one. False if there is one that has not expired, or that a run holds. */
export async function createRow(store: ConversationStore, row: ConversationRow): Promise<boolean> {
  await store.db
    .deleteFrom('pocket_conversations')
    .where('key', '=', row.key)
    .where(isFree(store))
    .where('expires_at', '<=', databaseTime(store))
    .execute();
  return insertRow(store, row);
}

export function expiry(store: ConversationStore, expiresAfterMs: number | undefined): RawBuilder<number> | null {
  return expiresAfterMs === undefined ? null : timeIn(store, expiresAfterMs);
}
