// Conversations in a SQLite file or in PostgreSQL: agents continue them, people list, search, rename and delete them.
import type { Kysely, QueryExecutorProvider } from 'kysely';
import { openStore } from '../database/store.ts';
import type { ConversationAgent, SavedMessage } from './conversation-agent.ts';
import { insertRow, newRow } from './conversation-rows.ts';
import { type ConversationStore, databaseTime, inTransaction, isAlive, isFree, keyOf, type Place } from './database.ts';
import { LeasedLog } from './leased-log.ts';
import { type ConversationInfo, type ConversationPage, infoOf, type ListOptions, listRows } from './listing.ts';
import { Memories } from './memories.ts';
import { insertMessages, messageRow, readMessages, titleOf } from './message-rows.ts';
import {
  type ConversationsOptions,
  checkAgent,
  checkId,
  checkImport,
  checkListOptions,
  checkOpenOptions,
  checkOwner,
  checkSearchText,
  checkTitle,
  type OpenOptions,
  readOptions,
} from './options.ts';
import { type ErasedOwner, eraseOwner, listOwners, type OwnerPage } from './owners.ts';
import { type ConversationsSchema, type ConversationTable, conversationTables } from './schema.ts';
import { type SearchPage, search } from './search.ts';
import { Turns } from './turns.ts';

/** A whole conversation as JSON, for `export` and `import`. */
export interface ExportedConversation<Message extends SavedMessage = SavedMessage> {
  id: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  messages: readonly Message[];
  /** The turn of each message, if they have turns. */
  turns?: readonly string[];
  /** What was compacted of the messages. */
  compacted?: object;
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
    ...conversationTables,
  });
  return new Conversations({ store, options, purgedAt: Number.NEGATIVE_INFINITY });
}

/** Options of conversations in a database that is already open. */
export type SharedOptions = Omit<ConversationsOptions, 'url' | 'file'>;

/** A `Store`, or a transaction on one. */
export interface OpenDatabase {
  /** An instance or a transaction of Kysely with any schema. */
  db: QueryExecutorProvider;
  kind: 'sqlite' | 'postgres';
}

/**
 * Conversations in a store with `needs: [conversationTables]`. `db` may be a transaction: then they change together with
 * your own tables, but agents cannot continue them.
 */
export function conversationsIn({ db, kind }: OpenDatabase, options: SharedOptions = {}): Conversations {
  readOptions(options);
  // it has the tables of conversations beside others
  const store = { db: db as Kysely<ConversationsSchema>, kind, close: async () => {} };
  return new Conversations({ store, options, purgedAt: Number.NEGATIVE_INFINITY });
}

/** What the conversations of all owners share. */
interface Shared {
  store: ConversationStore;
  options: SharedOptions;
  /** When expired conversations were deleted last, by `performance.now()`. */
  purgedAt: number;
}

export class Conversations {
  /** What agents remember of this owner, for the tools of `memory: true`. */
  readonly memory: Memories;
  /** Messages by turn, for programs that repeat or remove single turns. */
  readonly turns: Turns;
  readonly #shared: Shared;
  readonly #store: ConversationStore;
  readonly #owner: string;

  constructor(shared: Shared, owner = '') {
    this.#shared = shared;
    this.#store = shared.store;
    this.#owner = owner;
    this.memory = new Memories(shared.store, this.#ownerPlace());
    this.turns = new Turns(shared.store, (id) => this.#place(id), shared.options.expiresAfterMs);
  }

  /** The conversations of one owner, for example of a user. They have their own ids and lists. */
  forOwner(owner: string): Conversations {
    checkOwner(owner);
    return new Conversations(this.#shared, owner);
  }

  /** All owners of conversations or memories, by name. `prefix`: only names that start with it. */
  async owners(options: ListOptions = {}): Promise<OwnerPage> {
    checkListOptions(options);
    return listOwners(this.#store, this.#ownerPlace().scope, options);
  }

  /** Deletes all conversations and memories of one owner, and returns their numbers. */
  async eraseOwner(owner: string): Promise<ErasedOwner> {
    checkOwner(owner);
    return eraseOwner(this.#store, { ...this.#ownerPlace(), owner });
  }

  /** A fork of the agent that continues the conversation, or begins it. Each step is saved. */
  async open<Agent extends ConversationAgent>(id: string, agent: Agent, options: OpenOptions = {}): Promise<Agent> {
    checkAgent(agent, 'fork');
    const fork = agent.fork();
    try {
      await this.attach(id, fork, options);
    } catch (error) {
      await fork.close();
      throw error;
    }
    return fork;
  }

  /** Like `open`, for this agent instead of a fork. A new conversation begins with the messages of the agent. */
  async attach(id: string, agent: ConversationAgent, options: OpenOptions = {}): Promise<void> {
    checkOpenOptions(options);
    checkAgent(agent, 'continueConversation');
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
    await this.#purgeIfDue();
    await agent.continueConversation(log);
  }

  async get(id: string): Promise<ConversationInfo | undefined> {
    const row = await this.#row(this.#store, id);
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
    return inTransaction(this.#store, async (store) => {
      const row = await this.#row(store, id);
      const generation = crypto.randomUUID();
      const inserted = row && { ...row, ...place, key: newKey, generation, lease: null, lease_until: 0 };
      if (!inserted || !(await insertRow(store, inserted))) return false;
      for (const table of ['pocket_messages', 'pocket_results'] as const)
        await store.db.updateTable(table).set({ conversation: newKey }).where('conversation', '=', key).execute();
      await store.db.deleteFrom('pocket_conversations').where('key', '=', key).execute();
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
    const row = await this.#row(this.#store, id);
    if (!row) return undefined;
    const read = await readMessages(this.#store, row.key, 0);
    if (read?.generation !== row.generation) return this.export(id); // it was reset or deleted in between
    const { turns } = read;
    return {
      id,
      title: row.title,
      createdAt: new Date(row.created_at).toISOString(),
      updatedAt: new Date(row.updated_at).toISOString(),
      // the library wrote the messages
      messages: read.messages as SavedMessage[] as Message[],
      ...(turns.some((turn) => turn !== '') ? { turns } : {}),
      ...(row.compacted === null ? {} : { compacted: JSON.parse(row.compacted) }),
    };
  }

  /** Adds an exported conversation. False if there is one with its id. */
  async import(conversation: ExportedConversation): Promise<boolean> {
    checkImport(conversation);
    const { id, title, messages, turns = [], compacted } = conversation;
    const place = this.#place(id);
    const key = keyOf(place);
    const rows = messages.map((message, number) =>
      messageRow(message, { conversation: key, number, turn: turns[number] }),
    );
    const times = [conversation.createdAt, conversation.updatedAt].map((text) => Date.parse(text));
    const [created_at = 0, updated_at = 0] = times.map((time) => (Number.isNaN(time) ? Date.now() : time));
    return inTransaction(this.#store, async (store) => {
      const row = {
        ...newRow(store, place, this.#shared.options.expiresAfterMs),
        title: title || titleOf(messages),
        created_at,
        updated_at,
        length: rows.length,
        compacted: compacted ? JSON.stringify(compacted) : null,
      };
      if (!(await insertRow(store, row))) return false;
      await insertMessages(store, rows);
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

  #row(store: ConversationStore, id: string): Promise<ConversationTable | undefined> {
    return store.db
      .selectFrom('pocket_conversations')
      .selectAll()
      .where('key', '=', keyOf(this.#place(id)))
      .where('length', '>', 0)
      .where(isAlive(store))
      .executeTakeFirst();
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

  async #purgeIfDue(): Promise<void> {
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
