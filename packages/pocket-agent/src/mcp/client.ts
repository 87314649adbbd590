// All MCP servers of one agent as one source of tools, with their resources and prompts.
import type {
  CallToolResult,
  Client,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Tool,
} from '@modelcontextprotocol/client';
import {
  abortable,
  callListener,
  checkValue,
  configError,
  describeAvailable,
  errorText,
  isPocketError,
  type Logger,
  neverAborted,
  PocketError,
  snapshot,
  stderrLogger,
  stringRule,
  VERSION,
  withoutUndefined,
} from '@pocket-agent/kit';
import { type Judgement, judge as judgeTool } from '../access/capabilities.ts';
import { warnOfCapabilities } from '../access/capability-warnings.ts';
import { type Exposure, exposureIn } from '../access/exposure.ts';
import type { ServerStatus } from '../run/events.ts';
import { currentRun } from '../run/run-context.ts';
import { NameRegistry, type RenamedTool } from '../tools/name-registry.ts';
import {
  inputFormatOf,
  type ListWait,
  type ToolCallContext,
  type ToolGroup,
  type ToolSource,
} from '../tools/tool-source.ts';
import { type CallerContext, Logins } from './callers/caller.ts';
import { revisionOf, ServerConnections } from './callers/server-connections.ts';
import { clientOptions, type PocketAgentClientOptions } from './client-options.ts';
import type { McpConnection } from './connection.ts';
import { entryFor, isPersonal, type McpServerEntry, readMcpConfig } from './mcp-config.ts';
import { handlersFor, logTo, type ServerLog } from './server-requests.ts';
import type { SendRequest } from './session.ts';

const METHOD_NOT_FOUND = -32_601;

type WithServer<Item> = Item & { server: string };

const DEFAULT_MAX_CALLERS = 100;
const DEFAULT_IDLE_MS = 600_000;

type Server = ServerConnections<McpConnection>;

interface FoundTool {
  server: Server;
  tool: Tool;
}

export class PocketAgentClient implements ToolSource {
  readonly name = 'mcp';
  readonly #options: PocketAgentClientOptions;
  readonly #logger: Logger;
  readonly #entries: Map<string, McpServerEntry>;
  readonly #names = new NameRegistry<Server>();
  /** Copies of tools under the names that they have here. */
  readonly #renamed = new WeakMap<Tool, Tool>();
  #loading: Promise<Server[]> | undefined;
  /** Empty until they are loaded. */
  #servers: Server[] = [];
  /** Whether callers have their own connections to a server. */
  #isPersonal = false;
  #isClosed = false;

  constructor(options: PocketAgentClientOptions = {}) {
    clientOptions.check(options);
    this.#options = { ...options };
    this.#logger = options.logger ?? stderrLogger();
    this.#entries = readMcpConfig(options.mcpConfig);
  }

