// The command `pocket-agent call`: calls one tool, with the same access rules as in a run.
import type { CallToolResult, ContentBlock, Tool } from '@modelcontextprotocol/client';
import {
  didYouMean,
  isRecord,
  jsonFault,
  type Logger,
  PocketError,
  printable,
  printableJson,
  printableText,
} from '@pocket-agent/kit';
import { type Approve, PocketAgent, PocketAgentClient, type PocketAgentOptions, type ToolSource } from 'pocket-agent';
import { NO_APPROVER, returnedIn } from 'pocket-agent/internal';
import { type ScriptedCall, ScriptedModel } from 'pocket-agent/testing';
import { readArguments } from '../command-line/arguments.ts';
import { exitCodes } from '../command-line/exit-codes.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { type Approver, askedBy, makeApprover } from '../questions/approver.ts';
import { type AgentRequest, accessFlags, readAgentRequest, sourceFlags } from '../setup/agent-request.ts';
import { builtinServer } from '../setup/servers.ts';
import { closeFolders, loadSources } from '../setup/tool-sources.ts';
import { reportSlowServer, whileConnecting } from '../terminal/activity.ts';
import { ProgressBars } from '../terminal/progress-bars.ts';
import { Screen } from '../terminal/screen.ts';
import { screenLogger } from '../terminal/screen-logger.ts';

const callOptions = {
  ...sourceFlags,
  ...accessFlags,
  yes: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

/** Denies calls that need approval, with advice for the command line. */
const denyAll: Approve = () => ({ deny: `${NO_APPROVER}; --yes allows it`, by: 'no-approver' });

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, callOptions);
  const [server, toolName, ...words] = positionals;
  if (server === undefined || toolName === undefined) {
    throw new PocketError('CONFIG_INVALID', 'Name a server and a tool: pocket-agent call SERVER TOOL [ARGS]');
  }
  const { signal } = interrupts.listen();
  const request = await readAgentRequest(values);
  const screen = new Screen(process.stdout, process.stderr);
  const approver = makeApprover({ screen, interrupts, yes: values.yes });
  const tell = (line: string) => screen.line(printable(line));
  const logger = screenLogger(tell);
  const source = await findSource(server, { request, approver, signal, logger, tell });
  try {
    const states = () => (source instanceof PocketAgentClient ? source.status : new Map());
    const tools = await whileConnecting(screen, states, Promise.resolve(source.listTools(signal)));
    assertConnected(source);
    const tool = tools.find((each) => ownName(source, each) === toolName);
    if (!tool) {
      const known = tools.map((each) => ownName(source, each));
      throw unknownName({ what: 'tool', name: toolName, known });
    }
    const bars = new ProgressBars();
    const args = readToolArguments(words, tool);
    refuseMisspelt(toolName, args, tool);
    const called = { name: tool.name, arguments: args };
    const result = await callOnce(called, signal, {
      tools: [source],
      access: request.access,
      approve: approver.approve ?? denyAll,
      hooks: {
        onEvent(event) {
          if (event.type !== 'tool_progress') return;
          bars.update(event.data);
          screen.status(bars.lines());
        },
      },
      logger,
    });
    screen.status([]);
    show(result, values.json, screen);
    return result.isError ? exitCodes.failed : exitCodes.answered;
  } finally {
    screen.close();
    await source.close?.();
  }
}

/** Runs an agent whose model requests exactly this call, so that access rules, approval and audit apply as in a run. */
async function callOnce(
  call: ScriptedCall,
  signal: AbortSignal,
  options: Omit<PocketAgentOptions, 'agentConfig'>,
): Promise<CallToolResult> {
  const llmModel = new ScriptedModel([{ toolCalls: [call] }]);
  await using agent = new PocketAgent({ ...options, agentConfig: { name: 'pocket-agent', llmModel } });
  const { toolExecutionResults } = await agent.step({ signal });
  const [result] = toolExecutionResults ?? [];
  const returned = result && returnedIn(result);
  if (returned) return returned;
  throw result?.extra.error ?? new PocketError('TOOL_FAILED', `Tool "${call.name}" returned no result.`);
}

/** The name of a tool at its server, without a prefix. */
function ownName(source: ToolSource, tool: Tool): string {
  return source.judge?.(tool).ownName ?? tool.name;
}

/** A lost server lists no tools; report the connection error instead of an unknown tool. */
function assertConnected(source: ToolSource): void {
  if (!(source instanceof PocketAgentClient)) return;
  for (const [name, { status, reason }] of source.status) {
    if (status !== 'connected') throw new PocketError('MCP_CONNECT_FAILED', reason ?? `${name} is ${status}.`);
  }
}

