// `node -C pocket-agent/source bench/agent3/run.ts`: how long searches take among many agents on PostgreSQL. Writes RESULTS.md
// if there are a million of them. The texts have the word frequencies of a natural language.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeFetch } from '@pocket-agent/http/fetch';
import { openStore } from '@pocket-agent/store';
import { type Kysely, sql } from 'kysely';
import type { SearchQuery } from '../../packages/agent3/src/base/agents.ts';
import { migrations } from '../../packages/agent3/src/registry/records/migrations.ts';
import type { RegistrySchema } from '../../packages/agent3/src/registry/records/schema.ts';
import { openRegistry } from '../../packages/agent3/src/registry/registry.ts';
import { labelOf } from '../../packages/agent3/src/registry/search/text-index.ts';
import { wordAt } from '../../packages/agent3/test/fixtures/registry-cards.ts';
import { startPostgres } from '../../packages/store/test/postgres.ts';
import { showHelp } from '../../scripts/show-help.ts';

showHelp('node -C pocket-agent/source bench/agent3/run.ts [--agents N] [--searches N]   searches on PostgreSQL\n');
const { values } = parseArgs({
  options: { agents: { type: 'string', default: '1000000' }, searches: { type: 'string', default: '400' } },
});
const AGENTS = Number(values.agents);
const SEARCHES = Number(values.searches);
const MILLION = 1_000_000;
const BATCH = 5_000;
const WORDS = 20_000;
const TEXTS = Math.min(AGENTS, 100_000);
const WARM_UP = 64;
const TARGET_MS = 100;
const words = Array.from({ length: WORDS }, (_, rank) => wordAt(rank));

let seed = 7;
function random(): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
}

/** Frequent words have a low rank. */
function word(): string {
  return words[Math.floor(WORDS ** random()) - 1] ?? '';
}

function text(length: number): string {
  return Array.from({ length }, word).join(' ');
}

interface Agent {
  number: number;
  name: string;
  tags: string[];
  skills: string;
  description: string;
  labels: string;
}

function agentAt(number: number): Agent {
  const tags = [word(), word(), word()];
  const labels = [
    ...tags.map((tag) => labelOf('tag', tag)),
    labelOf('protocol', 'a2a'),
    labelOf('protocol', 'JSONRPC'),
  ];
  return { number, name: text(3), tags, skills: text(30), description: text(38), labels: labels.join(' ') };
}

const postgres = await startPostgres();
try {
  const url = await postgres.createDatabase();
  await fill(url);
  await measure(url);
} finally {
  await postgres.stop();
}

/** As registrations write them, but many rows at a time: TEXTS different agents, and copies of them. */
async function fill(url: string): Promise<void> {
  const store = await openStore<RegistrySchema>({ url, name: 'agent3', migrations });
  const started = performance.now();
  const tell = (what: string) =>
    process.stderr.write(`${what}, ${((performance.now() - started) / 1_000).toFixed(0)} s\n`);
  try {
    // one connection, because a setting counts for its connection only
    await store.db.connection().execute(async (db) => {
      await sql`set statement_timeout = 0`.execute(db);
      // so that the processes of the connections do all of the work, whose time is measured
      await sql`alter role current_user set max_parallel_workers_per_gather = 0`.execute(db);
      await sql`set maintenance_work_mem = '512MB'`.execute(db);
      await sql`drop index agent3_texts_document`.execute(db);
      for (let from = 1; from <= TEXTS; from += BATCH) {
        const count = Math.min(BATCH, TEXTS - from + 1);
        await insertAgents(
          db,
          Array.from({ length: count }, (_, index) => agentAt(from + index)),
        );
      }
      tell(`${TEXTS} agents`);
      for (let copied = TEXTS; copied < AGENTS; copied += TEXTS) await copyAgents(db, copied);
      tell(`${AGENTS} agents`);
      await sql`create index agent3_texts_document on agent3_texts using gin (document)`.execute(db);
      await insertWords(db);
      await sql`insert into agent3_calls (call_id, agent_id, caller, started_at, response_time, success, retry_count, request_digest)
        select 'c' || n, 'agent-' || (n * 3) % ${AGENTS}, 'x', n, 300 + n % 500, 1, 0, ''
        from generate_series(1, ${Math.round(AGENTS / 4)}) as n`.execute(db);
      await sql`vacuum analyze`.execute(db);
      tell('indexed');
    });
  } finally {
    await store.close();
  }
}

