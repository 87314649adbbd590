// How well `find_tools` ranks, and how fast: `TOOL_SEARCH_DATA=FOLDER node -C pocket-agent/source bench/tool-search.ts`.
//
// FOLDER has catalogue.json: [{ server, serverDescription?, name, description, inputSchema }], and files of queries.
// cases.json: [{ task, steps, tools }]; a tool is found if the task or one step as a query finds it.
// questions.json (optional): [[query, [names]]]; a query succeeds if it finds one of the names.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolIndex } from '../packages/pocket-agent/src/exposure/tool-index.ts';
import type { SearchedTool } from '../packages/pocket-agent/src/exposure/tool-words.ts';

interface ListedTool {
  server: string;
  serverDescription?: string;
  name: string;
  description: string;
  inputSchema: SearchedTool['tool']['inputSchema'];
}

interface Case {
  task: string;
  steps: string[];
  tools: string[];
}

const RANKS = [5, 10];
const SIZES = [527, 5_000, 20_000];
const REPEATS = 50;

const folder = process.env.TOOL_SEARCH_DATA;
if (folder === undefined) {
  console.error(`Set TOOL_SEARCH_DATA to a folder; see the beginning of ${fileURLToPath(import.meta.url)}.`);
  process.exit(2);
}

const catalogue = read<ListedTool[]>('catalogue.json') ?? [];
const index = await ToolIndex.of(copies(catalogue.length));

const cases = read<Case[]>('cases.json') ?? [];
report(
  'cases',
  cases.flatMap(({ task, steps, tools }) => {
    const lists = [task, ...steps].map(namesFor);
    return tools.map((wanted) => Math.min(...lists.map((names) => rankOf(names, [wanted]))));
  }),
);
const questions = read<[string, string[]][]>('questions.json') ?? [];
report(
  'questions',
  questions.map(([query, wanted]) => rankOf(namesFor(query), wanted)),
);
for (const size of SIZES) await measureSpeed(size);

function read<Value>(name: string): Value | undefined {
  const path = join(folder ?? '', name);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** The catalogue, repeated under other names. */
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
  const queries = cases.flatMap(({ steps }) => steps).slice(0, REPEATS);
  for (const query of queries) large.search(query, 8);
  const searchedAt = performance.now();
  for (const query of queries) large.search(query, 8);
  const searched = (performance.now() - searchedAt) / Math.max(1, queries.length);
  console.log(
    `${size} tools: built in ${built.toFixed(0)} ms (${((user + system) / 1_000).toFixed(0)} ms CPU), a query takes ${searched.toFixed(2)} ms`,
  );
}