interface Search {
  request: AgentRequest;
  approver: Approver;
  signal: AbortSignal;
  logger: Logger;
  tell(line: string): void;
}

/** Connects one server only. Its tools have the same names as in a run. */
async function findSource(name: string, { request, approver, signal, logger, tell }: Search): Promise<ToolSource> {
  const servers = askedBy(new Map([['builtin', builtinServer()], ...request.servers]), approver);
  const entry = servers.get(name);
  const elicit = approver.elicit ? { elicitationHandler: approver.elicit } : {};
  const toolPrefix = request.servers.size > 1 ? 'always' : 'never';
  if (entry) {
    const mcpConfig = { mcpServers: { [name]: entry } };
    const onServerStatus = reportSlowServer(tell);
    return new PocketAgentClient({ mcpConfig, toolPrefix, ...elicit, logger, onServerStatus });
  }
  const { folders, skills, problems, warnings } = await loadSources(request, { logger, signal });
  for (const line of [...problems, ...warnings]) tell(line);
  if (skills && name === skills.name) {
    await closeFolders(folders);
    return skills;
  }
  const names = folders.map((folder) => folder.folders.map((state) => state.name));
  const found = folders.find((_folder, index) => names[index]?.includes(name));
  await Promise.all(folders.filter((folder) => folder !== found).map((folder) => folder.close()));
  if (!found) {
    const hint = folders.length === 0 ? ' For a tool folder, add --tools DIR.' : '';
    const known = [...servers.keys(), ...names.flat()];
    throw unknownName({ what: 'server or tool folder', name, known, hint });
  }
  await found.activate([name]);
  return found;
}

interface UnknownName {
  what: string;
  name: string;
  known: readonly string[];
  hint?: string;
}

function unknownName({ what, name, known, hint = '' }: UnknownName): PocketError {
  return new PocketError(
    'CONFIG_INVALID',
    `There is no ${what} "${name}".${didYouMean(name, known)} Available: ${known.join(', ') || 'none'}.${hint}`,
  );
}

/** Reads a JSON object, or `key=value` pairs with values converted by the tool's schema. */
export function readToolArguments(words: readonly string[], tool: Pick<Tool, 'inputSchema'>): Record<string, unknown> {
  const [first = ''] = words;
  if (first.trimStart().startsWith('{')) {
    if (words.length > 1) throw wrongArguments('put the JSON object in quotes, as one argument');
    return parseObject(first);
  }
  return Object.fromEntries(
    words.map((word) => {
      const equals = word.indexOf('=');
      if (equals < 1) throw wrongArguments(`"${word}" is neither a JSON object nor key=value`);
      const key = word.slice(0, equals);
      return [key, readValue(word.slice(equals + 1), tool.inputSchema.properties?.[key])];
    }),
  );
}

/** Servers often ignore unknown arguments, so a misspelt one is named here. */
function refuseMisspelt(name: string, args: Record<string, unknown>, { inputSchema }: Tool): void {
  const known = Object.keys(inputSchema.properties ?? {});
  const missing = known.filter((key) => !Object.hasOwn(args, key));
  for (const key of Object.keys(args)) {
    const suggestion = known.includes(key) ? '' : didYouMean(key, missing);
    if (suggestion) throw wrongArguments(`tool "${name}" has no argument "${key}".${suggestion}`);
  }
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const fault = jsonFault(text);
    throw wrongArguments(`line ${fault?.line}, column ${fault?.column}: ${fault?.problem}`);
  }
  if (isRecord(value)) return value;
  throw wrongArguments('they must be a JSON object');
}

function wrongArguments(reason: string): PocketError {
  return new PocketError('CONFIG_INVALID', `Invalid arguments: ${reason}${/[.?]$/.test(reason) ? '' : '.'}`);
}

function readValue(text: string, schema: unknown): unknown {
  if (isRecord(schema) && schema.type === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function show(result: CallToolResult, isJson: boolean, screen: Screen): void {
  if (isJson) {
    screen.answer(`${printableJson(result)}\n`);
    return;
  }
  const blocks = (result.content ?? []).map(describe);
  if (result.structuredContent !== undefined && blocks.length === 0)
    blocks.push(printableJson(result.structuredContent));
  const text = blocks.join('\n') || '(the tool returned no content)';
  if (result.isError) screen.line(printableText(text));
  else screen.answer(`${process.stdout.isTTY ? printableText(text) : text}\n`);
}

function describe(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.mimeType}, ${Buffer.from(block.data, 'base64').length} bytes]`;
    case 'resource_link':
      return `[${block.name}: ${block.uri}]`;
    case 'resource':
      return 'text' in block.resource ? block.resource.text : `[${block.resource.uri}]`;
  }
}
