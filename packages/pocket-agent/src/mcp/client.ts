// All MCP servers of one agent as one source of tools, with their resources and prompts.
import type {
  CallToolResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Tool,
} from '@modelcontextprotocol/client';
import {
  abortable,
  checkValue,
  describeAvailable,
  errorText,
  hasMethods,
  isRecord,
  isString,
  type Logger,
  neverAborted,
  nullable,
  nullableFunction,
  OptionSet,
  oneOf,
  PocketError,
  positiveNumber,
  stderrLogger,
  stringRule,
} from '@pocket-agent/kit';
import { expectedCapability, isCapability, type Judgement, judge } from '../access/access.ts';
import { packageVersion } from '../base/version.ts';
import type { ServerStatus } from '../run/events.ts';
import { currentRun } from '../run/run-context.ts';
import { NameRegistry, type RenamedTool } from '../tools/name-registry.ts';
import { inputFormatOf, type ListWait, type ToolCallContext, type ToolSource } from '../tools/tool-source.ts';
import type { McpConnection } from './connection.ts';
import { type McpConfig, type McpServerEntry, readMcpConfig } from './mcp-config.ts';
import { type ServerHandlers, type ServerLog, tell } from './server-requests.ts';

export interface PocketAgentClientOptions extends ServerHandlers {
  mcpConfig?: McpConfig;
  /** Query parameters for the URL of every HTTP server. */
  mcpServerQueryParams?: Record<string, string>;
  /** auto: bare names with one server, `server_tool` with several. */
  toolPrefix?: 'auto' | 'always' | 'never';
  /** For servers that do not set their own. */
  toolTimeoutMs?: number;
  maxToolTimeoutMs?: number;
  logger?: Logger;
  onServerStatus?: (server: string, status: ServerStatus, reason?: string) => void;
  onServerLog?: (log: ServerLog) => void;
  onToolRenamed?: (change: RenamedTool) => void;
  clientInfo?: { name: string; version: string };
}

/** Options that an agent passes on to its client. */
export const serverRules = {
  mcpConfig: true,
  mcpServerQueryParams: true,
  toolPrefix: oneOf('auto', 'always', 'never'),
  toolTimeoutMs: positiveNumber,
  maxToolTimeoutMs: positiveNumber,
  clientInfo: nullable(
    '{ name, version }',
    (value) => isRecord(value) && isString(value.name) && isString(value.version),
  ),
  logger: nullable('an object with debug, info, warn and error', (value) =>
    hasMethods(value, 'debug', 'info', 'warn', 'error'),
  ),
  elicitationHandler: nullableFunction,
  logHandler: nullableFunction,
  progressHandler: nullableFunction,
  messageHandler: nullableFunction,
  roots: nullable("a list such as [{ uri: 'file:///work' }], or a function that returns one", (value) =>
    Array.isArray(value) ? value.every((root) => isString(root?.uri)) : typeof value === 'function',
  ),
} as const;

const otherNames: Readonly<Record<string, string>> = {
  mcpServers: ' It belongs inside mcpConfig: mcpConfig: { mcpServers: { … } }.',
  servers: ' It belongs inside mcpConfig: mcpConfig: { servers: { … } }.',
  timeoutMs: ' Did you mean "toolTimeoutMs"?',
};

const clientOptions = new OptionSet<PocketAgentClientOptions>(
  'A PocketAgentClient',
  {
    ...serverRules,
    samplingHandler: nullableFunction,
    onServerStatus: nullableFunction,
    onServerLog: nullableFunction,
    onToolRenamed: nullableFunction,
  },
  (key) => otherNames[key],
);

type WithServer<Item> = Item & { server: string };

interface FoundTool {
  connection: McpConnection;
  tool: Tool;
}

/** About tools with unknown capabilities. */
const MOST_WARNINGS = 100;

