// The MCP server objects of one served agent. Each has one tool, `{name}-message`, in both protocol eras.
import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  fromJsonSchema,
  type InputRequiredResult,
  type JsonSchemaType,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { errorText, inServedCallSpan, isPublicError, publicErrorText } from '@pocket-agent/kit';
import { servedApproval } from '../access/approval.ts';
import { readProfile } from '../access/capabilities.ts';
import { ANONYMOUS } from '../run/run-context.ts';
import type { ResourceCaller } from '../skills/served-resources.ts';
import { agentResult, messageTool } from '../tools/agent-tool.ts';
import { errorResult } from '../tools/tool-result.ts';
import { filesSchema, inputOf, type SentFile } from './message-files.ts';
import { progressReporter } from './progress.ts';
import { serveResources } from './resources.ts';
import { RunLimit } from './run-limit.ts';
import type { ServedAgent } from './served-agent.ts';
import { ConversationMemory, Conversations, MAX_ID_LENGTH } from './served-conversations.ts';
import { type Caller, type ServedRunOptions, ServedRuns } from './served-run.ts';
import type { AgentServerOptions } from './server-options.ts';
import { clientCapabilities, profilesFor } from './tasks/client-questions.ts';
import { serveTasks } from './tasks/serve-tasks.ts';
import { ServedTasks } from './tasks/served-tasks.ts';
import { TASKS_EXTENSION } from './tasks/wire.ts';

/** The tool of a server whose clients have no session takes and returns the id of the conversation. */
const conversationId = {
  type: 'string',
  description:
    'To continue an earlier conversation: the conversation_id that came with its answer. Without it a new one begins.',
} as const;

interface Message {
  message: string;
  files?: readonly SentFile[];
  conversation_id?: string;
}

interface Connection {
  server: McpServer;
  /** The conversations of this connection; in the 2026 era HTTP clients have no connection. */
  conversations: Conversations;
  /** Whether there are other callers. */
  isOneOfMany: boolean;
}

/** The conversation that a call belongs to. */
interface ConversationRef extends Caller {
  /** new: the answer returns the id needed to continue. continued: the id must be known. implicit: needs no id. */
  kind: 'new' | 'continued' | 'implicit';
}

export class MessageServers {
  readonly #agent: ServedAgent;
  readonly #options: AgentServerOptions;
  readonly #memory: ConversationMemory;
  /** The conversations of clients without a connection. */
  readonly #conversations: Conversations;
  readonly #runs = new ServedRuns();
  readonly #limit: RunLimit;
  /** Calls as tasks, with the option `durable`. */
  readonly #tasks: ServedTasks | undefined;
  /** Types of files that clients may send besides text. */
  readonly #fileTypes: readonly string[];

  constructor(agent: ServedAgent, options: AgentServerOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#fileTypes = options.files ?? (agent.allowImages ? ['image/*'] : []);
    this.#memory = new ConversationMemory(options.maxMemoryBytes);
    this.#conversations = this.#makeConversations();
    const { maxRuns, maxRunsPerCaller } = options;
    this.#limit = new RunLimit({ name: agent.name, maxRuns, maxRunsPerCaller });
    const { durable } = options;
    this.#tasks = durable && new ServedTasks({ agent, durable, options, ownerOf, withId: withConversationId });
  }

