// The call log, ratings and statistics: types of records and queries, schemas and types of responses.
import { z } from 'zod';
import { answer, count } from './answer.ts';
import { type CallErrorCode, callErrorCode, type TaskStateName, taskState } from './calls.ts';

/** What the bridge records about every call; this is the audit log. */
export interface CallRecord {
  callId: string;
  agentId: string;
  caller: string;
  userAgentId?: string | undefined;
  startedAt: number;
  responseTime: number;
  success: boolean;
  errorCode?: CallErrorCode;
  statusCode?: number;
  retryCount: number;
  cost?: number;
  tokensUsed?: number;
  tokensEstimated?: boolean | undefined;
  state?: TaskStateName;
  requestDigest: string;
  responseDigest?: string;
}

/** Which calls to list. */
export interface CallLogQuery {
  agentId?: string;
  userAgentId?: string;
  /** Only calls of this caller; callers other than oneself only for admins. */
  caller?: string;
  /** 1 to 200, default 50. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
}

export const callLogEntry = answer({
  callId: z.string(),
  agentId: z.string(),
  /** Absent when the agent is no longer registered. */
  agentName: z.string().optional(),
  caller: z.string(),
  userAgentId: z.string().optional(),
  startedAt: z.string(),
  responseTime: z.number(),
  success: z.boolean(),
  errorCode: callErrorCode.optional(),
  statusCode: z.number().optional(),
  retryCount: count,
  cost: z.number().optional(),
  tokensUsed: z.number().optional(),
  tokensEstimated: z.boolean().optional(),
  state: taskState.optional(),
  requestDigest: z.string().describe('SHA-256 of the request'),
  responseDigest: z.string().optional().describe('SHA-256 of the answer'),
  receipt: z.string().optional().describe('Proof of the call; only in the log of its caller'),
});
/** One call: caller, agent, cost, and digests of request and answer. */
export type CallLogEntry = z.output<typeof callLogEntry>;

export const callLog = answer({
  /** Newest first. */
  calls: z.array(callLogEntry),
  nextCursor: z.string().optional(),
});
/** One page of the call log. */
export type CallLog = z.output<typeof callLog>;

/** A rating of a call; its receipt proves that the call was made. */
export interface Feedback {
  agentId: string;
  /** 1 to 5. */
  rating: number;
  feedback: string;
  receipt: string;
  /** Default: the `userAgentId` of the call. Any other value is refused. */
  userAgentId?: string;
}

export const feedbackResult = answer({
  success: z.literal(true),
  timestamp: z.string(),
  message: z.string(),
  /** The reputation after this rating; absent until someone other than the owner has rated. */
  reputation: z.number().optional(),
});
/** Confirms a rating and gives the new reputation of the agent. */
export type FeedbackResult = z.output<typeof feedbackResult>;

/** Which calls are counted, and the length of a bucket. */
export interface StatisticsQuery {
  /** Default: all calls. */
  agentId?: string;
  /** Milliseconds since 1970. */
  since: number;
  until: number;
  /** Length of one bucket in milliseconds. */
  bucketMs: number;
}

const callStatistics = answer({
  calls: count,
  successes: count,
  /** 0 to 1; 1 without calls. */
  successRate: z.number(),
  /** US dollars, for the calls whose price is known. */
  cost: z.number(),
  /** Milliseconds, mean. */
  averageResponseTime: z.number(),
});
/** Calls, successes, cost and response time in one period. */
export type CallStatistics = z.output<typeof callStatistics>;

export const statistics = answer({
  total: callStatistics,
  /** Buckets with at least one call, oldest first. */
  buckets: z.array(answer({ start: z.number(), ...callStatistics.shape })),
  /** Most called first; only without `agentId`. */
  agents: z.array(answer({ agentId: z.string(), name: z.string(), ...callStatistics.shape })),
});
/**
 * The calls of a period, in buckets of equal length. Figures of one agent leave out calls that say nothing about it: those
 * that never reached it, that the caller cancelled, or that it had less than ten seconds to answer.
 */
export type Statistics = z.output<typeof statistics>;
