// Measures how well and how fast `find_tools` ranks:
// `TOOL_SEARCH_DATA=FOLDER node_modules/.bin/node -C pocket-agent/source bench/tool-search/run.ts`
//
// FOLDER contains catalogue.json, [{ server, serverDescription?, name, description, inputSchema }], and cases.json, with
// optional cases-*.json, [{ id, task, steps, tools }]. A tool is found if a query with the task or one of the steps finds it.
// Weights and word families are tuned with half of the cases; only the figures of the other half are unbiased.
// questions.json beside this file, [[query, [names]]], is about the same catalogue. It was written before tuning and is not
// used for it. A query succeeds if it finds one of the names.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolIndex } from '../../packages/pocket-agent/src/exposure/tool-index.ts';
import type { SearchedTool } from '../../packages/pocket-agent/src/exposure/tool-words.ts';

interface ListedTool {
  server: string;
  serverDescription?: string;
  name: string;
  description: string;
  inputSchema: SearchedTool['tool']['inputSchema'];
}

interface Case {
  id: string;
  task: string;
  steps: string[];
  tools: string[];
}

const RANKS = [5, 10];
const SIZES = [527, 5_000, 20_000];

const folder = process.env.TOOL_SEARCH_DATA;
if (folder === undefined) {
  console.error(`Set TOOL_SEARCH_DATA to a folder; see the beginning of ${import.meta.filename}.`);
  process.exit(2);
}

const catalogue = read<ListedTool[]>(folder, 'catalogue.json');
const index = await ToolIndex.of(copies(catalogue.length));

for (const name of readdirSync(folder).filter((file) => /^cases.*\.json$/.test(file))) {
  const all = read<Case[]>(folder, name);
  const [tuned, others] = [all.filter(isTuned), all.filter((each) => !isTuned(each))];
  report(name, ranksOf(all));
  report('  half used for tuning', ranksOf(tuned));
  report('  other half', ranksOf(others));
}
const questions = read<[string, string[]][]>(import.meta.dirname, 'questions.json');
report(
  'questions',
  questions.map(([query, wanted]) => rankOf(namesFor(query), wanted)),
);
for (const size of SIZES) await measureSpeed(size);

function read<Value>(path: string, name: string): Value {
  return JSON.parse(readFileSync(join(path, name), 'utf8'));
}

function isTuned({ id }: Case): boolean {
  return (createHash('sha256').update(id.slice(0, 8)).digest()[0] ?? 0) % 2 === 0;
}

function ranksOf(cases: readonly Case[]): number[] {
  return cases.flatMap(({ task, steps, tools }) => {
    const lists = [task, ...steps].map(namesFor);
    return tools.map((wanted) => Math.min(...lists.map((names) => rankOf(names, [wanted]))));
  });
}

/** `count` tools: the catalogue, repeated under other names. */
function copies(count: number): SearchedTool[] {
  return Array.from({ length: count }, (_, position) => {
    const { server, serverDescription, ...tool } = catalogue[position % catalogue.length] as ListedTool;
    const suffix = position < catalogue.length ? '' : String(Math.floor(position / catalogue.length));
    const group = { name: `${server}${suffix}`, description: serverDescription };
    return { name: `${tool.name}${suffix}`, tool, group };
  });
}

function namesFor(query: string): string[] {
  return index.search(query, Math.max(...RANKS)).map(({ position }) => catalogue[position]?.name ?? '');
}

function rankOf(names: readonly string[], wanted: readonly string[]): number {
  const rank = names.findIndex((name) => wanted.includes(name));
  return rank < 0 ? Number.POSITIVE_INFINITY : rank;
}

function report(what: string, ranks: readonly number[]): void {
  if (ranks.length === 0) return;
  const parts = RANKS.map((limit) => {
    const found = ranks.filter((rank) => rank < limit).length;
    return `${((100 * found) / ranks.length).toFixed(1)} % among the first ${limit}`;
  });
  console.log(`${what} (${ranks.length}): ${parts.join(', ')}`);
}

async function measureSpeed(size: number): Promise<void> {
  const tools = copies(size);
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const large = await ToolIndex.of(tools);
  const built = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  const queries = questions.map(([query]) => query);
  for (const query of queries) large.search(query, 8);
  const searchedAt = performance.now();
  for (const query of queries) large.search(query, 8);
  const searched = (performance.now() - searchedAt) / Math.max(1, queries.length);
  console.log(
    `${size} tools: built in ${built.toFixed(0)} ms (${((user + system) / 1_000).toFixed(0)} ms CPU), a query takes ${searched.toFixed(2)} ms`,
  );
}