type Database = Kysely<RegistrySchema>;

async function insertAgents(db: Database, agents: readonly Agent[]): Promise<void> {
  const column = (value: (agent: Agent) => string) => agents.map(value);
  const numbers = agents.map(({ number }) => number);
  const rated = sql`(number % 3 = 0)`;
  await sql`insert into agent3_agents (number, id, identity, owner, name, description, version, digest, verified, price,
      price_per_call, idempotent, own_tags, tags, protocols, registered_at, refreshed_at, fresh_until, health, health_due,
      calls, successes, latency, rating_count, rating_sum, rating_weight, standing, host, service)
    overriding system value
    select number, 'agent-' || number, 'card ' || number, 'owner-' || number % 1000, name, description, '1', md5(name), number % 7 / 6,
      case when number % 2 = 0 then '{"perCall":0.02,"currency":"USD"}' end, case when number % 2 = 0 then 0.02 end, 0, '[]', tags,
      '["a2a/1.0","JSONRPC"]', 0, 0, 0, case when number % 10 = 0 then 'down' else 'up' end, 0,
      case when ${rated} then 20 else 0 end, case when ${rated} then 18 else 0 end, case when ${rated} then 800 end,
      case when ${rated} then 4 else 0 end, case when ${rated} then 16 else 0 end, case when ${rated} then 4 else 0 end,
      0.4 + abs(hashint8(number) % 100000) / 500000.0, 'h' || number, 'h' || number || '/a2a'
    from unnest(${numbers}::bigint[], ${column(({ name }) => name)}::text[], ${column(({ description }) => description)}::text[],
      ${column(({ tags }) => JSON.stringify(tags))}::text[]) as row (number, name, description, tags)`.execute(db);
  await sql`insert into agent3_texts (agent_number, document)
    select number, setweight(to_tsvector('english', name), 'A') || setweight(to_tsvector('english', tags), 'B')
      || setweight(to_tsvector('english', skills), 'C') || setweight(to_tsvector('english', description), 'D')
      || to_tsvector('simple', labels)
    from unnest(${numbers}::bigint[], ${column(({ name }) => name)}::text[], ${column(({ tags }) => tags.join(' '))}::text[],
      ${column(({ skills }) => skills)}::text[], ${column(({ description }) => description)}::text[],
      ${column(({ labels }) => labels)}::text[]) as row (number, name, tags, skills, description, labels)`.execute(db);
}

/** The same texts with other names, owners and standings. */
async function copyAgents(db: Database, offset: number): Promise<void> {
  const number = sql`(number + ${offset}::bigint)`;
  await sql`insert into agent3_agents (number, id, identity, owner, name, description, version, digest, verified, price,
      price_per_call, idempotent, own_tags, tags, protocols, registered_at, refreshed_at, fresh_until, health, health_due,
      calls, successes, latency, rating_count, rating_sum, rating_weight, standing, host, service)
    overriding system value
    select ${number}, 'agent-' || ${number}, 'card ' || ${number}, owner, name, description, version, digest, verified, price,
      price_per_call, idempotent, own_tags, tags, protocols, registered_at, refreshed_at, fresh_until, health, health_due,
      calls, successes, latency, rating_count, rating_sum, rating_weight,
      0.4 + abs(hashint8(${number}) % 100000) / 500000.0, 'h' || ${number}, 'h' || ${number} || '/a2a'
    from agent3_agents where number <= ${Math.min(TEXTS, AGENTS - offset)}`.execute(db);
  await sql`insert into agent3_texts (agent_number, document)
    select agent_number + ${offset}::bigint, document from agent3_texts where agent_number <= ${Math.min(TEXTS, AGENTS - offset)}`.execute(
    db,
  );
}

async function insertWords(db: Database): Promise<void> {
  await sql`insert into agent3_words select unnest(${words}::text[]) on conflict do nothing`.execute(db);
  for (let from = 0; from < WORDS; from += 1_000) {
    const grams = words.slice(from, from + 1_000).flatMap((one) => gramsOf(one).map((gram) => [gram, one] as const));
    await sql`insert into agent3_word_grams select * from unnest(${grams.map(([gram]) => gram)}::text[],
      ${grams.map(([, one]) => one)}::text[]) on conflict do nothing`.execute(db);
  }
}

function gramsOf(one: string): string[] {
  const padded = `^${one}$`;
  return [...new Set(Array.from({ length: padded.length - 2 }, (_, index) => padded.slice(index, index + 3)))];
}

