// An agent as an MCP server: one tool, `{name}-message`, on stdio or HTTP, in both protocol eras.
import {
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  type JsonSchemaType,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@pocket-agent/http/mcp';
import { type Profile, type ProfileName, readProfile } from './access.ts';
import type { PocketAgent } from './agent.ts';
import { checkServedApprovals, type ServedApprovals, servedApproval } from './approval.ts';
import { errorText, isPublic, textForOthers } from './errors.ts';
import type { AgentEvent } from './events.ts';
import { type HttpServer, type HttpServerOptions, isLocal, serveHttp } from './http-server.ts';
import { mcpServerOptions, refuseOtherOptions } from './option-keys.ts';
import { redactSecrets } from './redaction.ts';
import { Conversations } from './served-conversations.ts';
import { type ServedRunOptions, ServedRuns } from './served-run.ts';
import { agentResult, messageTool } from './sub-agents.ts';

type Agent = PocketAgent<unknown>;

/** How often a client of the 2025 era is asked in one run; the SDK would stop at eight. */
const MOST_ROUNDS = 100;

export interface AgentServerOptions {
  /** per-client (default): every client has a conversation of its own. shared: all speak in the agent's own. */
  conversation?: 'per-client' | 'shared';
  /** Makes the agent of a new conversation. Default: `fork()` of the one that is served. */
  createAgent?: () => Agent;
  /** What outside callers may do at most. */
  profile?: ProfileName | Profile;
  /** Who says yes to calls that need one. Default: the agents' own `approve`, and the client where there is none. */
  approvals?: ServedApprovals;
  /** What clients are told the server is. Default: the agent's name. */
  serverInfo?: { name: string; version: string };
  /** Conversations that are kept, of one connection and of all clients without one. Default 1,000. */
  maxConversations?: number;
}

export class AgentServer {
  readonly #agent: Agent;
  readonly #options: AgentServerOptions;
  /** Of clients that have no connection: over HTTP the 2026 era has none. */
  readonly #conversations: Conversations;
  readonly #runs = new ServedRuns();
  readonly #listening = new Set<HttpServer>();

  constructor(agent: Agent, options: AgentServerOptions) {
    refuseOtherOptions(mcpServerOptions, 'asMcpServer()', options);
    if (options.profile !== undefined) readProfile(options.profile);
    checkServedApprovals(options.approvals);
    this.#agent = agent;
    this.#options = { ...options };
    this.#conversations = this.#makeConversations();
  }

  /** A server of the MCP SDK for one connection or one request: the factory behind `serveStdio` and `listen`. */
  createServer(): McpServer {
    const serverInfo = this.#options.serverInfo ?? { name: this.#agent.name, version: '1.0.0' };
    const { roleDescription } = this.#agent;
    const server = new McpServer(serverInfo, {
      ...(roleDescription ? { instructions: roleDescription } : {}),
      inputRequired: { maxRounds: MOST_ROUNDS },
    });
    const { name, description, inputSchema } = messageTool(this.#agent);
    const schema = fromJsonSchema<{ message: string }>(inputSchema as JsonSchemaType);
    const ofConnection = this.#makeConversations();
    server.server.onclose = () => ofConnection.close();
    server.registerTool(
      name,
      { ...(description ? { description } : {}), inputSchema: schema },
      async ({ message }, context) => {
        const owner = context.http?.authInfo?.token ?? '';
        const resumed = await this.#runs.resume(owner, context);
        if (resumed) return resumed;
        const canAsk = clientCanBeAsked(server, context);
        return this.#runs.start(owner, (run) => this.#converse(message, run, canAsk, ofConnection), context);
      },
    );
    return server;
  }

  /** Runs in the conversation that the client means. */
  async #converse(message: string, run: ServedRunOptions, canAsk: boolean, ofConnection: Conversations) {
    if (this.#options.conversation === 'shared') return this.#answer(this.#agent, message, run, canAsk);
    const context = run.context();
    const { envelope, _meta: meta } = context.mcpReq;
    const contextId = typeof meta?.context_id === 'string' ? meta.context_id : undefined;
    const work = (agent: Agent) => this.#answer(agent, message, run, canAsk);
    // one client may speak for several, who must not hear each other: it says so by `context_id`
    if (!envelope || !context.http?.req) return ofConnection.use({ owner: '', id: contextId ?? '' }, work);
    if (contextId !== undefined)
      return this.#conversations.use({ owner: context.http.authInfo?.token ?? '', id: contextId }, work);
    return this.#conversations.useOnce(work);
  }

  /** Speaks MCP on stdin and stdout until the client goes away or the process is told to stop; then closes the agent. */
  async serveStdio(): Promise<void> {
    await serveStdio(() => this.createServer(), {
      onError: (error) => this.#logError(error),
      close: () => this.#agent.close(),
    });
  }

  /** Serves HTTP until `close()`. */
  async listen(options: HttpServerOptions = {}): Promise<HttpServer> {
    if (options.token === undefined && options.tokens === undefined && !isLocal(options.host)) {
      this.#agent.logger.warn(
        `${this.#agent.name} listens on ${options.host} without a token: whoever gets there may use it.`,
      );
    }
    const server = await serveHttp(() => this.createServer(), {
      onError: (error) => this.#logError(error),
      ...options,
    });
    const listening: HttpServer = {
      ...server,
      close: async () => {
        this.#listening.delete(listening);
        await server.close();
        if (this.#listening.size === 0) this.#conversations.close();
      },
    };
    this.#listening.add(listening);
    return listening;
  }

  /** Ends all listening; the agent itself stays. */
  async close(): Promise<void> {
    this.#runs.close();
    await Promise.all([...this.#listening].map((server) => server.close()));
  }

  async #answer(agent: Agent, message: string, { signal, approve, context }: ServedRunOptions, canAsk: boolean) {
    const { mcpReq, http } = context();
    const { _meta: meta } = mcpReq;
    const traceparent = typeof meta?.traceparent === 'string' ? meta.traceparent : undefined;
    const onEvent = progressReporter(context);
    const profile = [profileOf(context()), this.#options.profile].filter((given) => given !== undefined);
    try {
      const answer = await agent.run(message, {
        signal,
        streaming: false,
        ...(canAsk ? servedApproval(this.#options.approvals, approve) : {}),
        ...(profile.length > 0 ? { profile } : {}),
        ...(http?.authInfo ? { caller: http.authInfo.clientId } : {}),
        ...(traceparent ? { traceparent } : {}),
        ...(onEvent ? { onEvent } : {}),
      });
      return agentResult(agent.name, answer);
    } catch (error) {
      if (!isPublic(error)) agent.logger.error(`A run of ${agent.name} for a client failed: ${errorText(error)}`);
      return { isError: true, content: [{ type: 'text' as const, text: textForOthers(error) }] };
    }
  }

  #makeConversations(): Conversations {
    return new Conversations({
      most: this.#options.maxConversations ?? 1_000,
      make: () => this.#options.createAgent?.() ?? this.#agent.fork(),
      onError: (error) => this.#logError(error),
    });
  }

  #logError(error: unknown): void {
    this.#agent.logger.debug(`${this.#agent.name} as a server: ${errorText(error)}`);
  }
}

/** Whether the client has somebody who can answer a question. */
function clientCanBeAsked(server: McpServer, { mcpReq: { envelope } }: ServerContext): boolean {
  const sent = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = sent ?? server.server.getClientCapabilities();
  return typeof declared === 'object' && declared !== null && 'elicitation' in declared;
}

/** The profile of the token that the client came with. */
function profileOf({ http }: ServerContext): ProfileName | Profile | undefined {
  const profile = http?.authInfo?.extra?.profile;
  return profile === undefined ? undefined : (profile as ProfileName | Profile);
}

/** Progress for a client that asked for it: one tick for each thing worth telling. */
function progressReporter(context: () => ServerContext): ((event: AgentEvent) => void) | undefined {
  if (context().mcpReq._meta?.progressToken === undefined) return undefined;
  let progress = 0;
  return (event) => {
    const { notify, _meta: meta } = context().mcpReq;
    const progressToken = meta?.progressToken;
    if (progressToken === undefined) return;
    const message = progressMessage(event);
    if (message === undefined) return;
    progress++;
    const params = { progressToken, progress, message };
    // a client that has gone away needs no progress; its call is cancelled by the transport
    notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function progressMessage({ type, data, meta }: AgentEvent): string | undefined {
  const who = meta.path.join(' → ');
  switch (type) {
    case 'tool_call':
      return `${who} calls ${data.name}`;
    case 'tool_progress':
      return `${who}: ${data.toolName} ${redactSecrets(data.message ?? `${data.progress}`)}`;
    case 'tool_result':
      return `${who}: ${data.toolCallName} ${data.isError ? 'failed' : 'done'}`;
    case 'step_finished':
      return `${who} finished a step`;
    default:
      return undefined;
  }
}
