// The tables of conversations, their large results, and memories.
import type { Migration, MigrationSet } from '../database/migrate.ts';

export interface ConversationTable {
  /** A hash of scope, owner and id, which together are too long for an index of PostgreSQL. */
  key: string;
  scope: string;
  owner: string;
  id: string;
  title: string;
  created_at: number;
  updated_at: number;
  expires_at: number | null;
  /** The number of messages. */
  length: number;
  /** Changes when messages are replaced or removed. */
  generation: string;
  /** What the library compacted of the messages, as JSON. */
  compacted: string | null;
  /** Identifies the run that holds the conversation. */
  lease: string | null;
  /** When the lease ends if it is not renewed. */
  lease_until: number;
}

export interface MessageTable {
  conversation: string;
  /** The position in the conversation, from 0. */
  number: number;
  role: string;
  json: string;
  /** The text in lower case, for search. */
  search_text: string;
  /** The label of the turn that the message belongs to; empty without one. */
  turn: string;
}

export interface MemoryTable {
  scope: string;
  owner: string;
  id: string;
  text: string;
  created_at: number;
}

export interface ResultTable {
  id: string;
  conversation: string;
  /** The tool and the id of its call, as JSON. */
  origin: string;
  bytes: number;
  content: Uint8Array;
  created_at: number;
  expires_at: number;
}

export interface ConversationsSchema {
  pocket_conversations: ConversationTable;
  pocket_messages: MessageTable;
  pocket_results: ResultTable;
  pocket_memories: MemoryTable;
}

const createTables: Migration = {
  name: 'conversations and messages',
  async up(run) {
    await run(`create table pocket_conversations (
      key text primary key, scope text not null, owner text not null, id text not null, title text not null,
      created_at bigint not null, updated_at bigint not null, expires_at bigint, length integer not null,
      generation text not null, lease text, lease_until bigint not null)`);
    await run(`create index pocket_conversations_newest on pocket_conversations (scope, owner, updated_at, key)`);
    await run(`create index pocket_conversations_expired on pocket_conversations (expires_at)
      where expires_at is not null`);
    await run(`create table pocket_messages (
      conversation text not null references pocket_conversations (key) on delete cascade,
      number integer not null, role text not null, json text not null, search_text text not null,
      primary key (conversation, number))`);
  },
};

const createMemories: Migration = {
  name: 'memories',
  async up(run) {
    await run(`create table pocket_memories (
      scope text not null, owner text not null, id text not null, text text not null, created_at bigint not null,
      primary key (scope, owner, id))`);
  },
};

const addTurns: Migration = {
  name: 'turns and compacted views',
  async up(run) {
    await run(`alter table pocket_messages add column turn text not null default ''`);
    await run('alter table pocket_conversations add column compacted text');
  },
};

const createResults: Migration = {
  name: 'large results',
  async up(run) {
    // SQLite takes any name for the type of a column, and stores bytes as they are
    await run(`create table pocket_results (
      id text primary key, conversation text not null references pocket_conversations (key) on delete cascade,
      origin text not null, bytes integer not null, content bytea not null,
      created_at bigint not null, expires_at bigint not null)`);
    await run('create index pocket_results_newest on pocket_results (conversation, created_at)');
    await run('create index pocket_results_expired on pocket_results (expires_at)');
  },
};

/** For `openStore({ needs: [conversationTables] })`, by programs that keep conversations beside their own tables. */
export const conversationTables: MigrationSet = {
  name: 'conversations',
  migrations: [createTables, createMemories, addTurns, createResults],
};
