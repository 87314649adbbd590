// The options of an agent as an MCP server.
import {
  configError,
  hasMethods,
  isRecord,
  nullable,
  type OptionRules,
  OptionSet,
  oneOf,
  positiveInteger,
  positiveNumber,
  stringList,
} from '@pocket-agent/kit';
import { type ServedApprovals, servedApprovalsRule } from '../access/approval.ts';
import { type Profile, type ProfileName, readProfile } from '../access/capabilities.ts';
import type { ServedAgent } from './served-agent.ts';
import type { ConversationStore } from './served-conversations.ts';
import type { DurableTasksOptions } from './tasks/durable-options.ts';

const conversations = ['per-client', 'per-token', 'shared'] as const;

export interface TokenOptions {
  /** Clients must send it as a bearer token. */
  token?: string;
  /** Tokens of several clients, each with the profile that limits it. */
  tokens?: Readonly<Record<string, ProfileName | Profile>>;
}

/** How clients reach the server over HTTP, with `fetch` and, unless they are given there, with `listen`. */
export interface HttpAccessOptions extends TokenOptions {
  /** Host names under which the server may be addressed. Default: those of this machine. */
  allowedHosts?: readonly string[];
  /** Host names of web pages that may call. Default: those of this machine. */
  allowedOrigins?: readonly string[];
  /** A session of the 2025 protocol ends after this time without a request. Default 30 minutes. */
  sessionIdleMs?: number;
  /** Most sessions of the 2025 protocol at a time. Default 1,000. */
  maxSessions?: number;
  /** Most bytes of a request; a longer one is refused (413). Default 4 MiB. */
  maxRequestBodySize?: number;
}

/** How `asMcpServer()` serves an agent: who may call it, and which conversation a caller gets. */
export interface AgentServerOptions extends HttpAccessOptions {
  /**
   * per-client (default): every client has a separate conversation. per-token: every token has one, over all
   * connections of its owner. shared: all clients speak in the agent's own.
   */
  conversation?: (typeof conversations)[number];
  /** Saves the conversations, so that they continue after a restart: what `openConversations()` returns. Default: in memory. */
  conversations?: ConversationStore;
  /**
   * Types of files that clients may send besides text, in the argument `files` of the tool: `['application/pdf', 'audio/*']`.
   * Default: images if the agent has `allowImages`, otherwise only text.
   */
  files?: readonly string[];
  /**
   * Calls of clients that declare the extension for tasks become tasks, which continue after a restart of the server. Other
   * clients are not affected.
   */
  durable?: DurableTasksOptions;
  /** Makes the agent of a new conversation. Default: `fork()` of the one that is served. */
  createAgent?: () => ServedAgent;
  /** Limits what remote callers may do. */
  profile?: ProfileName | Profile;
  /** Who approves calls. Default: the agent's own `approve`; without one, the client. */
  approvals?: ServedApprovals;
  /** Name and version shown to clients. Default: the agent's name. */
  serverInfo?: { name: string; version: string };
  /** Conversations that are kept, of one connection and of all clients without one. Default 1,000. */
  maxConversations?: number;
  /** Memory for conversations, estimated; above it, the oldest idle ones are dropped. Default 128 MiB. */
  maxMemoryBytes?: number;
  /** Runs for HTTP clients at the same time; one more is refused. Default 1,000. */
  maxRuns?: number;
  /** Runs at the same time for one token. Default: a quarter of all, if there are several tokens. */
  maxRunsPerCaller?: number;
}

export const storeRule = nullable('the result of openConversations()', (value) => hasMethods(value, 'forOwner'));

export const httpAccessRules: OptionRules<HttpAccessOptions> = {
  token: true,
  tokens: true,
  allowedHosts: nullable(stringList.expected, stringList.accepts),
  allowedOrigins: nullable(stringList.expected, stringList.accepts),
  sessionIdleMs: positiveNumber,
  maxSessions: positiveInteger,
  maxRequestBodySize: positiveInteger,
};

const serverOptions = new OptionSet<AgentServerOptions>('asMcpServer()', {
  ...httpAccessRules,
  conversation: oneOf(...conversations),
  conversations: storeRule,
  files: stringList,
  durable: {
    expected: '{ runs, agent }: the result of openRuns(), and the name of the agent there',
    accepts: (value) => isRecord(value) && hasMethods(value.runs, 'start', 'get') && typeof value.agent === 'string',
  },
  createAgent: true,
  profile: true,
  approvals: servedApprovalsRule,
  serverInfo: true,
  maxConversations: positiveInteger,
  maxMemoryBytes: positiveInteger,
  maxRuns: positiveInteger,
  maxRunsPerCaller: positiveInteger,
});

export function checkServerOptions(options: AgentServerOptions): void {
  serverOptions.check(options);
  checkTokens(options);
  if (options.profile !== undefined) readProfile(options.profile);
  for (const other of ['conversations', 'createAgent'] as const)
    if (options.durable && options[other]) throw configError(`asMcpServer() takes "durable" or "${other}", not both.`);
  if (options.durable && options.conversation === 'shared')
    throw configError(
      'asMcpServer() with "durable" keeps conversations in the runs: leave conversation: "shared" out.',
    );
  if (options.conversation === 'shared' && options.conversations) {
    const wayOut = 'bind the served agent to one with chats.attach(id, agent), and leave the option out';
    throw configError(`conversation: "shared" takes no conversations: ${wayOut}.`);
  }
}

/** Throws for tokens that would open a server by mistake. */
export function checkTokens(options: TokenOptions & { authenticate?: unknown }): void {
  // an unset variable must not open a server
  for (const key of ['token', 'tokens', 'authenticate'] as const) {
    if (!(key in options) || (options[key] !== undefined && options[key] !== null)) continue;
    const problem = `The "${key}" of the server is ${options[key]}; set it, or leave the option out.`;
    throw configError(problem);
  }
  const { token, tokens = {} } = options;
  for (const profile of Object.values(tokens)) readProfile(profile);
  if (token === '' || '' in tokens) throw configError('The "token" of the server is empty; set one or leave it out.');
  if (token !== undefined && Object.hasOwn(tokens, token))
    throw configError('One token is both "token" and in "tokens"; keep it in one of them.');
}

export function hasTokens({ token, tokens }: TokenOptions): boolean {
  return token !== undefined || tokens !== undefined;
}

/** Whether there are several callers: then one of them must not use up all runs. */
export function hasSeveralCallers({ token, tokens }: TokenOptions): boolean {
  return Object.keys(tokens ?? {}).length + (token === undefined ? 0 : 1) > 1;
}
