// Serves one agent over MCP: one tool, `{name}-message`, in both protocol eras. Loaded with the first use of AgentServer.
import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  type JsonSchemaType,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@pocket-agent/http/mcp';
import { errorText, isPublicError, PocketError, publicErrorText, redactSecrets } from '@pocket-agent/kit';
import type { Profile, ProfileName } from '../access/access.ts';
import { servedApproval } from '../access/approval.ts';
import type { AgentEvent } from '../run/events.ts';
import { agentResult, messageTool } from '../tools/agent-tool.ts';
import { type HttpServer, type HttpServerOptions, hasSeveralCallers, isLocal, serveHttp } from './http-server.ts';
import { RunLimit } from './run-limit.ts';
import type { ServedAgent } from './served-agent.ts';
import { type ConversationKey, Conversations } from './served-conversations.ts';
import { type ServedRunOptions, ServedRuns } from './served-run.ts';
import type { AgentServerOptions } from './server-options.ts';

/** The tool of a server whose clients have no session takes and returns the id of the conversation. */
const conversationId = {
  type: 'string',
  description:
    'To continue an earlier conversation: the conversation_id that came with its answer. Without it a new one begins.',
} as const;

interface Message {
  message: string;
  conversation_id?: string;
}

/** The conversation that a call belongs to. */
interface Place extends ConversationKey {
  among: Conversations;
  /** new: the answer tells the client its id, the only way to continue it. continued: the id must be known. */
  is: 'new' | 'continued' | 'kept';
}

interface Connection {
  /** For one request of a client that has no session. */
  isStateless?: boolean;
  isOneOfMany?: boolean;
}

export class AgentService {
  readonly #agent: ServedAgent;
  readonly #options: AgentServerOptions;
  /** Of clients without a connection: in the 2026 era HTTP clients have none. */
  readonly #conversations: Conversations;
  readonly #runs = new ServedRuns();
  readonly #limit: RunLimit;
  readonly #listening = new Set<HttpServer>();

  constructor(agent: ServedAgent, options: AgentServerOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#conversations = this.#makeConversations();
    const { maxRuns: most, maxRunsPerCaller: mostPerCaller } = options;
    this.#limit = new RunLimit({ name: agent.name, most, mostPerCaller });
  }

  /** A server of the MCP SDK for one connection. */
  makeServer({ isStateless = false, isOneOfMany = false }: Connection = {}): McpServer {
    const serverInfo = this.#options.serverInfo ?? { name: this.#agent.name, version: '1.0.0' };
    const { roleDescription } = this.#agent;
    const server = new McpServer(serverInfo, {
      ...(roleDescription ? { instructions: roleDescription } : {}),
    });
    const { name, description, inputSchema } = messageTool(this.#agent);
    const takesId = isStateless && (this.#options.conversation ?? 'per-client') === 'per-client';
    const properties = takesId
      ? { ...inputSchema.properties, conversation_id: conversationId }
      : inputSchema.properties;
    const schema = fromJsonSchema<Message>({ ...inputSchema, properties } as JsonSchemaType);
    const connection = randomUUID();
    const ofConnection = this.#makeConversations();
    server.server.onclose = () => ofConnection.close();
    server.registerTool(
      name,
      { ...(description ? { description } : {}), inputSchema: schema },
      async ({ message, conversation_id: given }, context) => {
        const owner = context.http?.authInfo?.token ?? '';
        const answer = async () => {
          const resumed = await this.#runs.resume(owner, context);
          if (resumed) return resumed;
          const canAsk = clientCanBeAsked(server, context);
          const place = this.#placeOf(context, ofConnection, given);
          if (place.is === 'continued' && !place.among.has(place)) return unknownConversation(place.id);
          const conversation = place.among === ofConnection ? `${connection} ${place.id}` : place.id;
          const begin = (run: ServedRunOptions) => this.#converse(message, run, canAsk, place);
          return this.#runs.start({ owner, conversation }, begin, context);
        };
        return context.http ? this.#limited({ owner, isOneOfMany }, context, answer) : answer();
      },
    );
    return server;
  }

  /** The limit does not apply to a run that continues after a question. */
  async #limited<Result>(
    { owner, isOneOfMany }: { owner: string; isOneOfMany: boolean },
    { mcpReq }: ServerContext,
    answer: () => Promise<Result>,
  ): Promise<Result | CallToolResult> {
    const isNew = mcpReq.requestState() === undefined;
    const refusal = isNew ? this.#limit.refusal(owner, isOneOfMany) : undefined;
    if (refusal !== undefined) return { isError: true, content: [{ type: 'text', text: refusal }] };
    const done = this.#limit.begin(owner);
    try {
      return await answer();
    } finally {
      done();
    }
  }

  #placeOf({ mcpReq, http }: ServerContext, ofConnection: Conversations, given: string | undefined): Place {
    const { context_id: contextId } = mcpReq._meta ?? {};
    const owner = http?.authInfo?.token ?? '';
    const hasOne = this.#options.conversation === 'per-token' && owner !== '';
    const isConnected = !mcpReq.envelope || !http?.req;
    const among = isConnected && !hasOne ? ofConnection : this.#conversations;
    // one client may act for several users with separate conversations: `context_id` tells them apart
    if (typeof contextId === 'string') return { among, owner, id: contextId, is: 'kept' };
    if (isConnected || hasOne) return { among, owner, id: '', is: 'kept' };
    return given === undefined
      ? { among, owner, id: randomUUID(), is: 'new' }
      : { among, owner, id: given, is: 'continued' };
  }

