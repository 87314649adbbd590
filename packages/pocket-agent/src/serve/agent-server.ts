// An agent as an MCP server: what `asMcpServer()` returns.
import type { McpServer } from '@modelcontextprotocol/server';
import { configError, type PocketError } from '@pocket-agent/kit';
import type { AgentService } from './agent-service.ts';
import type { HttpServer, HttpServerOptions } from './http-server.ts';
import type { ServedAgent } from './served-agent.ts';
import { type AgentServerOptions, checkServerOptions } from './server-options.ts';

/** For requests that still arrive after `close()`. */
export function closedResponse(name: string): Response {
  const error = { code: -32_000, message: closedError(name).message };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 503 });
}

export function closedError(name: string): PocketError {
  return configError(`The server of ${name} was closed; serve the agent again, or a new one.`);
}

export class AgentServer {
  readonly #agent: ServedAgent;
  readonly #options: AgentServerOptions;
  #leaveAgent: () => void;
  #service: Promise<AgentService> | undefined;
  #isClosed = false;

  /** The server closes with its agent. */
  constructor(agent: ServedAgent, options: AgentServerOptions) {
    checkServerOptions(options);
    this.#agent = agent;
    this.#options = { ...options };
    this.#leaveAgent = agent.closeTogether(this);
  }

  /** Answers one request, of Hono, Express, Next, Bun, Deno or another server that listens itself. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const service = await this.#load();
    return this.#isClosed ? closedResponse(this.#agent.name) : service.fetch(request);
  };

  /** A server of the MCP SDK for one connection. Agents of the same process use it with `mcpConfig: served`. */
  async createServer(): Promise<McpServer> {
    const service = await this.#load();
    if (this.#isClosed) throw closedError(this.#agent.name);
    return service.makeServer();
  }

  /** Speaks MCP on stdin and stdout until the client disconnects or the process is stopped; then closes the agent. */
  async serveStdio(): Promise<void> {
    await (await this.#open()).serveStdio();
  }

  /**
   * Serves HTTP until `close()`. Throws if the model cannot be used, such as without a key; with `durable` only the workers
   * need it. These options take precedence over those of `asMcpServer()`.
   */
  async listen(options: HttpServerOptions = {}): Promise<HttpServer> {
    const listening = await (await this.#open()).listen(options);
    if (!this.#isClosed) return listening;
    await listening.close();
    throw closedError(this.#agent.name);
  }

  /** Stops listening and ends all sessions; the agent stays open. `listen()` serves it again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leaveAgent();
    await (await this.#service)?.close();
  }

  /** Throws if the model cannot be used, or if the server is closed in the meantime. */
  async #open(): Promise<AgentService> {
    this.#leaveAgent = this.#agent.closeTogether(this);
    this.#isClosed = false;
    if (!this.#options.durable) await this.#agent.languageModel?.();
    const service = await this.#load();
    if (this.#isClosed) throw closedError(this.#agent.name);
    return service;
  }

  /** The MCP SDK is loaded with the first use. */
  #load(): Promise<AgentService> {
    this.#service ??= import('./agent-service.ts').then(({ AgentService }) => {
      return new AgentService(this.#agent, this.#options);
    });
    return this.#service;
  }
}
