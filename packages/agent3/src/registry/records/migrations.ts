// The migrations of the registry's tables. Append only.
import { randomBytes } from 'node:crypto';
import type { Migration, RunStatement } from '@pocket-agent/store';
import { sql } from 'kysely';
import { addressesOf } from '../../cards/addresses.ts';

export const migrations: readonly Migration[] = [
  {
    name: 'registry',
    async up(run, kind) {
      const number = kind === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
      const agent = 'agent_number bigint not null references agent3_agents (number) on delete cascade';
      await run(`create table agent3_agents (
        number ${number}, id text not null unique, identity text not null unique, owner text not null,
        name text not null, description text not null, version text not null, card_url text, digest text not null,
        etag text, verified integer not null, price text, price_per_call double precision, rate_calls integer,
        rate_seconds integer, idempotent integer not null, own_tags text not null, tags text not null,
        protocols text not null, registered_at bigint not null, refreshed_at bigint not null,
        fresh_until bigint not null, health text not null default 'unknown', health_due bigint not null,
        health_leased_until bigint not null default 0, calls bigint not null default 0,
        successes bigint not null default 0, latency double precision, rating_count integer not null default 0,
        rating_sum double precision not null default 0, rating_weight double precision not null default 0,
        standing double precision not null)`);
      await run('create index agent3_agents_standing on agent3_agents (standing desc, number)');
      await run('create index agent3_agents_health on agent3_agents (health_due)');
      await run(`create table agent3_cards (${agent}, card text not null, primary key (agent_number))`);
      await run(`create table agent3_credentials (${agent}, sealed text not null, primary key (agent_number))`);
      await run(`create table agent3_calls (
        call_id text primary key, agent_id text not null, caller text not null, started_at bigint not null,
        response_time double precision not null, success integer not null, error_code text, status_code integer,
        retry_count integer not null, cost double precision, tokens_used bigint, state text,
        request_digest text not null, response_digest text)`);
      await run('create index agent3_calls_agent on agent3_calls (agent_id, started_at)');
      await run('create index agent3_calls_time on agent3_calls (started_at)');
      await run('create index agent3_calls_caller on agent3_calls (caller, agent_id)');
      await run(`create table agent3_feedback (
        call_id text primary key, agent_id text not null, rater text not null, rating double precision not null,
        text text not null, created_at bigint not null)`);
      await run('create index agent3_feedback_agent on agent3_feedback (agent_id, created_at)');
      await run(
        'create table agent3_rate_windows (key text primary key, uses text not null, expires_at bigint not null)',
      );
      await run(`create table agent3_tasks (
        task_handle text primary key, agent_id text not null, caller text not null, task_id text not null,
        context_id text, state text not null, pushed text, updated_at bigint not null, expires_at bigint not null)`);
      await run('create index agent3_tasks_expiry on agent3_tasks (expires_at)');
      await run(`create table agent3_vectors (${agent}, vector text not null, primary key (agent_number))`);
      await run('create table agent3_words (word text primary key)');
      await run('create table agent3_word_grams (gram text not null, word text not null, primary key (gram, word))');
      await run('create table agent3_settings (name text primary key, value text not null)');
      for (const name of ['receipt-key', 'vault-salt'])
        await run(sql`insert into agent3_settings values (${name}, ${randomBytes(32).toString('base64url')})`);
      if (kind === 'sqlite')
        await run(`create virtual table agent3_texts using fts5 (
          name, tags, skills, description, examples, labels, content='', contentless_delete=1,
          tokenize="porter unicode61 remove_diacritics 2")`);
      else {
        await run(`create table agent3_texts (${agent}, document tsvector not null, primary key (agent_number))`);
        await run('create index agent3_texts_document on agent3_texts using gin (document)');
      }
    },
  },
  {
    name: 'spending',
    async up(run) {
      await run(`create table agent3_spending (
        day text not null, caller text not null, spent double precision not null, primary key (day, caller))`);
    },
  },
  {
    name: 'ratings',
    async up(run) {
      await run(`create table agent3_former (
        identity text primary key, id text not null, calls bigint not null, successes bigint not null,
        latency double precision, rating_count integer not null, rating_sum double precision not null,
        rating_weight double precision not null)`);
      await run('alter table agent3_feedback add column counts integer not null default 1');
      // ratings by owners of their own agents no longer count; sums that include other ratings are not corrected
      await run(`update agent3_feedback set counts = 0 where rater <> 'local' and exists (
        select 1 from agent3_agents where agent3_agents.id = agent_id and owner = rater)`);
      await run(`update agent3_agents set rating_count = (
        select count(*) from agent3_feedback where agent_id = agent3_agents.id and counts = 1)
        where id in (select agent_id from agent3_feedback where counts = 0)`);
      await run('update agent3_agents set rating_sum = 0, rating_weight = 0 where rating_count = 0');
    },
  },
  {
    name: 'user-agents',
    async up(run) {
      await run('alter table agent3_calls add column user_agent_id text');
      await run('alter table agent3_calls add column tokens_estimated integer');
      await run('alter table agent3_feedback add column user_agent_id text');
      await run('create index agent3_calls_caller_time on agent3_calls (caller, started_at)');
      await run('create index agent3_calls_user_agent on agent3_calls (user_agent_id, caller)');
    },
  },
  {
    name: 'endpoints',
    async up(run) {
      await run(`create table agent3_endpoints (
        agent_number bigint not null references agent3_agents (number) on delete cascade,
        address text not null, primary key (agent_number, address))`);
      await run('create index agent3_endpoints_address on agent3_endpoints (address)');
      for (let last = -1, cards = await cardsAfter(run, last); cards.length > 0; cards = await cardsAfter(run, last)) {
        for (const { agent_number, card } of cards) {
          const rows = addressesOf(JSON.parse(card)).map((address) => sql`(${agent_number}, ${address})`);
          if (rows.length > 0) await run(sql`insert into agent3_endpoints values ${sql.join(rows)}`);
          last = agent_number;
        }
      }
    },
  },
  {
    name: 'trust',
    async up(run) {
      await run('alter table agent3_agents add column hidden text');
      await run('alter table agent3_agents add column proof text');
      await run("alter table agent3_agents add column host text not null default ''");
      await run('alter table agent3_agents add column prior_rating double precision');
      await run('create index agent3_agents_owner on agent3_agents (owner, host)');
      await run("alter table agent3_agents add column service text not null default ''");
      await run('create index agent3_agents_service on agent3_agents (service)');
      for (const column of ['owner', 'host', 'service'])
        await run(sql`alter table agent3_former add column ${sql.ref(column)} text not null default ''`);
      await run('create index agent3_former_owner on agent3_former (owner, host)');
      await run('create index agent3_former_service on agent3_former (service)');
      await run(`create table agent3_reports (
        agent_id text not null, reporter text not null, reason text not null, created_at bigint not null,
        primary key (agent_id, reporter))`);
      for (const name of ['proof-key', 'hub-id'])
        await run(sql`insert into agent3_settings values (${name}, ${randomBytes(32).toString('base64url')})`);
    },
  },
  {
    name: 'accounts',
    async up(run) {
      await run(`create table agent3_allowances (
        owner text primary key, per_call double precision, per_day double precision, per_month double precision,
        agreed_at bigint not null)`);
      await run(`create table agent3_tokens (
        id text primary key, owner text not null, name text not null, created_at bigint not null,
        expires_at bigint not null)`);
      await run('create index agent3_tokens_owner on agent3_tokens (owner)');
    },
  },
];

async function cardsAfter(run: RunStatement, number: number) {
  const rows = await run(sql`select agent_number, card from agent3_cards where agent_number > ${number}
    order by agent_number limit 500`);
  return rows as readonly { agent_number: number; card: string }[];
}
