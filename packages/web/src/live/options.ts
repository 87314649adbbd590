// The options that both handlers have.
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
  /** Identifies the caller of a request. */
  authorize: Authorize;
  /** Where conversations are saved, from `openConversations()` of `@pocket-agent/store`. Default: in memory. */
  conversations?: ConversationStore;
  /** Who approves calls: the page (`caller`) or `approve` of the agent (`own`). Default: the page, unless the agent has `approve`. */
  approvals?: AgentServerOptions['approvals'];
  /** Whether the page sees the arguments and results of tools: for all, or by name. Default true. */
  toolDetails?: boolean | ((tool: string) => boolean);
  /** Types of files that a page may send, such as `['image/*', 'application/pdf']`. Default: images, if the agent accepts them. */
  files?: readonly string[];
  /** How long a run continues after the last page has left, in milliseconds. Default 60,000. */
  abandonMs?: number;
  /** The time limit of a run in milliseconds. Default: that of the agent. */
  timeoutMs?: number;
  /** The size limit of a request. Default 10,000,000. */
  maxBodyBytes?: number;
  /** Runs at the same time. Default 1,000. */
  maxRuns?: number;
  /** Runs of one caller at the same time. Default: a quarter of `maxRuns`. */
  maxRunsPerCaller?: number;
  /** Conversations kept in memory. Default 1,000. */
  maxConversations?: number;
  /** Bytes of messages kept in memory. Default 134,217,728. */
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

/** A function that says whether the page sees the arguments and results of a tool. */
export function showsDetails({ toolDetails = true }: WebOptions): (name: string) => boolean {
  return typeof toolDetails === 'function' ? toolDetails : () => toolDetails;
}

/** The types of files that a page may send. */
export function fileTypesOf(agent: PocketAgent<unknown>, { files }: WebOptions): readonly string[] {
  return files ?? (agent.allowImages ? ['image/*'] : []);
}
