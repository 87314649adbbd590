// For clients with a small context: two tools in place of all. One finds tools, the other calls what was found, or runs code
// that calls tools as functions.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { isRecord } from '@pocket-agent/kit';
import type { ShownCaller } from 'pocket-agent';
import { FIND_TOOLS } from 'pocket-agent/internal';
import {
  errorResult,
  MAX_SEARCH_LIMIT,
  searchInput,
  searchTools,
  type ToolEntry,
  type ToolTable,
} from 'pocket-agent/internal/gate';
import type { GatewayRequest } from './request.ts';

export const CALL_TOOL = 'call_tool';

const DEFAULT_LIMIT = 5;
const MAX_QUERY = 1_000;
const MAX_DESCRIPTION = 1_000;
/** A longer schema is left out, to keep the context small. */
const MAX_SCHEMA = 10_000;

const findTools: Tool = {
  name: FIND_TOOLS,
  description: `Finds tools by what they do, with the schema of their arguments. Call them with ${CALL_TOOL}. Search before you say that something cannot be done.`,
  annotations: { readOnlyHint: true },
  inputSchema: searchInput(DEFAULT_LIMIT),
};

const callTool: Tool = {
  name: CALL_TOOL,
  description: `Calls a tool that ${FIND_TOOLS} has found.`,
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the tool' },
      arguments: { type: 'object', description: 'Its arguments, as its schema says' },
    },
    required: ['name'],
    additionalProperties: false,
  },
};

const findFunctions: Tool = {
  ...findTools,
  description:
    'Finds functions for code by what they do, with their types. Search before you say that something cannot be done.',
};

/** The two tools of a client that does not list all. */
export function toolsInPlace(expose: 'search' | 'code', visible: ToolTable): Tool[] {
  if (expose === 'search') return [findTools, callTool];
  const { entry, shown } = codeIn(visible);
  return entry && shown ? [findFunctions, { ...shown.tool, name: entry.name }] : [findFunctions];
}

/** The tool that runs code, as it is shown to a client for which these tools are its functions. */
function codeIn(visible: ToolTable): { entry?: ToolEntry | undefined; shown?: ShownCaller | undefined } {
  const entry = visible.entries.find(({ source }) => source.showCaller);
  const only = visible.entries
    .filter((each) => each !== entry)
    .map(({ source, ...judged }) => ({ ...judged, group: source.group?.(judged.tool) }));
  return { entry, shown: entry?.source.showCaller?.(entry.tool, { only, others: [] }) };
}

/** Finds tools that the caller may see. */
export async function findFor({ space, run }: GatewayRequest, args: Record<string, unknown>): Promise<CallToolResult> {
  const { query, limit = DEFAULT_LIMIT } = args;
  const isWhole = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= MAX_SEARCH_LIMIT;
  if (typeof query !== 'string' || query.trim() === '' || !isWhole)
    return errorResult(`${FIND_TOOLS} takes a query, and a limit from 1 to ${MAX_SEARCH_LIMIT}.`);
  const visible = (await space.tools(run, true)).visibleTo(run.policy);
  const { entry: code, shown } = space.expose === 'code' ? codeIn(visible) : {};
  const entries = visible.entries.filter((entry) => entry !== code);
  const found = await searchTools(entries, { query: query.slice(0, MAX_QUERY), limit });
  const lines = found.map((entry) => (code ? asFunction(entry, shown) : described(entry)));
  const text = lines.length > 0 ? lines.join('\n\n') : 'No tool fits. Try other words.';
  return { content: [{ type: 'text', text }] };
}

/** What a call of `call_tool` calls; undefined if it is malformed. */
export function calledBy(args: Record<string, unknown>): { name: string; args: Record<string, unknown> } | undefined {
  const { name, arguments: inner = {} } = args;
  return typeof name === 'string' && isRecord(inner) ? { name, args: inner } : undefined;
}

/** Short lists of types are in the description of the tool that runs code. */
function asFunction(entry: ToolEntry, shown: ShownCaller | undefined): string {
  const { name, capability, tool } = entry;
  const types = shown?.describe
    ? shown.describe(name)
    : shown && 'Its type is in the description of the tool for code.';
  return [`${name} (${capability}): ${aboutOf(tool)}`, types].filter(Boolean).join('\n');
}

function described({ name, capability, tool }: ToolEntry): string {
  return `${name} (${capability}): ${aboutOf(tool)}\narguments: ${schemaText(tool)}`;
}

/** Writing a huge schema takes long, so it is done once. */
const schemaTexts = new WeakMap<Tool, string>();

function schemaText(tool: Tool): string {
  const known = schemaTexts.get(tool);
  if (known !== undefined) return known;
  const schema = JSON.stringify(tool.inputSchema);
  const text = schema.length <= MAX_SCHEMA ? schema : 'an object; its schema is too long to be shown';
  schemaTexts.set(tool, text);
  return text;
}

function aboutOf({ description, title }: Tool): string {
  return (description ?? title ?? '').trim().slice(0, MAX_DESCRIPTION);
}