export class PocketAgentClient implements ToolSource {
  readonly name = 'mcp';
  readonly #options: PocketAgentClientOptions;
  readonly #logger: Logger;
  readonly #entries: Map<string, McpServerEntry>;
  readonly #names = new NameRegistry<McpConnection>();
  #connections: Promise<McpConnection[]> | undefined;
  #open: McpConnection[] = [];
  /** Warnings about capabilities of tools that were logged already. */
  #warnedOf: Set<string> | undefined;
  #isClosed = false;

  constructor(options: PocketAgentClientOptions = {}) {
    clientOptions.check(options);
    this.#options = { ...options };
    this.#logger = options.logger ?? stderrLogger();
    this.#entries = readMcpConfig(options.mcpConfig);
  }

  get revision(): number {
    return this.#open.reduce((sum, connection) => sum + connection.revision, 0);
  }

  get serverNames(): string[] {
    return [...this.#entries.keys()];
  }

  /** The current status of every server that was used so far. */
  get status(): ReadonlyMap<string, { status: ServerStatus; reason?: string }> {
    return new Map(this.#open.flatMap(({ name, status }) => (status ? [[name, status]] : [])));
  }

  refresh(isRunStart = false): void {
    for (const connection of this.#open) connection.refresh(isRunStart);
  }

  /** The tools of all servers that are available, frozen. */
  async listTools(signal?: AbortSignal, wait: ListWait = 'all'): Promise<Tool[]> {
    const connections = await this.#servers();
    const lists = await Promise.all(connections.map((connection) => connection.listTools(signal, wait)));
    const tools = new Map<string, Tool>();
    for (const [index, connection] of connections.entries()) {
      this.#warnOfAbsent(connection.name, lists[index] ?? []);
      this.#warnOfUnknownCapabilities(connection.name, lists[index] ?? []);
      for (const tool of lists[index] ?? []) {
        const wanted = this.#prefixed() ? `${connection.name}_${tool.name}` : tool.name;
        const name = this.#names.nameFor({ owner: connection, tool: tool.name, wanted }, (change) =>
          tell(this.#logger, 'onToolRenamed', () => this.#options.onToolRenamed?.(change)),
        );
        // if a server lists a name twice, the first one counts
        if (!tools.has(name)) tools.set(name, name === tool.name ? tool : { ...tool, name });
      }
    }
    this.#names.listed(tools);
    return [...tools.values()];
  }

  async callTool(
    name: string,
    args: Record<string, unknown>,
    context: Partial<ToolCallContext> = {},
  ): Promise<CallToolResult> {
    const { connection, tool } = this.#find(name) ?? (await this.#seek(name, context.signal));
    return connection.callTool(tool, args, {
      toolCallId: context.toolCallId ?? tool.name,
      signal: context.signal ?? neverAborted,
      progress: context.progress ?? (() => {}),
      meta: context.meta ?? {},
    });
  }

  /** Whether a server is one of our agents whose approval questions go to our approver. */
  asksApproval(server: string): boolean {
    return this.#entries.get(server)?.approvals === true;
  }

  /** Whether calls to a server are under way for runs that answer its questions themselves. */
  isCalledForOthers(server: string): boolean {
    return this.#open.some(({ name, isCalledForOthers }) => name === server && isCalledForOthers);
  }

  judge(tool: Tool): Judgement {
    const named = this.#names.find(tool.name);
    if (!named) return { capability: 'delete', from: 'nothing' };
    const entry = this.#entries.get(named.owner.name);
    if (named.tool === tool.name) return judge(tool, entry);
    return { ...judge({ ...tool, name: named.tool }, entry), ownName: named.tool };
  }

  /** The JSON Schema of a tool's arguments; as a string, `${format}`, it is JSON. */
  async getToolInputFormat(name: string): Promise<Tool['inputSchema']> {
    return inputFormatOf((this.#find(name) ?? (await this.#seek(name))).tool);
  }

  // the SDK prints to stdout when it lists something that the server does not support

  async listResources(server?: string): Promise<WithServer<Resource>[]> {
    return this.#fromAll(server, 'resources', (connection) =>
      connection.request(async (client) => {
        return client.getServerCapabilities()?.resources ? (await client.listResources()).resources : [];
      }),
    );
  }

  async listResourceTemplates(server?: string): Promise<WithServer<ResourceTemplateType>[]> {
    return this.#fromAll(server, 'resource templates', (connection) =>
      connection.request(async (client) => {
        return client.getServerCapabilities()?.resources
          ? (await client.listResourceTemplates()).resourceTemplates
          : [];
      }),
    );
  }

  async readResource(server: string, uri: string): Promise<ReadResourceResult> {
    return (await this.#server(server)).request((client) => client.readResource({ uri }));
  }

  async listPrompts(server?: string): Promise<WithServer<Prompt>[]> {
    return this.#fromAll(server, 'prompts', (connection) =>
      connection.request(async (client) => {
        return client.getServerCapabilities()?.prompts ? (await client.listPrompts()).prompts : [];
      }),
    );
  }

  async getPrompt(server: string, name: string, args: Record<string, string> = {}): Promise<GetPromptResult> {
    return (await this.#server(server)).request((client) => client.getPrompt({ name, arguments: args }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connections = (await this.#connections?.catch(() => undefined)) ?? [];
    await Promise.all(connections.map((connection) => connection.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Undefined if its server is away or does not list it. */
  #find(name: string): FoundTool | undefined {
    const named = this.#names.find(name);
    if (!named || named.owner.isAway) return undefined;
    const tool = named.owner.toolNamed(named.tool);
    return tool && { connection: named.owner, tool };
  }

  /** Looks for a tool that is not known yet, also on servers that were away. */
  async #seek(name: string, signal?: AbortSignal): Promise<FoundTool> {
    checkValue('The first argument of callTool', name, {
      ...stringRule,
      expected: "the name of a tool: callTool('add', { a: 1 })",
    });
    let tools = await this.listTools(signal);
    let found = this.#find(name);
    if (!found) {
      const retried = Promise.all(this.#open.map((connection) => connection.retry()));
      await (signal ? abortable(retried, signal) : retried);
      tools = await this.listTools(signal);
      found = this.#find(name);
    }
    if (!found) throw this.#unknown(name, tools);
    return found;
  }

  #unknown(name: string, tools: readonly Tool[]): PocketError {
    const away = [...this.status].filter(([, { reason }]) => reason !== undefined);
    const reasons = away.map(([server, { reason }]) => ` MCP server "${server}" is away: ${reason}`).join('');
    const names = tools.map((tool) => tool.name);
    // the model must not read the names of tools that its agent may not see
    const instead = currentRun() ? '' : ` ${describeAvailable(name, names)}`;
    return new PocketError('TOOL_UNKNOWN', `No MCP server has a tool "${name}".${instead}${reasons}`);
  }

  /** Warns of capabilities in the meta of tools that we do not know. */
  #warnOfUnknownCapabilities(server: string, tools: readonly Tool[]): void {
    for (const { name, _meta: meta } of tools) {
      if (this.#warnedOf && this.#warnedOf.size >= MOST_WARNINGS) return;
      const claimed = meta?.capability;
      const key = `${server} ${name} ${claimed}`;
      if (typeof claimed !== 'string' || isCapability(claimed) || this.#warnedOf?.has(key)) continue;
      this.#warnedOf = (this.#warnedOf ?? new Set()).add(key);
      this.#logger.warn(
        `MCP server "${server}": the capability "${claimed.slice(0, 100)}" of its tool "${name}" is not ${expectedCapability(claimed)}, so the tool counts as delete.`,
      );
    }
  }

  /** Warns of configured tools that the server does not list: the intended tool has the capability its server claims. */
  #warnOfAbsent(server: string, tools: readonly Tool[]): void {
    const { capabilities } = this.#entries.get(server) ?? {};
    if (!capabilities || tools.length === 0) return; // a server that is away lists nothing
    const names = tools.map((tool) => tool.name);
    for (const named of Object.keys(capabilities)) {
      if (names.includes(named) || this.#warnedOf?.has(`${server} ${named}`)) continue;
      this.#warnedOf = (this.#warnedOf ?? new Set()).add(`${server} ${named}`);
      this.#logger.warn(
        `mcpServers.${server}.capabilities names a tool "${named}", which the server does not list. ${describeAvailable(named, names)}`,
      );
    }
  }

  #prefixed(): boolean {
    const { toolPrefix = 'auto' } = this.#options;
    return toolPrefix === 'always' || (toolPrefix === 'auto' && this.#entries.size > 1);
  }

  /** Loads the MCP SDK when a server is first used, because that takes long. */
  #servers(): Promise<McpConnection[]> {
    if (this.#isClosed) return Promise.reject(new PocketError('AGENT_CLOSED', 'This client was closed.'));
    this.#connections ??= this.#entries.size === 0 ? Promise.resolve([]) : this.#makeConnections();
    return this.#connections;
  }

  async #makeConnections(): Promise<McpConnection[]> {
    const { McpConnection } = await import('./connection.ts');
    const { toolTimeoutMs, maxToolTimeoutMs } = this.#options;
    this.#open = [...this.#entries].map(
      ([name, entry]) =>
        new McpConnection({
          name,
          entry: {
            ...(toolTimeoutMs === undefined ? {} : { timeoutMs: toolTimeoutMs }),
            ...(maxToolTimeoutMs === undefined ? {} : { maxTimeoutMs: maxToolTimeoutMs }),
            ...entry,
          },
          handlers: this.#options,
          onLog: (log) => this.#log(log),
          logger: this.#logger,
          clientInfo: this.#options.clientInfo ?? { name: 'pocket-agent', version: packageVersion() },
          queryParams: this.#options.mcpServerQueryParams,
          onStatus: (status, reason) =>
            tell(this.#logger, 'onServerStatus', () => this.#options.onServerStatus?.(name, status, reason)),
        }),
    );
    return this.#open;
  }

  #log(log: ServerLog): void {
    const { onServerLog, logHandler } = this.#options;
    tell(this.#logger, 'onServerLog', () => onServerLog?.(log));
    if (logHandler) {
      tell(this.#logger, 'logHandler', () => logHandler(log));
      return;
    }
    const text = typeof log.data === 'string' ? log.data : JSON.stringify(log.data);
    this.#logger[logLevels.get(log.level) ?? 'info'](`[${log.server}] ${text}`);
  }

  async #server(name: string): Promise<McpConnection> {
    const found = (await this.#servers()).find((connection) => connection.name === name);
    if (!found) {
      throw new PocketError(
        'CONFIG_INVALID',
        `There is no MCP server "${name}". Available: ${this.serverNames.join(', ') || 'none'}.`,
      );
    }
    return found;
  }

  /** Reads from one server, or from all that are available. */
  async #fromAll<Item>(
    server: string | undefined,
    what: string,
    read: (connection: McpConnection) => Promise<Item[]>,
  ): Promise<WithServer<Item>[]> {
    const label = (connection: McpConnection) => (items: Item[]) =>
      items.map((item) => ({ ...item, server: connection.name }));
    if (server !== undefined) {
      const connection = await this.#server(server);
      return label(connection)(await read(connection));
    }
    const lists = await Promise.all(
      (await this.#servers()).map((connection) =>
        read(connection)
          .then(label(connection))
          .catch((error) => {
            if (isMethodNotFound(error)) return []; // some servers declare capabilities that they lack
            this.#logger.warn(`MCP server "${connection.name}" did not list its ${what}: ${errorText(error)}`);
            return [];
          }),
      ),
    );
    return lists.flat();
  }
}

function isMethodNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === METHOD_NOT_FOUND;
}

const METHOD_NOT_FOUND = -32_601;

const logLevels = new Map<string, keyof Logger>([
  ['debug', 'debug'],
  ['info', 'info'],
  ['notice', 'info'],
  ['warning', 'warn'],
  ['error', 'error'],
  ['critical', 'error'],
  ['alert', 'error'],
  ['emergency', 'error'],
]);
