// `Agent3`: what the MCP tools, the HTTP API and the web pages use. One implementation works in this process, one through a hub.
import { z } from 'zod';
import type { AgentDetails, Invocation, Registration, SearchPage, SearchQuery } from './agents.ts';
import { answer, count } from './answer.ts';
import type { CallLog, CallLogQuery, Feedback, FeedbackResult, Statistics, StatisticsQuery } from './call-records.ts';
import type { CallOptions, CallRequest, CallResponse, TaskRequest } from './calls.ts';

/** What the MCP tools, the HTTP API and the web pages use. */
export interface Agent3 {
  search(query: SearchQuery, caller: Caller): Promise<SearchPage>;
  select(agentId: string, caller: Caller): Promise<AgentDetails>;
  /** The public card and what a call needs; never a secret. */
  invoke(agentId: string, caller: Caller): Promise<Invocation>;
  call(request: CallRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  task(request: TaskRequest, caller: Caller, options?: CallOptions): Promise<CallResponse>;
  feedback(feedback: Feedback, caller: Caller): Promise<FeedbackResult>;
  register(registration: Registration, caller: Caller): Promise<AgentDetails>;
  unregister(agentId: string, caller: Caller): Promise<void>;
  statistics(query: StatisticsQuery): Promise<Statistics>;
  /** The call log: the caller's own calls, or all calls for an admin. */
  calls(query: CallLogQuery, caller: Caller): Promise<CallLog>;
  health(): Promise<HubHealth>;
  close(): Promise<void>;
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
