// The options of an agent as an MCP server.
import { hasMethods, nullable, OptionSet, oneOf, PocketError, positiveInteger, stringList } from '@pocket-agent/kit';
import { type ServedApprovals, servedApprovalsRule } from '../access/approval.ts';
import { type Profile, type ProfileName, readProfile } from '../access/capabilities.ts';
import type { ServedAgent } from './served-agent.ts';
import type { ConversationStore } from './served-conversations.ts';

const conversations = ['per-client', 'per-token', 'shared'] as const;

export interface AgentServerOptions {
  /**
   * per-client (default): every client has a separate conversation. per-token: every token has one, over all
   * connections of its owner. shared: all clients speak in the agent's own.
   */
  conversation?: (typeof conversations)[number];
  /** Saves the conversations, so that they continue after a restart: what `openConversations()` returns. Default: in memory. */
  conversations?: ConversationStore;
  /**
   * Types of files that clients may send besides text, in the argument `files` of the tool: `['application/pdf', 'audio/*']`.
   * Default: images if the agent has `allowImages`, otherwise none.
   */
  files?: readonly string[];
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
  /** Those for one token. Default: a quarter of all where there are several tokens. */
  maxRunsPerCaller?: number;
}

export const storeRule = nullable('the result of openConversations()', (value) => hasMethods(value, 'forOwner'));

const serverOptions = new OptionSet<AgentServerOptions>('asMcpServer()', {
  conversation: oneOf(...conversations),
  conversations: storeRule,
  files: stringList,
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
  if (options.profile !== undefined) readProfile(options.profile);
  if (options.conversation === 'shared' && options.conversations) {
    const wayOut = 'bind the served agent to one with chats.attach(id, agent), and leave the option out';
    throw new PocketError('CONFIG_INVALID', `conversation: "shared" takes no conversations: ${wayOut}.`);
  }
}
