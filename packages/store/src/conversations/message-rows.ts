// Messages as rows of the database.
import { PocketError } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { SavedMessage } from './conversation-agent.ts';
import { type ConversationStore, isAlive } from './database.ts';
import type { MessageTable } from './schema.ts';

const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;
/** Search reads this much of each message. */
const MAX_SEARCH_LENGTH = 16_384;
const MAX_TITLE_LENGTH = 80;
const ROWS_PER_INSERT = 500;
const ROWS_PER_READ = 100;

interface MessagePlace {
  conversation: string;
  number: number;
  turn?: string | undefined;
}

export function messageRow(message: SavedMessage, { conversation, number, turn = '' }: MessagePlace): MessageTable {
  const json = JSON.stringify(message);
  if (json.length > MAX_MESSAGE_LENGTH) {
    const text = `A message of ${json.length} characters cannot be saved; a conversation takes ${MAX_MESSAGE_LENGTH}.`;
    throw new PocketError('CONFIG_INVALID', text);
  }
  const isSearched = message.role === 'user' || message.role === 'assistant';
  const searchText = isSearched ? plainText(textOf(message).slice(0, MAX_SEARCH_LENGTH)).toLowerCase() : '';
  return { conversation, number, role: message.role, json, search_text: searchText, turn };
}

export async function insertMessages({ db }: ConversationStore, rows: readonly MessageTable[]): Promise<void> {
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT)
    await db
      .insertInto('pocket_messages')
      .values(rows.slice(start, start + ROWS_PER_INSERT))
      .execute();
}

/** All messages of a conversation, with their large results. */
export async function deleteMessages({ db }: ConversationStore, conversation: string): Promise<void> {
  await db.deleteFrom('pocket_messages').where('conversation', '=', conversation).execute();
  await db.deleteFrom('pocket_results').where('conversation', '=', conversation).execute();
}

export interface ReadMessages {
  generation: string;
  messages: SavedMessage[];
  /** The turn of each message. */
  turns: string[];
}

interface Page {
  generation: string;
  json: string | null;
  turn: string | null;
}

/** The messages from `start` on. Undefined if there is no such conversation, or if they were replaced. */
export async function readMessages(
  store: ConversationStore,
  conversation: string,
  start: number,
): Promise<ReadMessages | undefined> {
  const messages: SavedMessage[] = [];
  const turns: string[] = [];
  let generation: string | undefined;
  for (;;) {
    // generation and messages in one statement, which sees one state of the database
    const { rows } = await sql<Page>`
      select c.generation, m.json, m.turn from pocket_conversations c
      left join pocket_messages m on m.conversation = c.key and m.number >= ${start + messages.length}
      where c.key = ${conversation} and ${isAlive(store)} order by m.number limit ${ROWS_PER_READ}`.execute(store.db);
    const [first] = rows;
    if (!first) return undefined;
    if (generation !== undefined && generation !== first.generation)
      return start === 0 ? readMessages(store, conversation, 0) : undefined;
    generation = first.generation;
    for (const { json, turn } of rows) {
      if (json === null) continue;
      messages.push(JSON.parse(json));
      turns.push(turn ?? '');
    }
    if (rows.length < ROWS_PER_READ) return { generation, messages, turns };
  }
}

/** The beginning of the first user message, on one line. */
export function titleOf(messages: readonly SavedMessage[]): string {
  const first = messages.find(({ role }) => role === 'user');
  const line = first ? plainText(textOf(first).slice(0, 1_000)).replace(/\s+/g, ' ').trim() : '';
  return line.length > MAX_TITLE_LENGTH ? `${[...line].slice(0, MAX_TITLE_LENGTH - 1).join('')}…` : line;
}

export function textOf({ content }: SavedMessage): string {
  const texts = content.flatMap((part) =>
    'type' in part && part.type === 'text' && 'text' in part && typeof part.text === 'string' ? [part.text] : [],
  );
  return texts.join('\n');
}

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
export function plainText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
