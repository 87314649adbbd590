// The tool `find_tools`: finds deferred tools by what they do. The model can call what it found from its next step on.
import type { Tool } from '@modelcontextprotocol/client';
import { errorText, type Logger, warnOnce } from '@pocket-agent/kit';
import { FIND_TOOLS } from '../base/tool-names.ts';
import { ownTools, tool } from '../tools/function-tool.ts';
import type { ToolSource } from '../tools/tool-source.ts';
import type { ToolEntry } from '../tools/tool-table.ts';
import type { Embed } from './embedder.ts';
import type { FoundTool, ToolIndex } from './tool-index.ts';
import { foundLine } from './used-tools.ts';

const DEFAULT_LIMIT = 8;
/** The most tools that one search finds. */
export const MAX_SEARCH_LIMIT = 20;
const MAX_LISTED_GROUPS = 30;
const MAX_NAME = 40;
const MAX_LINE = 200;
const MAX_ALTERNATIVES = 5;

const DESCRIPTION =
  'Finds tools that are not listed here. You can call what it finds from your next step on. Search before you say that something cannot be done.';

export interface FoundEntry extends ToolEntry {
  /** How code calls the tool, if only code can. */
  about?(): string | undefined;
}

interface ToolSearch {
  /** The tools that the current run may call: no others are searched. */
  deferred(): readonly FoundEntry[];
  embed: Embed | undefined;
  logger: Logger;
}

export function toolSearch(options: ToolSearch): ToolSource & { readonly revision: number } {
  return ownTools([findTools(options)], 'search');
}

/** The arguments of a tool that finds tools. */
export function searchInput(defaultLimit: number): Tool['inputSchema'] {
  const query = {
    type: 'string',
    minLength: 1,
    description: 'What the tool should do, in a few words: the action and the thing, such as "create calendar event"',
  };
  const limit = { type: 'integer', minimum: 1, maximum: MAX_SEARCH_LIMIT, description: `Default ${defaultLimit}` };
  return { type: 'object', properties: { query, limit }, required: ['query'], additionalProperties: false };
}

/** Its description names the servers whose tools it finds. */
export function describedSearch(search: Tool, deferred: readonly ToolEntry[]): Tool {
  const groups = groupsOf(deferred);
  const of = groups.length > 0 ? ` of ${groups.join(', ')}` : '';
  return Object.freeze({ ...search, description: `${DESCRIPTION} There are ${deferred.length} tools${of}.` });
}

function groupsOf(entries: readonly ToolEntry[]): string[] {
  const names = new Set(entries.flatMap(({ source, tool }) => source.group?.(tool)?.name ?? []));
  const listed = [...names].slice(0, MAX_LISTED_GROUPS).map((name) => name.slice(0, MAX_NAME));
  return names.size > listed.length ? [...listed, `${names.size - listed.length} more`] : listed;
}

function findTools(options: ToolSearch) {
  return tool({
    name: FIND_TOOLS,
    description: DESCRIPTION,
    annotations: { readOnlyHint: true },
    inputSchema: searchInput(DEFAULT_LIMIT),
    run: async ({ query, limit = DEFAULT_LIMIT }, { signal }) => {
      const entries = options.deferred();
      const index = await indexOf(entries);
      const meanings = await meaningsOf({ ...options, index, query: String(query), signal });
      const found = index.search(String(query), Number(limit), meanings);
      const lines = found.flatMap((each) => lineFor(each, entries) ?? []);
      const isCode = found.some(({ position }) => entries[position]?.about !== undefined);
      const inCode = isCode ? ', those with a signature only in code' : '';
      if (lines.length > 0) return [`You can call these tools from your next step on${inCode}:`, ...lines].join('\n');
      const groups = groupsOf(entries).join(', ');
      return `No tool fits. Try other words for the action and the thing.${groups && ` There are tools of ${groups}.`}`;
    },
  });
}

/** From this number of tools on, building the index takes noticeable time. */
const PREPARED_FROM = 1_000;
/** The request to the model goes out first. */
const PREPARE_AFTER_MS = 20;

/** Builds the index of a long list while the model writes its answer; that of a short list is built by the first search. */
export function prepareSearch(entries: readonly FoundEntry[]): void {
  if (entries.length < PREPARED_FROM) return;
  const prepare = () => void indexOf(entries).catch(() => {}); // a search reports the error
  setTimeout(prepare, PREPARE_AFTER_MS).unref();
}

/** The tools that fit a query best, for programs that show them in their own way. */
export async function searchTools<Entry extends ToolEntry>(
  entries: readonly Entry[],
  { query, limit }: { query: string; limit: number },
): Promise<Entry[]> {
  const found = (await indexOf(entries)).search(query, limit);
  return found.flatMap(({ position }) => entries.slice(position, position + 1));
}

function lineFor({ position, alternatives }: FoundTool, entries: readonly FoundEntry[]): string | undefined {
  const entry = entries[position];
  if (!entry) return undefined;
  const { name, capability, tool, source, about } = entry;
  const group = source.group?.(tool)?.name.slice(0, MAX_NAME);
  const text = (tool.description ?? tool.title ?? '').trim().slice(0, MAX_LINE);
  const sentence = /^[\s\S]*?[.!?。！？](?=\s|$)/u.exec(text)?.[0] ?? text;
  const others = alternatives.flatMap((other) => entries[other]?.name ?? []);
  const same = others.slice(0, MAX_ALTERNATIVES).join(', ');
  const line = foundLine(
    name,
    `(${group ? `${group}, ` : ''}${capability}): ${sentence}${same && ` The same: ${same}.`}`,
  );
  const how = about?.();
  return how === undefined ? line : `${line}\n  ${how.replaceAll('\n', '\n  ')}`;
}

interface Embedded extends Omit<ToolSearch, 'deferred'> {
  index: ToolIndex;
  query: string;
  signal: AbortSignal;
}

/** Undefined if only words decide, also because the embedding model failed. */
async function meaningsOf({ embed, logger, index, query, signal }: Embedded): Promise<Float64Array | undefined> {
  if (!embed) return undefined;
  const { similarities } = await import('./tool-meanings.ts');
  try {
    return await similarities({ embed, query, tools: index.tools, signal });
  } catch (error) {
    signal.throwIfAborted();
    warnOnce({ logger, about: embed, text: `find_tools ranks by words only: ${errorText(error)}` });
    return undefined;
  }
}

interface KnownIndex {
  entries: readonly ToolEntry[];
  index: Promise<ToolIndex>;
}

/** By the first tool: forks have the same tools, and runs with several profiles take turns. */
const known = new WeakMap<Tool, KnownIndex[]>();
const MAX_INDEXES = 4;

async function indexOf(entries: readonly ToolEntry[]): Promise<ToolIndex> {
  const { ToolIndex } = await import('./tool-index.ts');
  const [first] = entries;
  if (!first) return ToolIndex.of([]);
  const indexes = known.get(first.tool) ?? [];
  const found = indexes.find((each) => isSame(each.entries, entries));
  if (found) return found.index;
  const index = ToolIndex.of(
    entries.map(({ name, ownName = name, tool, source }) => ({ name: ownName, tool, group: source.group?.(tool) })),
  );
  known.set(first.tool, [{ entries, index }, ...indexes].slice(0, MAX_INDEXES));
  return index;
}

function isSame(one: readonly ToolEntry[], other: readonly ToolEntry[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ tool, name }, index) => tool === other[index]?.tool && name === other[index]?.name)
  );
}