  async #converse(message: string, run: ServedRunOptions, canAsk: boolean, place: Place): Promise<CallToolResult> {
    if (this.#options.conversation === 'shared') return this.#answer(this.#agent, message, run, canAsk);
    const result = await place.among.use(place, (agent) => this.#answer(agent, message, run, canAsk));
    return place.is === 'kept' ? result : withConversationId(result, place);
  }

  async serveStdio(): Promise<void> {
    await serveStdio(() => this.makeServer(), {
      onError: (error) => this.#logError(error),
      close: () => this.#agent.close(),
    });
  }

  async listen(options: HttpServerOptions = {}): Promise<HttpServer> {
    if (options.token === undefined && options.tokens === undefined && !isLocal(options.host)) {
      this.#agent.logger.warn(
        `${this.#agent.name} listens on ${options.host} without a token: everyone who can reach it may use it.`,
      );
    }
    if (this.#options.conversation === 'per-token' && options.token === undefined && options.tokens === undefined) {
      const text = 'conversation: "per-token" needs "token" or "tokens": without them all clients would share one.';
      throw new PocketError('CONFIG_INVALID', text);
    }
    const isOneOfMany = hasSeveralCallers(options);
    const server = await serveHttp(({ era }) => this.makeServer({ isStateless: era === 'modern', isOneOfMany }), {
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

  async close(): Promise<void> {
    this.#runs.close();
    await Promise.all([...this.#listening].map((server) => server.close()));
  }

  async #answer(agent: ServedAgent, message: string, { signal, approve, context }: ServedRunOptions, canAsk: boolean) {
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
      if (!isPublicError(error)) agent.logger.error(`A run of ${agent.name} for a client failed: ${errorText(error)}`);
      return { isError: true, content: [{ type: 'text' as const, text: publicErrorText(error) }] };
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

function unknownConversation(id: string): CallToolResult {
  const text = `There is no conversation ${JSON.stringify(id)} here, or no longer. Leave conversation_id out to begin a new one.`;
  return { isError: true, content: [{ type: 'text', text }] };
}

/** Programs find the id in every answer, in `_meta`. A model reads it once, with the first answer. */
function withConversationId(result: CallToolResult, { id, is }: Pick<Place, 'id' | 'is'>): CallToolResult {
  const text = `[conversation_id: ${id} (pass it with the next message to continue this conversation)]`;
  return {
    ...result,
    content: is === 'new' ? [...result.content, { type: 'text', text }] : result.content,
    _meta: { ...result._meta, context_id: id },
  };
}

/** Whether the client can ask a person. */
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
