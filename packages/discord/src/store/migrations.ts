// The migrations of the bot's tables. Append only.
import { conversationsIn, type Migration, type SavedMessage } from '@pocket-agent/store';
import { type Kysely, sql } from 'kysely';

/** Separates the conversations of the bot from those of other programs in the database. */
export const DISCORD_SCOPE = 'discord';

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

/** Indexes for lookups at every question, and by every process every few seconds. */
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

/** Messages were in a table of the bot. Claims become the turns of conversations. */
const conversations: Migration = {
  name: 'conversations',
  up: async (run, kind, db) => {
    const chats = conversationsIn({ db, kind }, { scope: DISCORD_SCOPE });
    const { rows } = await sql<{ id: string; updated_at: number | null }>`
      select m.conversation as id, c.updated_at from
        (select distinct conversation from discord_messages) m
        left join discord_conversations c on c.id = m.conversation`.execute(db);
    for (const { id, updated_at } of rows) {
      const time = new Date(updated_at ?? Date.now()).toISOString();
      await chats.import({ id, title: '', createdAt: time, updatedAt: time, ...(await oldMessages(db, id)) });
    }
    await run('drop table discord_messages');
  },
};

async function oldMessages(db: Kysely<unknown>, conversation: string) {
  const { rows } = await sql<{ claim: string; json: string }>`
    select claim, json from discord_messages where conversation = ${conversation} order by id`.execute(db);
  const messages = rows.map(({ json }): SavedMessage => JSON.parse(json));
  return { messages, turns: rows.map(({ claim }) => claim) };
}

/** A run of a schedule asks once, and bots without schedules need not look for any. */
const schedules: Migration = {
  name: 'schedules',
  up: async (run) => {
    await run('alter table discord_claims add column run text');
    await run('create unique index discord_claims_run on discord_claims (run) where run is not null');
    await run('alter table discord_bots add column schedules integer');
  },
};

/** Logins of members at MCP servers, encrypted. `person` is empty for what all share. */
const logins: Migration = {
  name: 'logins',
  up: async (run) => {
    await run(`create table discord_logins (person text not null, server text not null, login text not null,
      primary key (person, server))`);
  },
};

export const migrations: readonly Migration[] = [tables, claimIndexes, bots, conversations, schedules, logins];