  /** A server of the MCP SDK for one connection. `isStateless`: for one request of a client that has no session. */
  make({ isStateless = false, isOneOfMany = false } = {}): McpServer {
    const { name: agentName, roleDescription: instructions } = this.#agent;
    const serverInfo = this.#options.serverInfo ?? { name: agentName, version: '1.0.0' };
    const server = new McpServer(serverInfo, {
      ...(instructions ? { instructions } : {}),
      ...(this.#tasks ? { capabilities: { extensions: { [TASKS_EXTENSION]: {} } } } : {}),
    });
    const connection: Connection = { server, conversations: this.#makeConversations(randomUUID()), isOneOfMany };
    server.server.onclose = () => connection.conversations.close();
    const { name, description = '', inputSchema, outputSchema } = messageTool(this.#agent);
    const takesId = isStateless && (this.#options.conversation ?? 'per-client') === 'per-client';
    const properties = {
      ...inputSchema.properties,
      ...(this.#fileTypes.length > 0 ? { files: filesSchema(this.#fileTypes) } : {}),
      ...(takesId ? { conversation_id: conversationId } : {}),
    };
    const schema = fromJsonSchema<Message>({ ...inputSchema, properties } as JsonSchemaType);
    const resources = this.#agent.resources;
    if (resources && !resources.isEmpty) serveResources(server.server, resources, (context) => this.#callerOf(context));
    const output = outputSchema ? { outputSchema: fromJsonSchema(outputSchema as JsonSchemaType) } : {};
    const call = (message: Message, context: ServerContext) =>
      inServedCallSpan({ tool: name, context }, () => this.#call(message, context, connection));
    server.registerTool(name, { description, inputSchema: schema, ...output }, call);
    if (this.#tasks) serveTasks(server.server, { tasks: this.#tasks, name, schema, outputSchema, call });
    return server;
  }

  async #call(
    message: Message,
    context: ServerContext,
    connection: Connection,
  ): Promise<CallToolResult | InputRequiredResult> {
    if (this.#tasks?.takes(connection.server.server, context)) return this.#startTask(message, context, connection);
    if (!context.http) return this.#resumeOrStart(message, context, connection);
    const caller = ownerOf(context);
    // the limit does not apply to a run that continues after a question
    const isNew = context.mcpReq.requestState() === undefined;
    const refusal = isNew ? this.#limit.refusal({ caller, isOneOfMany: connection.isOneOfMany }) : undefined;
    if (refusal !== undefined) return errorResult(refusal);
    const done = this.#limit.begin({ caller });
    try {
      return await this.#resumeOrStart(message, context, connection);
    } finally {
      done();
    }
  }

  async #startTask(message: Message, context: ServerContext, connection: Connection): Promise<CallToolResult> {
    const tasks = this.#tasks;
    if (!tasks) throw new Error('The server has no tasks.');
    const { id, kind } = this.#conversationOf(context, connection, message.conversation_id);
    if (id.length > MAX_ID_LENGTH) return longId();
    if (kind === 'continued' && !(await tasks.hasConversation(context, id))) return unknownConversation(id);
    try {
      const input = inputOf(message.message, message.files ?? [], this.#fileTypes);
      return await tasks.start({ input, context, conversation: { id, kind }, isOneOfMany: connection.isOneOfMany });
    } catch (error) {
      return this.#failure(error);
    }
  }

  async #resumeOrStart(message: Message, context: ServerContext, connection: Connection) {
    const resumed = await this.#runs.resume(ownerOf(context), context);
    if (resumed) return resumed;
    const canAsk = 'elicitation' in clientCapabilities(connection.server.server, context);
    const conversation = this.#conversationOf(context, connection, message.conversation_id);
    if (conversation.id.length > MAX_ID_LENGTH) return longId();
    if (conversation.kind === 'continued' && !(await conversation.conversations.has(conversation)))
      return unknownConversation(conversation.id);
    return this.#runs.start(conversation, (run) => this.#converse(message, { ...run, canAsk }, conversation), context);
  }

  #conversationOf(context: ServerContext, connection: Connection, given: string | undefined): ConversationRef {
    const { mcpReq, http } = context;
    const { context_id: contextId } = mcpReq._meta ?? {};
    const owner = ownerOf(context);
    const isPerToken = this.#options.conversation === 'per-token' && owner !== '';
    const isConnected = !mcpReq.envelope || !http?.req;
    const conversations = isConnected && !isPerToken ? connection.conversations : this.#conversations;
    // one client may act for several users with separate conversations: `context_id` tells them apart
    if (typeof contextId === 'string') return { conversations, owner, id: contextId, kind: 'implicit' };
    if (isConnected || isPerToken) return { conversations, owner, id: '', kind: 'implicit' };
    return given === undefined
      ? { conversations, owner, id: randomUUID(), kind: 'new' }
      : { conversations, owner, id: given, kind: 'continued' };
  }

  async #converse(message: Message, run: AnsweredRun, conversation: ConversationRef): Promise<CallToolResult> {
    if (this.#options.conversation === 'shared') return this.#answer(this.#agent, message, run);
    const answer = (agent: ServedAgent) => this.#answer(agent, message, run);
    const result = await conversation.conversations.use(conversation, answer).catch((error) => this.#failure(error));
    return conversation.kind === 'implicit' ? result : withConversationId(result, conversation);
  }

  async #answer(
    agent: ServedAgent,
    { message, files = [] }: Message,
    { signal, approve, context, canAsk }: AnsweredRun,
  ) {
    const { mcpReq, http } = context();
    const { authInfo } = http ?? {};
    const traceparent = mcpReq._meta?.traceparent;
    const onEvent = progressReporter(context);
    const profile = profilesFor(context(), this.#options);
    try {
      const answer = await agent.run(inputOf(message, files, this.#fileTypes), {
        signal,
        streaming: false,
        ...(profile.length > 0 ? { profile } : {}),
        ...(canAsk ? servedApproval(this.#options.approvals, approve) : {}),
        ...(http ? { caller: authInfo?.clientId ?? ANONYMOUS } : {}),
        ...(typeof traceparent === 'string' && traceparent ? { traceparent } : {}),
        ...(onEvent ? { onEvent } : {}),
      });
      return agentResult(agent, answer);
    } catch (error) {
      return this.#failure(error);
    }
  }

  #callerOf(context: ServerContext): ResourceCaller {
    const { http, mcpReq } = context;
    const { signal } = mcpReq;
    const profiles = profilesFor(context, this.#options).map(readProfile);
    return { profiles, caller: http?.authInfo?.clientId, signal };
  }

  #failure(error: unknown): CallToolResult {
    const { name, logger } = this.#agent;
    if (!isPublicError(error)) logger.error(`A run of ${name} for a client failed: ${errorText(error)}`);
    return errorResult(publicErrorText(error));
  }

  /** Forgets the conversations of clients without a connection. */
  closeConversations(): void {
    this.#conversations.close();
  }

  /** Aborts the runs that wait for their clients. */
  closeRuns(): void {
    this.#runs.close();
  }

  #makeConversations(defaultId = 'default'): Conversations {
    return new Conversations({
      name: this.#agent.name,
      store: this.#options.conversations,
      defaultId,
      maxConversations: this.#options.maxConversations ?? 1_000,
      memory: this.#memory,
      outputSchema: this.#agent.outputSchema,
      make: () => this.#options.createAgent?.() ?? this.#agent.fork(),
      onError: (error) => this.logError(error),
    });
  }

  logError(error: unknown): void {
    this.#agent.logger.debug(`${this.#agent.name} as a server: ${errorText(error)}`);
  }
}

interface AnsweredRun extends ServedRunOptions {
  /** Whether the client can ask a person. */
  canAsk: boolean;
}

/** The caller whose token the client sent. */
function ownerOf({ http }: ServerContext): string {
  return http?.authInfo?.clientId ?? '';
}

function longId(): CallToolResult {
  return errorResult(`The id of a conversation must have at most ${MAX_ID_LENGTH} characters.`);
}

function unknownConversation(id: string): CallToolResult {
  return errorResult(
    `Conversation ${JSON.stringify(id)} is unknown or expired. Leave conversation_id out to begin a new one.`,
  );
}

/** Programs find the id in every answer, in `_meta`. A model reads it once, with the first answer. */
function withConversationId(
  result: CallToolResult,
  { id, kind }: Pick<ConversationRef, 'id' | 'kind'>,
): CallToolResult {
  const text = `[conversation_id: ${id} (pass it with the next message to continue this conversation)]`;
  return {
    ...result,
    content: kind === 'new' ? [...result.content, { type: 'text', text }] : result.content,
    _meta: { ...result._meta, context_id: id },
  };
}
