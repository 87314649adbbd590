// Conversations in a SQLite file or in PostgreSQL: agents continue them, people list, search, rename and delete them.
import { isRecord, PocketError } from '@pocket-agent/kit';
import type { InsertObject, Kysely } from 'kysely';
import { openStore } from '../store.ts';
import type { ConversationAgent, SavedMessage } from './conversation-agent.ts';
import { type ConversationStore, databaseTime, isAlive, isFree, keyOf, type Place, timeIn } from './database.ts';
import { LeasedLog } from './leased-log.ts';
import { type ConversationInfo, type ConversationPage, infoOf, type ListOptions, listRows } from './listing.ts';
import { Memories } from './memories.ts';
import { insertRows, messageRow, readMessages, titleOf } from './message-rows.ts';
import {
  type ConversationsOptions,
  checkId,
  checkListOptions,
  checkOpenOptions,
  checkOwner,
  checkSearchText,
  checkTitle,
  type OpenOptions,
  readOptions,
} from './options.ts';
import { type ConversationsSchema, conversationMigrations } from './schema.ts';
import { type SearchPage, search } from './search.ts';

/** A whole conversation as JSON, for `export` and `import`. */
export interface ExportedConversation<Message extends SavedMessage = SavedMessage> {
  id: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  messages: readonly Message[];
}

const DEFAULT_WAIT_MS = 30_000;
const DEFAULT_LEASE_MS = 15_000;
const PURGE_EVERY_MS = 60_000;
const PURGED_AT_ONCE = 50;

/** Opens the conversations in a SQLite file or, by a postgres:// URL, in PostgreSQL. */
export async function openConversations(location: string | ConversationsOptions): Promise<Conversations> {
  const { url, file, ...options } = readOptions(location);
  const store = await openStore<ConversationsSchema>({
    url: url ?? undefined,
    file: file ?? undefined,
    name: 'conversations',
    migrations: conversationMigrations,
  });
  return new Conversations({ store, options, purgedAt: Number.NEGATIVE_INFINITY });
}

/** What the conversations of all owners share. */
interface Shared {
  store: ConversationStore;
  options: Omit<ConversationsOptions, 'url' | 'file'>;
  /** When expired conversations were deleted last, by `performance.now()`. */
  purgedAt: number;
}

export class Conversations {
  /** What agents remember of this owner, for the tools of `memory: true`. */
  readonly memory: Memories;
  readonly #shared: Shared;
  readonly #store: ConversationStore;
  readonly #owner: string;