  get revision(): number {
    if (this.#isPersonal) return revisionOf(this.#servers.map(({ stamp }) => stamp));
    return this.#servers.reduce((sum, { known }) => sum + (known?.tools.revision ?? 0), 0);
  }

  get serverNames(): string[] {
    return [...this.#entries.keys()];
  }

  /** The status of every server that was used: for the current caller, or for the caller that used it last. */
  get status(): ReadonlyMap<string, { status: ServerStatus; reason?: string }> {
    return new Map(this.#servers.flatMap(({ name, latest }) => (latest?.status ? [[name, latest.status]] : [])));
  }

  refresh(isRunStart = false): void {
    for (const { known } of this.#servers) known?.refresh(isRunStart);
  }

  /** The tools of all servers that are available, frozen. */
  async listTools(signal: AbortSignal = neverAborted(), wait: ListWait = 'all'): Promise<Tool[]> {
    const servers = await this.#load();
    const lists = await Promise.all(
      servers.map(async (server) => ({ server, list: await this.#listOf(server, signal, wait) })),
    );
    const { toolPrefix = 'auto' } = this.#options;
    const hasPrefix = toolPrefix === 'always' || (toolPrefix === 'auto' && this.#entries.size > 1);
    const onRenamed = (change: RenamedTool) =>
      callListener(this.#logger, 'onToolRenamed', () => this.#options.onToolRenamed?.(change));
    const tools = new Map<string, Tool>();
    for (const { server, list } of lists) {
      const { capabilities } = this.#entries.get(server.name) ?? {};
      warnOfCapabilities({ server: server.name, tools: list, capabilities, logger: this.#logger, about: server });
      for (const tool of list) {
        const wanted = hasPrefix ? `${server.name}_${tool.name}` : tool.name;
        const name = this.#names.nameFor({ owner: server, tool: tool.name, wanted }, onRenamed);
        // if a server lists a name twice, the first one counts
        if (!tools.has(name)) tools.set(name, this.#withName(tool, name));
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
    const { server, tool } = await this.#tool(name, 'callTool', context.signal);
    const { toolCallId = crypto.randomUUID(), signal = neverAborted(), progress = () => {}, meta = {} } = context;
    const { connection, release } = server.hold();
    try {
      return await connection.callTool(tool, args, { toolCallId, signal, progress, meta });
    } finally {
      release();
    }
  }

  /** Whether a server is one of our agents whose approval questions go to our approver. */
  asksApproval(server: string): boolean {
    return this.#entries.get(server)?.approvals === true;
  }

  /** Whether a server is called by runs with an `elicit` of their own. */
  isCalledWithElicit(server: string): boolean {
    return this.#servers.some(
      ({ name, all }) => name === server && all.some(({ pending }) => pending.someRunHasElicit),
    );
  }

  judge(tool: Tool): Judgement {
    const named = this.#names.find(tool.name);
    if (!named) return { capability: 'delete', from: 'nothing' };
    const entry = this.#entries.get(named.owner.name);
    const asks = entry?.approvals ? ({ asksItself: true } as const) : {};
    if (named.tool === tool.name) return { ...judgeTool(tool, entry), ...asks };
    return { ...judgeTool({ ...tool, name: named.tool }, entry), ownName: named.tool, ...asks };
  }

  exposure(tool: Tool): Exposure | undefined {
    const named = this.#names.find(tool.name);
    if (!named) return undefined;
    const given = exposureIn(this.#entries.get(named.owner.name)?.exposure, [named.tool, tool.name]);
    // a server may keep its tools out of prompts, but not force them into prompts
    return given ?? (tool._meta?.exposure === 'deferred' ? 'deferred' : undefined);
  }

  group(tool: Tool): ToolGroup | undefined {
    const owner = this.#names.find(tool.name)?.owner;
    return owner && { name: owner.name, description: owner.known?.description };
  }

  /** The JSON Schema of a tool's arguments. Its `toString()` returns it as JSON. */
  async getToolInputFormat(name: string): Promise<Tool['inputSchema']> {
    return inputFormatOf((await this.#tool(name, 'getToolInputFormat')).tool);
  }

  async listResources(server?: string): Promise<WithServer<Resource>[]> {
    return this.#listFrom(server, 'resources', async (client) => (await client.listResources()).resources);
  }

  async listResourceTemplates(server?: string): Promise<WithServer<ResourceTemplateType>[]> {
    const list = async (client: Client) => (await client.listResourceTemplates()).resourceTemplates;
    return this.#listFrom(server, 'resource templates', list);
  }

  async readResource(server: string, uri: string): Promise<ReadResourceResult> {
    return this.#request(await this.#server(server), (client) => client.readResource({ uri }));
  }

  async listPrompts(server?: string): Promise<WithServer<Prompt>[]> {
    return this.#listFrom(server, 'prompts', async (client) => (await client.listPrompts()).prompts);
  }

  async getPrompt(server: string, name: string, args: Record<string, string> = {}): Promise<GetPromptResult> {
    return this.#request(await this.#server(server), (client) => client.getPrompt({ name, arguments: args }));
  }

  /** Sends any other request. It may be repeated if the connection is lost, so it must only read. */
  async request<Result>(server: string, send: SendRequest<Result>): Promise<Result> {
    return this.#request(await this.#server(server), send);
  }

  /** Closes the connection of the current caller to a server with `perCaller`. The next use makes a new one. */
  async disconnect(server: string): Promise<void> {
    await (await this.#server(server)).closeOwn();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const servers = (await this.#loading?.catch(() => undefined)) ?? [];
    await Promise.all(servers.map((server) => server.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The same object at every listing, because caches have the tool as their key. */
  #withName(tool: Tool, name: string): Tool {
    if (name === tool.name) return tool;
    const known = this.#renamed.get(tool);
    if (known?.name === name) return known;
    const renamed = snapshot({ ...tool, name });
    this.#renamed.set(tool, renamed);
    return renamed;
  }

  /** Undefined if its server is unavailable or does not list it. */
  #known(name: string): FoundTool | undefined {
    const named = this.#names.find(name);
    const connection = named?.owner.known;
    if (!named || !connection || connection.isUnavailable) return undefined;
    const tool = connection.tools.find(named.tool);
    return tool && { server: named.owner, tool };
  }

  /** The tool that `method` was called with. If it is unknown, unavailable servers are tried again. */
  async #tool(name: string, method: string, signal: AbortSignal = neverAborted()): Promise<FoundTool> {
    const known = this.#known(name);
    if (known) return known;
    const expected = `the name of a tool, such as ${method}('add')`;
    checkValue(`The first argument of ${method}`, name, { ...stringRule, expected });
    await this.listTools(signal);
    const listed = this.#known(name);
    if (listed) return listed;
    await abortable(Promise.all(this.#servers.map((server) => server.known?.retry())), signal);
    const tools = await this.listTools(signal);
    const found = this.#known(name);
    if (!found) throw this.#unknown(name, tools);
    return found;
  }

  #unknown(name: string, tools: readonly Tool[]): PocketError {
    const reasons = [...this.status].map(([server, { reason }]) =>
      reason === undefined ? '' : ` MCP server "${server}" is unavailable: ${reason}`,
    );
    const names = tools.map((tool) => tool.name);
    // the model must not read the names of tools that its agent may not see
    const instead = currentRun() ? '' : ` ${describeAvailable(name, names)}`;
    return new PocketError('TOOL_UNKNOWN', `No MCP server has a tool "${name}".${instead}${reasons.join('')}`);
  }

  /** Loads the MCP SDK when a server is first used, because loading takes long. */
  #load(): Promise<Server[]> {
    if (this.#isClosed) return Promise.reject(new PocketError('AGENT_CLOSED', 'This client was closed.'));
    this.#loading ??= this.#entries.size === 0 ? Promise.resolve([]) : this.#makeServers();
    return this.#loading;
  }

  async #makeServers(): Promise<Server[]> {
    const [{ McpConnection }, { CallerHeaders }] = await Promise.all([
      import('./connection.ts'),
      import('./callers/caller-headers.ts'),
    ]);
    const { toolTimeoutMs, maxToolTimeoutMs, clientInfo, mcpServerQueryParams, onServerStatus } = this.#options;
    const timeouts = withoutUndefined({ timeoutMs: toolTimeoutMs, maxTimeoutMs: maxToolTimeoutMs });
    const common = {
      logger: this.#logger,
      clientInfo: clientInfo ?? { name: 'pocket-agent', version: VERSION },
      queryParams: mcpServerQueryParams,
      onLog: (log: ServerLog) => this.#log(log),
    };
    this.#servers = [...this.#entries].map(([name, entry]) => {
      const { maxCallers = DEFAULT_MAX_CALLERS, idleMs = DEFAULT_IDLE_MS } = entry;
      const logins = new Logins(name);
      const handlers = handlersFor(this.#options, this.asksApproval(name));
      const make = (owner: CallerContext) => {
        const headers = 'url' in entry ? entry.headers : undefined;
        const callerHeaders = typeof headers === 'function' ? new CallerHeaders(name, headers, owner) : undefined;
        const own = { ...timeouts, ...logins.resolve(entryFor(name, entry, owner), owner) };
        const caller = isPersonal(entry) ? owner.caller : undefined;
        const onStatus = (status: ServerStatus, reason?: string, error?: unknown) => {
          const from = { caller, needsLogin: isPocketError(error, 'MCP_AUTHORIZATION_NEEDED') };
          callListener(this.#logger, 'onServerStatus', () => onServerStatus?.(name, status, reason, from));
        };
        return new McpConnection({ ...common, handlers, name, entry: own, caller, callerHeaders, onStatus });
      };
      const logger = this.#logger;
      return new ServerConnections({ name, isPersonal: isPersonal(entry), make, maxCallers, idleMs, logger });
    });
    this.#isPersonal = this.#servers.some((server) => server.isPersonal);
    return this.#servers;
  }

  /** Without tools if the current caller cannot have a connection. */
  async #listOf(server: Server, signal: AbortSignal, wait: ListWait): Promise<readonly Tool[]> {
    try {
      return await server.use((connection) => connection.listTools(signal, wait));
    } catch (error) {
      signal.throwIfAborted();
      if (!server.isPersonal || this.#isClosed || server.known) throw error;
      this.#logger.warn(`MCP server "${server.name}" is not available: ${errorText(error)}`);
      return [];
    }
  }

  #request<Result>(server: Server, send: SendRequest<Result>): Promise<Result> {
    return server.use((connection) => connection.request(send));
  }

  #log(log: ServerLog): void {
    const { onServerLog, logHandler = (entry) => logTo(this.#logger, entry) } = this.#options;
    callListener(this.#logger, 'onServerLog', () => onServerLog?.(log));
    callListener(this.#logger, 'logHandler', () => logHandler(log));
  }

  async #server(name: string): Promise<Server> {
    const found = (await this.#load()).find((server) => server.name === name);
    if (found) return found;
    throw configError(`There is no MCP server "${name}". ${describeAvailable(name, this.serverNames)}`);
  }

  /** Lists from one server, or from all that are available. */
  async #listFrom<Item>(
    server: string | undefined,
    what: 'resources' | 'resource templates' | 'prompts',
    list: (client: Client) => Promise<Item[]>,
  ): Promise<WithServer<Item>[]> {
    const capability = what === 'prompts' ? 'prompts' : 'resources';
    const listOne = async (from: Server) => {
      // the SDK would print to stdout when it lists something that the server does not support
      const items = await this.#request(from, async (client) =>
        client.getServerCapabilities()?.[capability] ? list(client) : [],
      );
      return items.map((item) => ({ ...item, server: from.name }));
    };
    if (server !== undefined) return listOne(await this.#server(server));
    const lists = (await this.#load()).map((from) =>
      listOne(from).catch((error) => {
        // some servers declare capabilities that they lack
        if (error?.code !== METHOD_NOT_FOUND)
          this.#logger.warn(`MCP server "${from.name}" did not list its ${what}: ${errorText(error)}`);
        return [];
      }),
    );
    return (await Promise.all(lists)).flat();
  }
}
