// An agent as an MCP server: one tool, `{name}-message`, on stdio or HTTP, in both protocol eras.
import { fromJsonSchema, type JsonSchemaType, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { PocketAgent } from './agent.ts';
import { errorText } from './errors.ts';
import type { AgentEvent } from './events.ts';
import { type HttpServer, type HttpServerOptions, serveHttp } from './http-server.ts';
import { agentResult, messageTool } from './sub-agents.ts';

type Agent = PocketAgent<unknown>;

export interface AgentServerOptions {
  /** per-client (default): every client has a conversation of its own. shared: all speak in the agent's own. */
  conversation?: 'per-client' | 'shared';
  /** What clients are told the server is. Default: the agent's name. */
  serverInfo?: { name: string; version: string };
  /** Conversations of clients without a session (2026 era over HTTP) that are kept. Default 1,000. */
  maxConversations?: number;
}

export class AgentServer {
  readonly #agent: Agent;
  readonly #options: AgentServerOptions;
  readonly #conversations: Conversations;
  readonly #http = new Set<HttpServer>();

  constructor(agent: Agent, options: AgentServerOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#conversations = new Conversations(options.maxConversations ?? 1_000);
  }

  /** A server of the MCP SDK for one client or one request: the factory behind `serveStdio` and `listen`. */
  createServer(): McpServer {
    const serverInfo = this.#options.serverInfo ?? { name: this.#agent.name, version: '1.0.0' };
    const { roleDescription } = this.#agent;
    const server = new McpServer(serverInfo, roleDescription ? { instructions: roleDescription } : {});
    const { name, description, inputSchema } = messageTool(this.#agent);
    const schema = fromJsonSchema<{ message: string }>(inputSchema as JsonSchemaType);
    let own: Agent | undefined;
    server.registerTool(
      name,
      { ...(description ? { description } : {}), inputSchema: schema },
      ({ message }, context) => {
        const agent = this.#statelessConversation(context) ?? (own ??= this.#newConversation());
        return this.#answer(agent, message, context);
      },
    );
    return server;
  }

  /** Speaks MCP on stdin and stdout until the client goes away; resolves then, with the agent closed. */
  async serveStdio(): Promise<void> {
    const transport = new StdioServerTransport();
    const handle = serveStdio(() => this.createServer(), { transport });
    const ended = Promise.withResolvers<void>();
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      ended.resolve();
    };
    await ended.promise;
    await handle.close();
    await this.#agent.close();
  }

  /** Serves HTTP until `close()`. */
  async listen(options: HttpServerOptions = {}): Promise<HttpServer> {
    const server = await serveHttp(() => this.createServer(), {
      onError: (error) => this.#agent.logger.debug(`${this.#agent.name} as a server: ${errorText(error)}`),
      ...options,
    });
    const listening: HttpServer = {
      ...server,
      close: async () => {
        this.#http.delete(listening);
        await server.close();
      },
    };
    this.#http.add(listening);
    return listening;
  }

  /** Ends all listening; the agent itself stays. */
  async close(): Promise<void> {
    await Promise.all([...this.#http].map((server) => server.close()));
  }

  async #answer(agent: Agent, message: string, context: ServerContext) {
    const { signal, _meta: meta } = context.mcpReq;
    const traceparent = typeof meta?.traceparent === 'string' ? meta.traceparent : undefined;
    const onEvent = progressReporter(context);
    try {
      const answer = await agent.invoke(message, {
        signal,
        streaming: false,
        ...(traceparent ? { traceparent } : {}),
        ...(onEvent ? { onEvent } : {}),
      });
      return agentResult(agent.name, answer);
    } catch (error) {
      return { isError: true, content: [{ type: 'text' as const, text: errorText(error) }] };
    }
  }

  #newConversation(): Agent {
    return this.#options.conversation === 'shared' ? this.#agent : this.#agent.fork();
  }

  /** Over HTTP the 2026 era has no sessions: a client goes on with a conversation by sending the same `context_id`. */
  #statelessConversation(context: ServerContext): Agent | undefined {
    if (this.#options.conversation === 'shared') return this.#agent;
    const { envelope, _meta: meta } = context.mcpReq;
    const contextId = meta?.context_id;
    if (!envelope || !context.http?.req || typeof contextId !== 'string') return undefined;
    const key = `${context.http.authInfo?.token ?? ''}\0${contextId}`;
    return this.#conversations.get(key, () => this.#agent.fork());
  }
}

/** The conversations used last; older ones are forgotten. */
class Conversations {
  readonly #most: number;
  readonly #agents = new Map<string, Agent>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string, make: () => Agent): Agent {
    const agent = this.#agents.get(key) ?? make();
    this.#agents.delete(key);
    this.#agents.set(key, agent);
    const [oldest] = this.#agents.keys();
    if (this.#agents.size > this.#most && oldest !== undefined) this.#agents.delete(oldest);
    return agent;
  }
}

/** Progress for a client that asked for it: one tick for each thing worth telling. */
function progressReporter(context: ServerContext): ((event: AgentEvent) => void) | undefined {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return (event) => {
    const message = progressMessage(event);
    if (message === undefined) return;
    progress++;
    const params = { progressToken, progress, message };
    // a client that has gone away needs no progress; its call is cancelled by the transport
    context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function progressMessage({ type, data, meta }: AgentEvent): string | undefined {
  const who = meta.path.join(' → ');
  switch (type) {
    case 'tool_call':
      return `${who} calls ${data.name}`;
    case 'tool_progress':
      return `${who}: ${data.toolName} ${data.message ?? data.progress}`;
    case 'tool_result':
      return `${who}: ${data.toolCallName} ${data.isError ? 'failed' : 'done'}`;
    case 'step_finished':
      return `${who} finished a step`;
    default:
      return undefined;
  }
}
