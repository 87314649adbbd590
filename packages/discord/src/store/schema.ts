// The tables of the bot, in SQLite and PostgreSQL.

import { errorText } from '@pocket-agent/kit';
import { type Migration, openStore, type Store } from '@pocket-agent/store';
import type { Generated, Selectable } from 'kysely';
import { DiscordBotError, networkError } from '../base/errors.ts';

interface BotSchema {
  discord_guilds: { guild_id: string; settings: string };
  discord_conversations: {
    id: string;
    /** The id of the process that owns it. */
    owner: string | null;
    model: string | null;
    /** The chosen folders and servers as a JSON list; null until a user chooses. */
    tools: string | null;
    summary: string | null;
    updated_at: number;
  };
  discord_messages: { id: Generated<number>; conversation: string; claim: string; json: string };
  discord_claims: {
    /** The id of the Discord message or interaction with the question. */
    id: string;
    kind: 'message' | 'ask' | 'again';
    conversation: string;
    channel_id: string;
    guild_id: string | null;
    user_id: string;
    /** `asked`: a command without an answer yet; `acting`: it runs and has called a tool. */
    state: 'asked' | 'queued' | 'running' | 'acting' | 'done' | 'refused';
    /** The ids of the messages that show the answer, as a JSON list. */
    replies: string;
    /** The question of `/ask`, or the claim that a regenerated answer replaces. */
    request: string | null;
    created_at: number;
  };
  /** Every bot that has used these tables. */
  discord_bots: { id: string };
  discord_processes: { id: string; host: string; pid: number; seen_at: number };
  discord_spending: { day: string; who: string; cost_usd: number; tokens: number; runs: number };
}

type BotStore = Store<BotSchema>;
export type BotDatabase = BotStore['db'];
export type Claim = Selectable<BotSchema['discord_claims']>;

const tables: Migration = {
  name: 'tables',
  up: async (run, kind) => {
    const autoIncrement = kind === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
    const real = kind === 'sqlite' ? 'real' : 'double precision';
    await run('create table discord_guilds (guild_id text primary key, settings text not null)');
    await run(`create table discord_conversations (id text primary key, owner text, model text, tools text,
      summary text, updated_at bigint not null)`);
    await run(`create table discord_messages (id ${autoIncrement}, conversation text not null, claim text not null,
      json text not null)`);
    await run('create index discord_messages_of on discord_messages (conversation, id)');
    await run('create index discord_messages_by on discord_messages (claim)');
    await run(`create table discord_claims (id text primary key, kind text not null, conversation text not null,
      channel_id text not null, guild_id text, user_id text not null, state text not null, replies text not null,
      request text, created_at bigint not null)`);
    await run('create index discord_claims_of on discord_claims (conversation, state)');
    await run('create index discord_claims_by on discord_claims (user_id, created_at)');
    await run(`create table discord_processes (id text primary key, host text not null, pid integer not null,
      seen_at bigint not null)`);
    await run(`create table discord_spending (day text not null, who text not null, cost_usd ${real} not null,
      tokens bigint not null, runs integer not null, primary key (day, who))`);
  },
};

/** For lookups per question and by every process every few seconds. */
const claimIndexes: Migration = {
  name: 'claim-indexes',
  up: async (run) => {
    await run('create index discord_claims_in on discord_claims (guild_id, created_at)');
    await run('create index discord_claims_open on discord_claims (state)');
  },
};

const bots: Migration = {
  name: 'bots',
  up: async (run) => {
    await run('create table discord_bots (id text primary key)');
  },
};

export interface DatabaseLocation {
  url?: string;
  file?: string;
}

export async function openBotStore({ url, file }: DatabaseLocation): Promise<BotStore> {
  try {
    return await openStore<BotSchema>({ url, file, name: 'discord', migrations: [tables, claimIndexes, bots] });
  } catch (cause) {
    // an unreachable server may come back; other errors need a change by the operator
    const code = url !== undefined && networkError(cause) !== undefined ? 'DATABASE_FAILED' : 'CONFIG_INVALID';
    const where = url === undefined ? 'POCKET_DISCORD_DB (database.file)' : 'DATABASE_URL (database.url)';
    throw new DiscordBotError(code, `${where}: ${errorText(cause)}`, { cause });
  }
}
