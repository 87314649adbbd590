// `Agent3`: what the MCP tools, the HTTP API and the web pages use. One implementation works in this process, one through a hub.
import { z } from 'zod';
import type { Account, Allowance, Statement, StatementQuery, TokenInfo, TokenRequest } from './account.ts';
import type {
  AgentDetails,
  ClaimResult,
  Credential,
  Invocation,
  Listing,
  ListingQuery,
  Registration,
  ReportList,
  SearchPage,
  SearchQuery,
} from './agents.ts';
import { answer, count } from './answer.ts';
import type {
  CallLog,
  CallLogEntry,
  CallLogQuery,
  Feedback,
  FeedbackResult,
  Statistics,
  StatisticsQuery,
} from './call-records.ts';
import type { CallOptions, CallRequest, CallResponse, TaskRequest } from './calls.ts';
import type { NamedTokenStore } from './owner-tokens.ts';

/** What the MCP tools, the HTTP API and the web pages use. */
export interface Agent3 {
  search(query: SearchQuery, caller: Caller, options?: SearchOptions): Promise<SearchPage>;
  select(agentId: string, caller: Caller): Promise<AgentDetails>;
  /** The public card and what a call needs; never a secret. */
  invoke(agentId: string, caller: Caller): Promise<Invocation>;
  call(request: CallRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  task(request: TaskRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  feedback(feedback: Feedback, caller: Caller): Promise<FeedbackResult>;
  register(registration: Registration, caller: Caller): Promise<AgentDetails>;
  unregister(agentId: string, caller: Caller): Promise<void>;
  /** All agents with their cards, oldest first; for exports. */
  list(query: ListingQuery, caller: Caller): Promise<Listing>;
  /** Makes the caller the owner of an agent if they can prove it; otherwise says what would. */
  claim(agentId: string, caller: Caller): Promise<ClaimResult>;
  /** Replaces the credentials that calls to the caller's agent send; an empty list removes them. */
  setCredentials(agentId: string, credentials: readonly Credential[], caller: Caller): Promise<void>;
  /** Tells the admins what is wrong with an agent; each owner once per agent. */
  report(agentId: string, reason: string, caller: Caller): Promise<void>;
  /** Hides an agent for the given reason, or shows it again. For admins. */
  moderate(agentId: string, hidden: string | undefined, caller: Caller): Promise<void>;
  reports(caller: Caller): Promise<ReportList>;
  account(caller: Caller): Promise<Account>;
  /** What a person agrees to spend; never offered to models. */
  setLimits(limits: Allowance, caller: Caller): Promise<void>;
  statement(query: StatementQuery, caller: Caller): Promise<Statement>;
  /** The call that a receipt proves; for its caller, the owner of the agent, and admins. */
  receipt(receipt: string, caller: Caller): Promise<CallLogEntry>;
  statistics(query: StatisticsQuery): Promise<Statistics>;
  /** The call log: the caller's own calls, or all calls for an admin. */
  calls(query: CallLogQuery, caller: Caller): Promise<CallLog>;
  health(): Promise<HubHealth>;
  close(): Promise<void>;
}

/** For searches that hubs pass on to each other. */
export interface SearchOptions {
  /** Ids of the hubs that the request has passed. */
  via?: readonly string[];
  signal?: AbortSignal;
}

/** Keeps the named tokens of owners. The hub signs the tokens, so the store never sees one. */
export interface TokenStore extends NamedTokenStore {
  addToken(request: TokenRequest, caller: Caller): Promise<TokenInfo>;
  revokeToken(id: string, caller: Caller): Promise<void>;
}

/** The owner behind a request. `id` scopes tasks, receipts, rate limits and the right to change agents. */
export interface Caller {
  id: string;
  /** May change and remove agents of other owners. */
  isAdmin?: boolean;
  /** Runs in this process, without a hub. Ratings of their own agents count as long as they are the only user. */
  isLocal?: boolean;
}

export const hubHealth = answer({
  status: z.enum(['healthy', 'degraded', 'unhealthy']),
  timestamp: z.string(),
  store: answer({ kind: z.enum(['sqlite', 'postgres']), responseTime: z.number() }),
  network: answer({ totalAgents: count, activeAgents: count, recentCalls: count, totalFeedback: count }),
  performance: answer({ searchLatency: z.number().optional(), callLatency: z.number().optional() }),
  version: z.string(),
});
/** Whether a hub works, and how large and how fast it is. */
export type HubHealth = z.output<typeof hubHealth>;
