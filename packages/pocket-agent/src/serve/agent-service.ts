// Serves one agent over MCP: on stdio, over HTTP, and for requests of another server. Loaded when AgentServer is first used.
import type { McpServer, McpServerFactory } from '@modelcontextprotocol/server';
import { type McpHandler, serveStdio } from '@pocket-agent/http/mcp';
import { configError } from '@pocket-agent/kit';
import { agentLabel } from '../base/agent-label.ts';
import { type HttpServer, type HttpServerOptions, isLocal, serveFetch, serveHttp } from './http-server.ts';
import { MessageServers } from './message-servers.ts';
import type { ServedAgent } from './served-agent.ts';
import {
  type AgentServerOptions,
  type HttpAccessOptions,
  hasSeveralCallers,
  hasTokens,
  httpAccessRules,
  type TokenOptions,
} from './server-options.ts';

export class AgentService {
  readonly #agent: ServedAgent;
  readonly #options: AgentServerOptions;
  readonly #servers: MessageServers;
  readonly #listening = new Set<HttpServer>();
  /** Answers `fetch`; made with the first request. */
  #handler: McpHandler | undefined;

  constructor(agent: ServedAgent, options: AgentServerOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#servers = new MessageServers(agent, options);
  }

  /** A server of the MCP SDK for one connection. */
  makeServer(): McpServer {
    return this.#servers.make();
  }

  async serveStdio(): Promise<void> {
    await serveStdio(() => this.makeServer(), { onError: this.#logError, close: () => this.#agent.close() });
  }

  /** Answers one request of a server that listens itself. */
  fetch(request: Request): Promise<Response> {
    this.#handler ??= this.#makeHandler();
    return this.#handler.fetch(request);
  }

  async listen(given: HttpServerOptions = {}): Promise<HttpServer> {
    const { logger } = this.#agent;
    const options = { ...this.#access, ...given };
    this.#checkCallers(options);
    if (!hasTokens(options) && !isLocal(options.host))
      logger.warn(`Without a token, everyone who can reach ${options.host} may use ${agentLabel(this.#agent)}.`);
    const server = await serveHttp(this.#factory(options), { onError: this.#logError, ...options });
    const listening: HttpServer = {
      ...server,
      close: async () => {
        this.#listening.delete(listening);
        await server.close();
        if (this.#listening.size === 0) this.#servers.closeConversations();
      },
    };
    this.#listening.add(listening);
    return listening;
  }

  async close(): Promise<void> {
    this.#servers.closeRuns();
    const handler = this.#handler;
    this.#handler = undefined;
    await Promise.all([handler, ...this.#listening].map((server) => server?.close()));
    this.#servers.closeConversations();
  }

  #makeHandler(): McpHandler {
    this.#checkCallers(this.#access);
    const { logger } = this.#agent;
    if (!hasTokens(this.#access) && this.#access.allowedHosts)
      logger.warn(`Without a token, everyone who can reach this server may use ${agentLabel(this.#agent)}.`);
    return serveFetch(this.#factory(this.#access), { onError: this.#logError, ...this.#access });
  }

  /** Makes a server object for each connection or request. */
  #factory(options: TokenOptions): McpServerFactory {
    const isOneOfMany = hasSeveralCallers(options);
    return ({ era }) => this.#servers.make({ isStateless: era === 'modern', isOneOfMany });
  }

  #checkCallers(options: TokenOptions): void {
    if (this.#options.conversation !== 'per-token' || hasTokens(options)) return;
    const text = 'conversation: "per-token" needs "token" or "tokens": without them all clients would share one.';
    throw configError(text);
  }

  /** The options of `asMcpServer()` that concern HTTP. */
  get #access(): HttpAccessOptions {
    const entries = Object.entries(this.#options).filter(([key]) => key in httpAccessRules);
    return Object.fromEntries(entries);
  }

  readonly #logError = (error: unknown): void => this.#servers.logError(error);
}
