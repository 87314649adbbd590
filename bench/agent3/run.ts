// `node -C pocket-agent/source bench/agent3/run.ts`: how long searches take among many agents on PostgreSQL. Writes RESULTS.md
// if there are a million of them. The texts have the word frequencies of a natural language.

import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeFetch } from '@pocket-agent/http/fetch';
import { openStore } from '@pocket-agent/store';
import { sql } from 'kysely';
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
const WORKERS = 2;
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
  const filled = await fill(url);
  await measure(url, filled);
} finally {
  await postgres.stop();
}

/** As registrations write them, but many rows at a time. */
async function fill(url: string): Promise<number> {
  const store = await openStore<RegistrySchema>({ url, name: 'agent3', migrations });
  const { db } = store;
  const started = performance.now();
  await sql`drop index agent3_texts_document`.execute(db);
  let next = 1;
  const worker = async () => {
    while (next <= AGENTS) {
      const from = next;
      next += BATCH;
      const agents = Array.from({ length: Math.min(BATCH, AGENTS - from + 1) }, (_, index) => agentAt(from + index));
      await insert(agents);
      if ((from - 1) % (20 * BATCH) === 0) process.stderr.write(`${from - 1} agents, ${seconds(started)} s\n`);
    }
  };
  const insert = async (agents: readonly Agent[]) => {
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
        0.4 + (hashint8(number) % 1000) / 5000.0, 'h' || number, 'h' || number || '/a2a'
      from unnest(${numbers}::bigint[], ${column(({ name }) => name)}::text[], ${column(({ description }) => description)}::text[],
        ${column(({ tags }) => JSON.stringify(tags))}::text[]) as row (number, name, description, tags)`.execute(db);
    await sql`insert into agent3_texts (agent_number, document)
      select number, setweight(to_tsvector('english', name), 'A') || setweight(to_tsvector('english', tags), 'B')
        || setweight(to_tsvector('english', skills), 'C') || setweight(to_tsvector('english', description), 'D')
        || to_tsvector('simple', labels)
      from unnest(${numbers}::bigint[], ${column(({ name }) => name)}::text[], ${column(({ tags }) => tags.join(' '))}::text[],
        ${column(({ skills }) => skills)}::text[], ${column(({ description }) => description)}::text[],
        ${column(({ labels }) => labels)}::text[]) as row (number, name, tags, skills, description, labels)`.execute(
      db,
    );
  };
  try {
    await Promise.all(Array.from({ length: WORKERS }, worker));
    process.stderr.write(`${AGENTS} agents, ${seconds(started)} s\n`);
    await sql`set maintenance_work_mem = '512MB'`.execute(db);
    await sql`create index agent3_texts_document on agent3_texts using gin (document)`.execute(db);
    await sql`insert into agent3_words select unnest(${words}::text[]) on conflict do nothing`.execute(db);
    for (let from = 0; from < WORDS; from += 1_000) {
      const grams = words.slice(from, from + 1_000).flatMap((one) => gramsOf(one).map((gram) => [gram, one] as const));
      await sql`insert into agent3_word_grams select * from unnest(${grams.map(([gram]) => gram)}::text[],
        ${grams.map(([, one]) => one)}::text[]) on conflict do nothing`.execute(db);
    }
    await sql`insert into agent3_calls (call_id, agent_id, caller, started_at, response_time, success, retry_count, request_digest)
      select 'c' || n, 'agent-' || (n * 3) % ${AGENTS}, 'x', n, 300 + n % 500, 1, 0, ''
      from generate_series(1, ${Math.round(AGENTS / 4)}) as n`.execute(db);
    await sql`vacuum analyze`.execute(db);
    process.stderr.write(`indexed, ${seconds(started)} s\n`);
    return Number(seconds(started));
  } finally {
    await store.close();
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

async function measure(url: string, filledIn: number): Promise<void> {
  const fetch = makeFetch();
  const registry = await openRegistry({ url, fetch, healthChecks: false });
  try {
    for (let index = 0; index < 64; index++) await registry.search(queryAt(index).query);
    const times: { kind: string; ms: number }[] = [];
    const loads = loadavg();
    for (let index = 0; index < SEARCHES; index++) {
      const { kind, query } = queryAt(index);
      const started = performance.now();
      await registry.search(query);
      times.push({ kind, ms: performance.now() - started });
    }
    const rows = [...Map.groupBy(times, ({ kind }) => kind)].map(([kind, group]) =>
      row(
        kind,
        group.map(({ ms }) => ms),
      ),
    );
    const all = times.map(({ ms }) => ms);
    const table = ['| search | median | p95 | longest |', '|---|---|---|---|', ...rows, row('**all**', all)].join('\n');
    const report = `# Searches of Agent3 among ${AGENTS.toLocaleString('en')} agents

${SEARCHES} searches one after another on PostgreSQL, in milliseconds, on a machine with ${availableParallelism()} cores that also runs the database
(load before: ${loads[0]?.toFixed(1)}). Filling the database took ${filledIn} s. Repeat it with \`node -C pocket-agent/source bench/agent3/run.ts\`.

${table}

The target is a p95 below ${TARGET_MS} ms.
`;
    process.stdout.write(report);
    if (AGENTS >= MILLION) writeFileSync(fileURLToPath(new URL('RESULTS.md', import.meta.url)), report);
    if (AGENTS >= MILLION && at(all, 0.95) > TARGET_MS) process.exitCode = 1;
  } finally {
    await registry.close();
    fetch.close();
  }
}

function row(kind: string, all: readonly number[]): string {
  const show = (share: number) => at(all, share).toFixed(1);
  return `| ${kind} | ${show(0.5)} | ${show(0.95)} | ${show(1)} |`;
}

function at(all: readonly number[], share: number): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function seconds(started: number): string {
  return ((performance.now() - started) / 1_000).toFixed(0);
}
