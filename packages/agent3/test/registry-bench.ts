// Search among many agents, measured: `node -C pocket-agent/source registry-bench.ts [count] [postgres | file]`.
// The figure that does not depend on what else the machine does is the CPU time (not with PostgreSQL, which has its own).
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFetch } from '@pocket-agent/http/fetch';
import { startPostgres } from '../../store/test/postgres.ts';
import { openRegistry } from '../src/registry/registry.ts';
import { manyCards, wordAt } from './registry-cards.ts';

const count = Number(process.argv[2] ?? 100_000);
const postgres = process.argv[3] === 'postgres' ? await startPostgres() : undefined;
const folder = await mkdtemp(join(tmpdir(), 'registry-bench-'));
const fetch = makeFetch();
const place = postgres
  ? { url: await postgres.createDatabase() }
  : { file: process.argv[3] ?? join(folder, 'registry.db') };
const registry = await openRegistry({ ...place, fetch, healthChecks: false });

const started = performance.now();
const isFilled = (await registry.search({ query: '' })).totalFound > 0;
const cards = manyCards(isFilled ? 0 : count);
for (let batch = cards.next(); !batch.done; batch = cards.next())
  await registry.importCards(batch.value, { id: 'bench' });
console.log(`${count} agents in ${Math.round(performance.now() - started)} ms`);

const queries = {
  'one common word': { query: wordAt(0) },
  'two common words': { query: `${wordAt(0)} ${wordAt(1)}` },
  'a usual word': { query: wordAt(50) },
  'a rare word': { query: wordAt(5_000) },
  'common and rare': { query: `${wordAt(0)} ${wordAt(5_000)}` },
  'a sentence': { query: `please find an agent that can ${[3, 40, 700, 2_000].map(wordAt).join(' ')}` },
  'two misspelt': { query: `${wordAt(50)}q ${wordAt(800)}x` },
  'a tag only': { query: '', filters: { tags: [wordAt(900)] } },
  'usual word and filters': {
    query: wordAt(50),
    filters: { protocols: ['jsonrpc'], healthy: false, tags: [wordAt(9)] },
  },
  'common word and filter': { query: wordAt(0), filters: { protocols: ['jsonrpc'] } },
  nothing: { query: '' },
};
for (const [name, query] of Object.entries(queries)) {
  await registry.search(query);
  const times: number[] = [];
  const used = process.cpuUsage();
  let found = 0;
  for (let run = 0; run < 20; run++) {
    const begun = performance.now();
    found = (await registry.search(query)).totalFound;
    times.push(performance.now() - begun);
  }
  const { user, system } = process.cpuUsage(used);
  const cpu = ((user + system) / 20_000).toFixed(1);
  times.sort((a, b) => a - b);
  console.log(
    `${name.padEnd(24)} ${times[10]?.toFixed(1)} ms median, ${times[18]?.toFixed(1)} ms p95, ${cpu} ms of CPU, ${found} found`,
  );
}
await registry.close();
fetch.close();
await postgres?.stop();
await rm(folder, { recursive: true });
