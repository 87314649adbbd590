// Tool folders as an MCP server, on stdio or HTTP, in both protocol eras.
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@pocket-agent/http/mcp';
import { errorText, isPocketError, isPublicError, publicErrorText } from '@pocket-agent/kit';
import type { HttpServer, HttpServerOptions, Profile, ProfileName } from 'pocket-agent';
import { packageVersion, readProfile, refusalBy } from 'pocket-agent/internal';
import { serveHttp } from 'pocket-agent/internal/serve';
import type { FolderCallContext } from './running/running-folder.ts';
import type { ToolFolder } from './tool-folder.ts';

export interface ToolFolderServerOptions {
  /** What clients may call at most; the profile of a token narrows it further. */
  profile?: ProfileName | Profile;
  /** What clients are told the server is. Default: the name of the folder. */
  serverInfo?: { name: string; version: string };
}

export class ToolFolderServer {
  readonly #tools: ToolFolder;
  readonly #options: ToolFolderServerOptions;
  readonly #profile: Profile | undefined;

  constructor(tools: ToolFolder, options: ToolFolderServerOptions) {
    this.#tools = tools;
    this.#options = { ...options };
    this.#profile = options.profile === undefined ? undefined : readProfile(options.profile);
  }

  /** A server of the MCP SDK for one connection or one request: the factory behind `serveStdio` and `listen`. */
  createServer(): Server {
    const { serverInfo = { name: this.#tools.name, version: packageVersion() } } = this.#options;
    const server = new Server(serverInfo, { capabilities: { tools: { listChanged: true }, logging: {} } });
    server.setRequestHandler('tools/list', async (_request, context) => ({ tools: await this.#offered(context) }));
    server.setRequestHandler('tools/call', ({ params }, context) => {
      return this.#call(params.name, params.arguments ?? {}, context);
    });
    return server;
  }

  /** Speaks MCP on stdin and stdout until the client goes away or the process is told to stop; then closes the folders. */
  async serveStdio(): Promise<void> {
    await this.#tools.load();
    const stops: (() => void)[] = [];
    const create = () => {
      const server = this.createServer();
      stops.push(this.#tools.onChange(() => void server.sendToolListChanged().catch((error) => this.#logError(error))));
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

  /** Serves HTTP until `close()` of what it returns; the folders stay. */
  async listen(options: HttpServerOptions = {}): Promise<HttpServer> {
    await this.#tools.load();
    const { host = '127.0.0.1', token, tokens } = options;
    if (token === undefined && tokens === undefined && !/^(127\.|::1$|localhost$)/.test(host)) {
      this.#tools.logger.warn(`${this.#tools.name} listens on ${host} without a token: whoever gets there may use it.`);
    }
    const server = await serveHttp(() => this.createServer(), {
      onError: (error) => this.#logError(error),
      ...options,
    });
    const stop = this.#tools.onChange(() => server.listChanged('tools'));
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
    // a client that has gone away needs neither progress nor log; its call is cancelled by the transport
    const lost = () => {};
    const context: FolderCallContext = {
      toolCallId: String(id),
      signal,
      meta: ownMeta(meta),
      progress: (update) => {
        if (progressToken === undefined) return;
        notify({ method: 'notifications/progress', params: { progressToken, ...update } }).catch(lost);
      },
      log: (level, data) => void log(level === 'warn' ? 'warning' : level, data, name).catch(lost),
    };
    try {
      const tool = (await this.#offered(served)).find((offered) => offered.name === name);
      if (tool) return await this.#tools.callTool(name, args, context);
    } catch (error) {
      return { isError: true, content: [{ type: 'text', text: this.#textFor(name, error) }] };
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool "${name}" not found`);
  }

  /** What a tool says of itself is for its caller; what a server or a model behind it said is for the log. */
  #textFor(name: string, error: unknown): string {
    if (!isPocketError(error) || isPocketError(error, 'TOOL_FAILED')) return errorText(error);
    if (!isPublicError(error)) this.#tools.logger.error(`Tool "${name}" of ${this.#tools.name}: ${errorText(error)}`);
    return publicErrorText(error, `Tool "${name}"`);
  }

  /** What this client may see and call. */
  async #offered({ http, mcpReq: { signal } }: ServerContext): Promise<Tool[]> {
    const ofToken = http?.authInfo?.extra?.profile as Profile | undefined;
    const profiles = [this.#profile, ofToken].filter((profile) => profile !== undefined);
    const tools = await this.#tools.listTools(signal);
    return tools.filter((tool) => {
      const judged = { name: tool.name, ...this.#tools.judge(tool) };
      return profiles.every((profile) => refusalBy(profile, judged) === undefined);
    });
  }

  #logError(error: unknown): void {
    this.#tools.logger.debug(`${this.#tools.name} as a server: ${errorText(error)}`);
  }
}

/** Without what belongs to the connection with this client: the meta may travel on to another server. */
function ownMeta(meta: Record<string, unknown> = {}): Record<string, unknown> {
  const isOfConnection = (key: string) => key === 'progressToken' || key.startsWith('io.modelcontextprotocol/');
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !isOfConnection(key)));
}
