// Messages of conversations by turn, for programs whose users can repeat or remove single questions. A write fails while a
// run holds the conversation.
import { PocketError } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { SavedMessage } from './conversation-agent.ts';
import { createRow, expiry, newRow } from './conversation-rows.ts';
import { type ConversationStore, databaseTime, inTransaction, isAlive, isFree, keyOf, type Place } from './database.ts';
import { insertMessages, messageRow, readMessages, titleOf } from './message-rows.ts';
import { checkSavedTurn, checkTurns } from './options.ts';

/** Messages that belong together, such as a question and its answer. */
export interface Turn<Message extends SavedMessage = SavedMessage> {
  /** A label that is unique in the conversation. Messages of runs have an empty one. */
  turn: string;
  messages: readonly Message[];
}

/** A conversation that the current transaction has locked. */
interface LockedConversation {
  key: string;
  length: number;
}

export class Turns {
  readonly #store: ConversationStore;
  readonly #place: (id: string) => Place;
  readonly #expiresAfterMs: number | undefined;

  constructor(store: ConversationStore, place: (id: string) => Place, expiresAfterMs: number | undefined) {
    this.#store = store;
    this.#place = place;
    this.#expiresAfterMs = expiresAfterMs;
  }

  /** Oldest first. */
  async list<Message extends SavedMessage = SavedMessage>(id: string): Promise<Turn<Message>[]> {
    const read = await readMessages(this.#store, keyOf(this.#place(id)), 0);
    if (!read) return [];
    const turns: { turn: string; messages: Message[] }[] = [];
    for (const [index, message] of read.messages.entries()) {
      const turn = read.turns[index] ?? '';
      if (turns.at(-1)?.turn !== turn) turns.push({ turn, messages: [] });
      turns.at(-1)?.messages.push(message as Message); // the library wrote it
    }
    return turns;
  }

  /** Adds messages at the end. Begins the conversation if it is new. */
  async append(id: string, appended: Turn): Promise<void> {
    checkSavedTurn(appended);
    const { turn, messages } = appended;
    if (messages.length === 0) return;
    const place = this.#place(id);
    await inTransaction(this.#store, async (store) => {
      const length = await this.#lock(store, place, { adds: messages });
      await insert(store, { conversation: keyOf(place), start: length - messages.length }, { turn, messages });
    });
  }

