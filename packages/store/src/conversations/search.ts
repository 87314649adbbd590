// Search in conversations, newest first. A call reads a limited number of messages and continues with a cursor, because
// a query on SQLite blocks the event loop.
import { sql } from 'kysely';
import type { ConversationStore } from './database.ts';
import { type ConversationInfo, cursorOf, infoOf, type ListOptions, listRows, type Owner } from './listing.ts';
import { plainText, textOf } from './message-rows.ts';
import type { ConversationTable } from './schema.ts';

const CONVERSATIONS_PER_PAGE = 100;
const MESSAGES_PER_QUERY = 2_000;
const MESSAGES_PER_CALL = 50_000;
const CONTEXT_LENGTH = 60;

/** A conversation with the message in which the text was found. */
export interface FoundConversation extends ConversationInfo {
  /** The newest message that contains the text; undefined if only the title does. */
  match: { role: string; text: string } | undefined;
}

/** One page of what a search found. */
export interface SearchPage {
  conversations: FoundConversation[];
  /** The search continues with this cursor; undefined at its end. A page may have fewer results than its limit. */
  next: string | undefined;
}

export async function search(
  store: ConversationStore,
  owner: Owner,
  { text, limit = 20, cursor, ...filter }: ListOptions & { text: string },
): Promise<SearchPage> {
  const words = plainText(text).toLowerCase();
  const found: FoundConversation[] = [];
  let position = cursor;
  for (let read = 0; ; ) {
    const page = await listRows(store, owner, {
      ...filter,
      limit: CONVERSATIONS_PER_PAGE,
      ...(position === undefined ? {} : { cursor: position }),
    });
    for (const row of page.rows) {
      const match = await newestMatch(store, row, words);
      if (match || row.title.toLowerCase().includes(words)) found.push({ ...infoOf(row), match });
      read += row.length;
      const isLast = page.next === undefined && row === page.rows.at(-1);
      if ((found.length >= limit || read >= MESSAGES_PER_CALL) && !isLast)
        return { conversations: found, next: cursorOf(row) };
    }
    if (page.next === undefined) return { conversations: found, next: undefined };
    position = page.next;
  }
}

async function newestMatch(
  { db, kind }: ConversationStore,
  { key, length }: ConversationTable,
  words: string,
): Promise<FoundConversation['match']> {
  const place = sql.raw(kind === 'postgres' ? 'strpos' : 'instr');
  for (let end = length; end > 0; end -= MESSAGES_PER_QUERY) {
    const row = await db
      .selectFrom('pocket_messages')
      .select(['role', 'json'])
      .where('conversation', '=', key)
      .where('number', '<', end)
      .where('number', '>=', end - MESSAGES_PER_QUERY)
      .where(sql<boolean>`${place}(search_text, ${words}) > 0`)
      .orderBy('number', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (row) return { role: row.role, text: excerpt(textOf(JSON.parse(row.json)), words) };
  }
  return undefined;
}

function excerpt(text: string, words: string): string {
  const index = Math.max(0, text.toLowerCase().indexOf(words));
  const [start, end] = [Math.max(0, index - CONTEXT_LENGTH), index + words.length + CONTEXT_LENGTH];
  const middle = text.slice(start, end).replace(/\s+/g, ' ').trim().toWellFormed();
  return `${start > 0 ? '…' : ''}${middle}${end < text.length ? '…' : ''}`;
}
