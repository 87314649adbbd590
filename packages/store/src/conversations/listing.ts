// The list of conversations: newest first, in pages.
import { PocketError } from '@pocket-agent/kit';
import { sql } from 'kysely';
import { type ConversationStore, isAlive, type Place } from './database.ts';
import type { ConversationTable } from './schema.ts';

/** What a list shows of a conversation, without its messages. */
export interface ConversationInfo {
  id: string;
  title: string;
  createdAt: Date;
  updatedAt: Date;
  /** When it is deleted if it is not continued. */
  expiresAt: Date | undefined;
  /** The number of messages. */
  messages: number;
}

/** Which page of the list of conversations to read. */
export interface ListOptions {
  /** Only ids that start with it. */
  prefix?: string;
  /** At most this many conversations. Default 50. */
  limit?: number;
  /** `next` of the page before. */
  cursor?: string;
}

/** One page of a list, newest first. */
export interface ConversationPage {
  conversations: ConversationInfo[];
  /** The cursor of the next page; undefined after the last one. */
  next: string | undefined;
}

/** Conversations of a page, with their keys. */
export interface ListedPage {
  rows: ConversationTable[];
  next: string | undefined;
}

export type Owner = Omit<Place, 'id'>;

export async function listRows(
  store: ConversationStore,
  owner: Owner,
  { prefix = '', limit = 50, cursor }: ListOptions,
): Promise<ListedPage> {
  let query = store.db
    .selectFrom('pocket_conversations')
    .selectAll()
    .where('scope', '=', owner.scope)
    .where('owner', '=', owner.owner)
    .where('length', '>', 0)
    .where(isAlive(store))
    .orderBy('updated_at', 'desc')
    .orderBy('key', 'desc')
    .limit(limit + 1);
  // counted in code points, as databases do
  if (prefix !== '') query = query.where(sql<boolean>`substr(id, 1, ${sql.lit([...prefix].length)}) = ${prefix}`);
  if (cursor !== undefined) {
    const { time, key } = readCursor(cursor);
    query = query.where(({ or, and, eb }) =>
      or([eb('updated_at', '<', time), and([eb('updated_at', '=', time), eb('key', '<', key)])]),
    );
  }
  const found = await query.execute();
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, next: found.length > limit && last ? cursorOf(last) : undefined };
}

export function infoOf(row: ConversationTable): ConversationInfo {
  return {
    id: row.id,
    title: row.title,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
    expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
    messages: row.length,
  };
}

export function cursorOf({ updated_at, key }: ConversationTable): string {
  return `${updated_at}.${key}`;
}

function readCursor(cursor: string): { time: number; key: string } {
  const [, time, key] = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(cursor) ?? [];
  if (time === undefined || key === undefined)
    throw new PocketError('CONFIG_INVALID', 'The cursor must be `next` of an earlier page; begin without a cursor.');
  return { time: Number(time), key };
}