  constructor(shared: Shared, owner = '') {
    this.#shared = shared;
    this.#store = shared.store;
    this.#owner = owner;
    this.memory = new Memories(shared.store, this.#ownerPlace());
  }

  /** The conversations of one owner, for example of a user. They have their own ids and lists. */
  forOwner(owner: string): Conversations {
    checkOwner(owner);
    return new Conversations(this.#shared, owner);
  }

  /** A fork of the agent that continues the conversation, or begins it. Each step is saved. */
  async open<Agent extends ConversationAgent>(id: string, agent: Agent, options: OpenOptions = {}): Promise<Agent> {
    const fork = agent.fork();
    try {
      await this.attach(id, fork, options);
    } catch (error) {
      await fork.close();
      throw error;
    }
    return fork;
  }

  /** Like `open`, for this agent instead of a fork. Messages that it has already begin a new conversation. */
  async attach(id: string, agent: ConversationAgent, options: OpenOptions = {}): Promise<void> {
    checkOpenOptions(options);
    const {
      waitMs = DEFAULT_WAIT_MS,
      leaseMs = DEFAULT_LEASE_MS,
      expiresAfterMs,
    } = { ...this.#shared.options, ...options };
    const log = new LeasedLog(this.#store, this.#place(id), {
      waitMs,
      leaseMs,
      expiresAfterMs,
      memory: this.memory,
    });
    await this.#purgeNowAndThen();
    await agent.continueConversation(log);
  }

  async get(id: string): Promise<ConversationInfo | undefined> {
    const { db } = this.#store;
    const row = await db
      .selectFrom('pocket_conversations')
      .selectAll()
      .where('key', '=', keyOf(this.#place(id)))
      .where('length', '>', 0)
      .where(isAlive(this.#store))
      .executeTakeFirst();
    return row && infoOf(row);
  }

  /** Newest first. */
  async list(options: ListOptions = {}): Promise<ConversationPage> {
    checkListOptions(options);
    const { rows, next } = await listRows(this.#store, this.#ownerPlace(), options);
    return { conversations: rows.map(infoOf), next };
  }

  /** Conversations whose title or messages contain the text in any case, newest first. */
  async search(text: string, options: ListOptions = {}): Promise<SearchPage> {
    checkSearchText(text);
    checkListOptions(options);
    return search(this.#store, this.#ownerPlace(), { ...options, text });
  }

  /** False if there is no such conversation. */
  async rename(id: string, title: string): Promise<boolean> {
    checkTitle(title);
    const { numUpdatedRows } = await this.#store.db
      .updateTable('pocket_conversations')
      .set({ title })
      .where('key', '=', keyOf(this.#place(id)))
      .where('length', '>', 0)
      .where(isAlive(this.#store))
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 1n;
  }

  /** Gives a conversation another id. False if there is no such conversation, or if there is one with the new id. */
  async changeId(id: string, newId: string): Promise<boolean> {
    const [key, place] = [keyOf(this.#place(id)), this.#place(newId)];
    const newKey = keyOf(place);
    return this.#store.db.transaction().execute(async (transaction) => {
      const row = await transaction
        .selectFrom('pocket_conversations')
        .selectAll()
        .where('key', '=', key)
        .where('length', '>', 0)
        .where(isAlive(this.#store))
        .executeTakeFirst();
      const inserted = row && {
        ...row,
        ...place,
        key: newKey,
        generation: crypto.randomUUID(),
        lease: null,
        lease_until: 0,
      };
      if (!inserted || !(await this.#insert(transaction, inserted))) return false;
      await transaction
        .updateTable('pocket_messages')
        .set({ conversation: newKey })
        .where('conversation', '=', key)
        .execute();
      await transaction.deleteFrom('pocket_conversations').where('key', '=', key).execute();
      return true;
    });
  }

  /** Also deletes a conversation that a run holds: the run fails when it saves its next step. */
  async delete(id: string): Promise<boolean> {
    const { numDeletedRows } = await this.#store.db
      .deleteFrom('pocket_conversations')
      .where('key', '=', keyOf(this.#place(id)))
      .executeTakeFirstOrThrow();
    return numDeletedRows === 1n;
  }

  /** Undefined if there is no such conversation. */
  async export<Message extends SavedMessage = SavedMessage>(
    id: string,
  ): Promise<ExportedConversation<Message> | undefined> {
    const info = await this.get(id);
    if (!info) return undefined;
    const read = await readMessages(this.#store, keyOf(this.#place(id)), 0);
    if (!read) return this.export(id); // it was reset or deleted in between
    const { title, createdAt, updatedAt } = info;
    const [created, updated] = [createdAt.toISOString(), updatedAt.toISOString()];
    // the library wrote the messages
    return {
      id,
      title,
      createdAt: created,
      updatedAt: updated,
      messages: read.messages as SavedMessage[] as Message[],
    };
  }

  /** Adds an exported conversation. False if there is one with its id. */
  async import(conversation: ExportedConversation): Promise<boolean> {
    const { id, title, messages } = conversation;
    const place = this.#place(id);
    const key = keyOf(place);
    checkMessages(messages);
    const rows = messages.map((message, index) => messageRow(key, index, message));
    const times = [conversation.createdAt, conversation.updatedAt].map((text) => Date.parse(text));
    const [created_at = 0, updated_at = 0] = times.map((time) => (Number.isNaN(time) ? Date.now() : time));
    const { expiresAfterMs } = this.#shared.options;
    return this.#store.db.transaction().execute(async (transaction) => {
      const row = {
        ...place,
        key,
        title: title || titleOf(messages),
        created_at,
        updated_at,
        expires_at: expiresAfterMs === undefined ? null : timeIn(this.#store, expiresAfterMs),
        length: rows.length,
        generation: crypto.randomUUID(),
        lease: null,
        lease_until: 0,
      };
      if (!(await this.#insert(transaction, row))) return false;
      await insertRows(transaction, rows);
      return true;
    });
  }

  /** Deletes expired conversations of all owners, and returns their number. `open` does this now and then. */
  async purge(): Promise<number> {
    for (let purged = 0; ; ) {
      const count = await this.#purgeSome();
      purged += count;
      if (count < PURGED_AT_ONCE) return purged;
    }
  }

  /** Closes the database, also for the other owners. Close the agents first. */
  async close(): Promise<void> {
    await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** False if there is a conversation with this key. */
  async #insert(
    db: Kysely<ConversationsSchema>,
    row: InsertObject<ConversationsSchema, 'pocket_conversations'>,
  ): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('pocket_conversations')
      .values(row)
      .onConflict((conflict) => conflict.column('key').doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === 1n;
  }

  async #purgeSome(): Promise<number> {
    const store = this.#store;
    const expired = store.db
      .selectFrom('pocket_conversations')
      .select('key')
      .where('expires_at', '<=', databaseTime(store))
      .where(isFree(store))
      .limit(PURGED_AT_ONCE);
    const { numDeletedRows } = await store.db
      .deleteFrom('pocket_conversations')
      .where('key', 'in', expired)
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  }

  async #purgeNowAndThen(): Promise<void> {
    const { options, purgedAt } = this.#shared;
    if (options.expiresAfterMs === undefined || performance.now() - purgedAt < PURGE_EVERY_MS) return;
    this.#shared.purgedAt = performance.now();
    await this.#purgeSome();
  }

  #ownerPlace(): Omit<Place, 'id'> {
    return { scope: this.#shared.options.scope ?? '', owner: this.#owner };
  }

  #place(id: string): Place {
    checkId(id);
    return { ...this.#ownerPlace(), id };
  }
}

function checkMessages(messages: unknown): void {
  const isMessage = (message: unknown) =>
    isRecord(message) && typeof message.role === 'string' && Array.isArray(message.content);
  if (!Array.isArray(messages) || !messages.every(isMessage))
    throw new PocketError(
      'CONFIG_INVALID',
      'An imported conversation needs `messages`, each with `role` and `content`.',
    );
}