/** Words of all frequencies, filters, misspelt words, and the empty search of the start page. */
function queryAt(index: number): { kind: string; query: SearchQuery } {
  switch (index % 8) {
    case 0:
      return { kind: 'one word', query: { query: word() } };
    case 1:
      return { kind: 'two words', query: { query: text(2) } };
    case 2:
      return { kind: 'four words', query: { query: text(4) } };
    case 3:
      return { kind: 'a sentence', query: { query: `who can ${text(3)} and ${text(3)} for me` } };
    case 4:
      return {
        kind: 'a frequent word and a filter',
        query: { query: words[index % 20] ?? '', filters: { healthy: true, maxPricePerCall: 0.05 } },
      };
    case 5:
      return { kind: 'a tag', query: { query: word(), filters: { tags: [words[index % 200] ?? ''] } } };
    case 6:
      return { kind: 'a misspelt word', query: { query: `${words[2_000 + index]?.replace(/.$/, 'x')} ${word()}` } };
    default:
      return {
        kind: 'no words',
        query: { query: '', filters: index % 16 === 7 ? {} : { verified: true, minReputation: 3 } },
      };
  }
}

interface Measured {
  kind: string;
  /** Milliseconds. */
  took: number;
  /** Milliseconds of processor time of this process and of the database. */
  processor: number;
}

async function measure(url: string): Promise<void> {
  const fetch = makeFetch();
  const registry = await openRegistry({ url, fetch, healthChecks: false });
  const store = await openStore<RegistrySchema>({ url, name: 'agent3', migrations });
  try {
    for (let index = 0; index < WARM_UP; index++) await registry.search(queryAt(index).query);
    const [load = 0] = loadavg();
    const measured: Measured[] = [];
    for (let index = 0; index < SEARCHES; index++) {
      const { kind, query } = queryAt(index);
      const found = await sql<{ pid: number }>`select pid from pg_stat_activity
        where datname = current_database()`.execute(store.db);
      const pids = found.rows.map(({ pid }) => pid);
      const [database, hub, started] = [computed(pids), process.cpuUsage(), performance.now()];
      await registry.search(query);
      const took = performance.now() - started;
      const { user, system } = process.cpuUsage(hub);
      const after = computed(pids);
      const inDatabase = pids.reduce((sum, pid) => sum + (after.get(pid) ?? 0) - (database.get(pid) ?? 0), 0);
      measured.push({ kind, took, processor: (user + system) / 1_000 + inDatabase });
    }
    report(measured, load);
  } finally {
    await store.close();
    await registry.close();
    fetch.close();
  }
}

/** Milliseconds of processor time of each process (Linux), without those that have ended. */
function computed(pids: readonly number[]): Map<number, number> {
  const running = pids.filter((pid) => existsSync(`/proc/${pid}/schedstat`));
  return new Map(
    running.map((pid) => [pid, Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6]),
  );
}

function report(measured: readonly Measured[], load: number): void {
  const groups = [...Map.groupBy(measured, ({ kind }) => kind), ['**all**', measured] as const];
  const text = `# Searches of Agent3 among ${AGENTS.toLocaleString('en')} agents

${SEARCHES} searches one after another on PostgreSQL, in milliseconds. The machine has ${availableParallelism()} cores, which the database shares; its
load before was ${load.toFixed(1)}. Processor time is that of the hub and of the database together: about what a search takes on an idle
machine, because one search uses one core. There are ${TEXTS.toLocaleString('en')} different texts with the word frequencies of a natural language.

| search | median | p95 | processor time: median | p95 |
|---|---|---|---|---|
${groups.map(([kind, group]) => row(kind, group)).join('\n')}

The target is a p95 below ${TARGET_MS} ms. Repeat it with \`node -C pocket-agent/source bench/agent3/run.ts\`.
`;
  process.stdout.write(text);
  if (AGENTS >= MILLION) writeFileSync(fileURLToPath(new URL('RESULTS.md', import.meta.url)), text);
}

function row(kind: string, group: readonly Measured[]): string {
  const columns = (['took', 'processor'] as const).flatMap((name) => {
    const all = group.map((one) => one[name]);
    return [at(all, 0.5), at(all, 0.95)].map((ms) => ms.toFixed(1));
  });
  return `| ${kind} | ${columns.join(' | ')} |`;
}

function at(all: readonly number[], share: number): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
