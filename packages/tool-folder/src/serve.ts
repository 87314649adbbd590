// Serves tool folders over MCP, on stdio or HTTP, in both protocol eras. Loads the MCP SDK.
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { ownMeta, serveStdio } from '@pocket-agent/http/mcp';
import {
  errorText,
  inServedCallSpan,
  isPocketError,
  isPublicError,
  type Logger,
  publicErrorText,
  VERSION,
} from '@pocket-agent/kit';
import type {
  HttpServer,
  HttpServerOptions,
  JudgedTool,
  Judgement,
  Profile,
  SourceResources,
  ToolChoices,
} from 'pocket-agent';
import { allowedTool, judgedCall, refusalBy } from 'pocket-agent/internal';
import { type ResourceService, serveHttp, serveResources } from 'pocket-agent/internal/serve';
import type { FolderCallContext } from './running/running-folder.ts';

/** The part of a ToolFolder that is served. */
export interface ServedTools {
  readonly name: string;
  readonly logger: Logger;
  load(): Promise<unknown>;
  listTools(signal?: AbortSignal): Promise<readonly Tool[]>;
  callTool(name: string, args: Record<string, unknown>, context: FolderCallContext): Promise<CallToolResult>;
  judge(tool: Tool): Judgement;
  choices(tool: Tool): ToolChoices | undefined;
  readonly resources: SourceResources;
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

interface FolderServiceOptions {
  profile: Profile | undefined;
  serverInfo?: { name: string; version: string } | undefined;
}

export class FolderService {
  readonly #tools: ServedTools;
  readonly #options: FolderServiceOptions;

  constructor(tools: ServedTools, options: FolderServiceOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  /** Creates an MCP SDK server for one connection or one request. */
  createServer(): Server {
    const { serverInfo = { name: this.#tools.name, version: VERSION } } = this.#options;
    const lists = { tools: { listChanged: true }, resources: { listChanged: true } };
    const server = new Server(serverInfo, { capabilities: { ...lists, logging: {} } });
    serveResources(server, this.#resources, (served) => served);
    server.setRequestHandler('tools/list', async (_request, context) => ({ tools: await this.#offered(context) }));
    server.setRequestHandler('tools/call', ({ params }, context) => {
      const call = () => this.#call(params.name, params.arguments ?? {}, context);
      return inServedCallSpan({ tool: params.name, context }, call);
    });
    return server;
  }

  async serveStdio(): Promise<void> {
    await this.#tools.load();
    const stops: (() => void)[] = [];
    const create = () => {
      const server = this.createServer();
      const notify = async () => {
        await server.sendToolListChanged();
        await server.sendResourceListChanged();
      };
      stops.push(this.#tools.onChange(() => void notify().catch((error) => this.#logError(error))));
      return server;
    };
    await serveStdio(create, {
      onError: (error) => this.#logError(error),
      close: () => {
        for (const stop of stops) stop();
        return this.#tools.close();
      },
    });
  }

  async listen(options: HttpServerOptions = {}): Promise<HttpServer> {
    await this.#tools.load();
    const { host = '127.0.0.1', token, tokens } = options;
    if (token === undefined && tokens === undefined && !/^(127\.|::1$|localhost$)/.test(host)) {
      this.#tools.logger.warn(
        `${this.#tools.name} listens on ${host} without a token: anyone who can reach it can use its tools. Set token or tokens.`,
      );
    }
    const server = await serveHttp(() => this.createServer(), {
      onError: (error) => this.#logError(error),
      ...options,
    });
    const stop = this.#tools.onChange(() => {
      server.listChanged('tools');
      server.listChanged('resources');
    });
    return {
      ...server,
      close: async () => {
        stop();
        await server.close();
      },
    };
  }

  async #call(name: string, args: Record<string, unknown>, served: ServerContext): Promise<CallToolResult> {
    const { id, signal, _meta: meta, notify, log } = served.mcpReq;
    const progressToken = meta?.progressToken;
    // sending fails if the client has disconnected; the transport then cancels the call
    const ignore = () => {};
    const context: FolderCallContext = {
      toolCallId: String(id),
      signal,
      meta: ownMeta(meta),
      caller: served.http?.authInfo?.clientId,
      progress: (update) => {
        if (progressToken === undefined) return;
        notify({ method: 'notifications/progress', params: { progressToken, ...update } }).catch(ignore);
      },
      log: (level, data) => void log(level === 'warn' ? 'warning' : level, data, name).catch(ignore),
    };
    // a skill that the client may not see is reported by its own name
    let label = `Tool "${name}"`;
    try {
      const tool = (await this.#tools.listTools(signal)).find((listed) => listed.name === name);
      const judged = tool && judgedCall(this.#tools, this.#judged(tool), args);
      if (judged && judged.name !== name) label = `"${judged.name}"`;
      if (judged && this.#allows(judged, served)) return await this.#tools.callTool(name, args, context);
    } catch (error) {
      return { isError: true, content: [{ type: 'text', text: this.#errorTextFor(name, error) }] };
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${label} not found`);
  }

  /** The caller reads errors of the tool itself. Errors of a server or model behind it are only logged. */
  #errorTextFor(name: string, error: unknown): string {
    if (!isPocketError(error) || isPocketError(error, 'TOOL_FAILED')) return errorText(error);
    if (!isPublicError(error)) this.#tools.logger.error(`Tool "${name}" of ${this.#tools.name}: ${errorText(error)}`);
    return publicErrorText(error, `Tool "${name}"`);
  }

  /** The tools that this client may see and call. */
  async #offered(served: ServerContext): Promise<Tool[]> {
    const tools = await this.#tools.listTools(served.mcpReq.signal);
    const isAllowed = (judged: JudgedTool) => this.#allows(judged, served);
    return tools.flatMap((tool) => allowedTool(this.#tools, this.#judged(tool), isAllowed) ?? []);
  }

  /** The skills that a client may read. */
  readonly #resources: ResourceService<ServerContext> = {
    list: async (served) => {
      const all = await this.#tools.resources.list();
      return all.filter(({ judged }) => this.#allows(judged, served));
    },
    templates: () => this.#tools.resources.templates(),
    read: async (uri, served) => {
      const found = await this.#tools.resources.find(uri);
      return found && this.#allows(found.judged, served) ? found.read() : undefined;
    },
  };

  #judged(tool: Tool): JudgedTool {
    return { name: tool.name, tool, ...this.#tools.judge(tool) };
  }

  #allows(judged: JudgedTool, { http }: ServerContext): boolean {
    const tokenProfile = http?.authInfo?.extra?.profile as Profile | undefined;
    const profiles = [this.#options.profile, tokenProfile].filter((profile) => profile !== undefined);
    return profiles.every((profile) => refusalBy(profile, judged) === undefined);
  }

  #logError(error: unknown): void {
    this.#tools.logger.debug(`${this.#tools.name} as a server: ${errorText(error)}`);
  }
}
