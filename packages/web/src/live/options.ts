// The options that the handlers share.
import {
  functionRule,
  hasMethods,
  nullable,
  type OptionRules,
  oneOf,
  positiveInteger,
  positiveNumber,
  stringList,
} from '@pocket-agent/kit';
import type { AgentServerOptions, ConversationStore, PocketAgent } from 'pocket-agent';
import type { Authorize } from './caller.ts';

/** Answers the requests of a web page. */
export type WebHandler = (request: Request) => Promise<Response>;

export interface WebOptions {
  /** Who sends a request. */
  authorize: Authorize;
  /** Where conversations are saved, from `openConversations()` of `@pocket-agent/store`. Default: in memory. */
  conversations?: ConversationStore;
  /** Who is asked for calls that need an approval. Default: the page, unless the agent has an `approve` of its own. */
  approvals?: AgentServerOptions['approvals'];
  /** Whether the page sees arguments and results of tools, for all or by name. Default true. */
  toolDetails?: boolean | ((tool: string) => boolean);
  /** Types of files that a page may send, such as `['image/*', 'application/pdf']`. Default: images, if the agent takes them. */
  files?: readonly string[];
  /** How long a run continues after the last page has left. Default 60,000. */
  abandonMs?: number;
  /** Time for one run. Default: that of the agent. */
  timeoutMs?: number;
  /** Largest request. Default 10,000,000. */
  maxBodyBytes?: number;
  /** Runs at the same time. Default 1,000, and a quarter of it for one caller. */
  maxRuns?: number;
  maxRunsPerCaller?: number;
  /** Conversations in memory. Default 1,000. */
  maxConversations?: number;
  /** Bytes of messages in memory. Default 134,217,728. */
  maxMemoryBytes?: number;
}

export const webRules: OptionRules<WebOptions> = {
  authorize: { ...functionRule, expected: 'a function that returns the caller of a request' },
  conversations: nullable('what openConversations() returns', (value) => hasMethods(value, 'forOwner')),
  approvals: oneOf('caller', 'own'),
  toolDetails: nullable('true, false or a function', (value) => ['boolean', 'function'].includes(typeof value)),
  files: stringList,
  abandonMs: positiveNumber,
  timeoutMs: positiveNumber,
  maxBodyBytes: positiveInteger,
  maxRuns: positiveInteger,
  maxRunsPerCaller: positiveInteger,
  maxConversations: positiveInteger,
  maxMemoryBytes: positiveInteger,
};

export const DEFAULT_ABANDON_MS = 60_000;
export const DEFAULT_MAX_BODY = 10_000_000;

/** Whether the page sees arguments and results of a tool. */
export function showsTool({ toolDetails = true }: WebOptions): (name: string) => boolean {
  return typeof toolDetails === 'function' ? toolDetails : () => toolDetails;
}

/** The types of files that a page may send. */
export function fileTypesOf(agent: PocketAgent<unknown>, { files }: WebOptions): readonly string[] {
  return files ?? (agent.allowImages ? ['image/*'] : []);
}
