// A database as the version before wrote it, when messages were in a table of the bot.
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Message } from 'pocket-agent';

export type Location = { file: string } | { url: string };

const png = 'iVBORw0KGgo=';

/** Messages by claim, oldest first. */
export const oldTurns: readonly [claim: string, messages: readonly Message[]][] = [
  [
    '99',
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: "What is on ann's picture?" },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 'it' } }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'look',
            output: { type: 'text', value: 'a cat \0 \ud83d' },
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] },
    ],
  ],
  ['100', [said('user', 'And now?'), said('assistant', 'Still a cat.')]],
];

/** Conversations of users 1 and 2, and preferences of user 3, who has asked nothing. */
export async function writeOldDatabase(location: Location, conversation = 'dm:1'): Promise<void> {
  await execute(location, [...tables('file' in location ? 'sqlite' : 'postgres'), ...rows(conversation)].join(';\n'));
}

export async function execute(location: Location, text: string): Promise<Record<string, unknown>[]> {
  if ('file' in location) {
    const database = new DatabaseSync(location.file);
    try {
      if (!text.startsWith('select')) database.exec(text);
      return text.startsWith('select') ? database.prepare(text).all() : [];
    } finally {
      database.close();
    }
  }
  const client = new pg.Client(location.url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

function tables(kind: 'sqlite' | 'postgres'): string[] {
  const id = kind === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
  const real = kind === 'sqlite' ? 'real' : 'double precision';
  return [
    `create table pocket_migrations (store text not null, number integer not null, name text not null,
      applied_at bigint not null, primary key (store, number))`,
    `insert into pocket_migrations values ('discord', 0, 'tables', 1), ('discord', 1, 'claim-indexes', 1),
      ('discord', 2, 'bots', 1)`,
    'create table discord_guilds (guild_id text primary key, settings text not null)',
    `create table discord_conversations (id text primary key, owner text, model text, tools text, summary text,
      updated_at bigint not null)`,
    `create table discord_messages (id ${id}, conversation text not null, claim text not null, json text not null)`,
    'create index discord_messages_of on discord_messages (conversation, id)',
    'create index discord_messages_by on discord_messages (claim)',
    `create table discord_claims (id text primary key, kind text not null, conversation text not null,
      channel_id text not null, guild_id text, user_id text not null, state text not null, replies text not null,
      request text, created_at bigint not null)`,
    'create index discord_claims_of on discord_claims (conversation, state)',
    'create index discord_claims_by on discord_claims (user_id, created_at)',
    `create table discord_processes (id text primary key, host text not null, pid integer not null,
      seen_at bigint not null)`,
    `create table discord_spending (day text not null, who text not null, cost_usd ${real} not null,
      tokens bigint not null, runs integer not null, primary key (day, who))`,
    'create index discord_claims_in on discord_claims (guild_id, created_at)',
    'create index discord_claims_open on discord_claims (state)',
    'create table discord_bots (id text primary key)',
  ];
}

function rows(conversation: string): string[] {
  const insert = (id: string, claim: string, message: Message) =>
    `insert into discord_messages (conversation, claim, json)
      values ('${id}', '${claim}', '${JSON.stringify(message).replaceAll("'", "''")}')`;
  const own = oldTurns.flatMap(([claim, messages]) => messages.map((message) => insert(conversation, claim, message)));
  // conversations took turns
  own.splice(1, 0, insert('dm:2', '300', said('user', 'A secret of another user')));
  return [
    `insert into discord_conversations (id, model, tools, summary, updated_at) values
      ('${conversation}', 'second', '[]', 'They talked about dogs.', 1700000000000),
      ('dm:2', null, null, null, 1600000000000), ('dm:3', 'second', null, null, 1600000000000)`,
    ...own,
  ];
}

function said(role: 'user' | 'assistant', text: string): Message {
  return { role, content: [{ type: 'text', text }] };
}