  /** Puts other messages in the place of a turn; a new turn is appended. */
  async replace(id: string, replacement: Turn): Promise<void> {
    checkSavedTurn(replacement);
    const { turn, messages } = replacement;
    await this.#change(id, (store, { key, length }) =>
      withTitle(store, key, async () => {
        const { first } = await store.db
          .selectFrom('pocket_messages')
          .select(({ fn }) => fn.min<number | null>('number').as('first'))
          .where('conversation', '=', key)
          .where('turn', '=', turn)
          .executeTakeFirstOrThrow();
        const start = first ?? length;
        const kept = length - (await remove(store, key, [turn]));
        await renumber(store, key, { start, length: messages.length });
        await insert(store, { conversation: key, start }, { turn, messages });
        return kept + messages.length;
      }),
    );
  }

  async remove(id: string, turns: readonly string[]): Promise<void> {
    checkTurns(turns);
    if (turns.length === 0 || !(await this.#hasAny(id, turns))) return;
    await this.#change(id, (store, { key, length }) =>
      withTitle(store, key, async () => {
        const kept = length - (await remove(store, key, turns));
        await renumber(store, key);
        return kept;
      }),
    );
  }

  async #hasAny(id: string, turns: readonly string[]): Promise<boolean> {
    const found = await this.#store.db
      .selectFrom('pocket_messages')
      .select('number')
      .where('conversation', '=', keyOf(this.#place(id)))
      .where('turn', 'in', turns)
      .limit(1)
      .executeTakeFirst();
    return found !== undefined;
  }

  /** Changes the messages in one transaction. `change` returns their new number. */
  async #change(
    id: string,
    change: (store: ConversationStore, locked: LockedConversation) => Promise<number>,
  ): Promise<void> {
    const place = this.#place(id);
    const key = keyOf(place);
    await inTransaction(this.#store, async (store) => {
      const length = await change(store, { key, length: await this.#lock(store, place) });
      const row = store.db.updateTable('pocket_conversations').set({ length }).where('key', '=', key);
      if (length > 0) await row.execute();
      else await store.db.deleteFrom('pocket_conversations').where('key', '=', key).execute();
    });
  }

  /** Locks the row of a conversation until the transaction ends, and returns the number of messages with the new ones. */
  async #lock(store: ConversationStore, place: Place, { adds = [] }: { adds?: readonly SavedMessage[] } = {}) {
    const locked = await store.db
      .updateTable('pocket_conversations')
      .set({
        length: sql<number>`length + ${sql.lit(adds.length)}`,
        updated_at: databaseTime(store),
        expires_at: expiry(store, this.#expiresAfterMs),
      })
      .where('key', '=', keyOf(place))
      .where(isFree(store))
      .where(isAlive(store))
      .returning('length')
      .executeTakeFirst();
    if (locked) return locked.length;
    const row = { ...newRow(store, place, this.#expiresAfterMs), length: adds.length, title: titleOf(adds) };
    if (await createRow(store, row)) return adds.length;
    const text = `The conversation "${place.id}" is in use by a run. Try again later.`;
    throw new PocketError('CONVERSATION_BUSY', text, { details: { conversation: place.id } });
  }
}

interface Position {
  conversation: string;
  start: number;
}

async function insert(store: ConversationStore, position: Position, { turn, messages }: Turn): Promise<void> {
  const { conversation, start } = position;
  const rows = messages.map((message, index) => messageRow(message, { conversation, number: start + index, turn }));
  await insertMessages(store, rows);
}

/** A title that comes from the first question changes with it. */
async function withTitle<Result>(
  store: ConversationStore,
  key: string,
  change: () => Promise<Result>,
): Promise<Result> {
  const before = await firstTitle(store, key);
  const result = await change();
  const title = await firstTitle(store, key);
  const row = store.db.updateTable('pocket_conversations').where('key', '=', key).where('title', '=', before);
  if (title !== before) await row.set({ title }).execute();
  return result;
}

async function firstTitle({ db }: ConversationStore, key: string): Promise<string> {
  const first = await db
    .selectFrom('pocket_messages')
    .select('json')
    .where('conversation', '=', key)
    .where('role', '=', 'user')
    .orderBy('number')
    .limit(1)
    .executeTakeFirst();
  return first ? titleOf([JSON.parse(first.json)]) : '';
}

/** Returns the number of removed messages. */
async function remove({ db }: ConversationStore, key: string, turns: readonly string[]): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('pocket_messages')
    .where('conversation', '=', key)
    .where('turn', 'in', turns)
    .executeTakeFirstOrThrow();
  if (numDeletedRows > 0n) {
    const changed = { generation: crypto.randomUUID(), compacted: null };
    await db.updateTable('pocket_conversations').set(changed).where('key', '=', key).execute();
    // results may be from the removed turns
    await db.deleteFrom('pocket_results').where('conversation', '=', key).execute();
  }
  return Number(numDeletedRows);
}

interface Gap {
  start: number;
  length: number;
}

/** Numbers the messages without gaps, except for one that the caller fills. */
async function renumber({ db }: ConversationStore, key: string, gap: Gap = { start: 0, length: 0 }): Promise<void> {
  // through negative numbers, because a number must be free before another message takes it
  await sql`update pocket_messages set number = -1 - renumbered.number
    from (
      select number as old, row_number() over (order by number) - 1
        + case when number >= ${gap.start} then ${sql.lit(gap.length)} else 0 end as number
      from pocket_messages where conversation = ${key}
    ) as renumbered
    where conversation = ${key} and pocket_messages.number = renumbered.old
      and renumbered.old <> renumbered.number`.execute(db);
  await sql`update pocket_messages set number = -1 - number
    where conversation = ${key} and number < 0`.execute(db);
}
