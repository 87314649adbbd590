// The types of what is kept about calls: the call log, ratings and statistics.
import type { CallErrorCode, TaskStateName } from './calls.ts';

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

export interface CallLogEntry extends Omit<CallRecord, 'startedAt'> {
  /** Absent when the agent is no longer registered. */
  agentName?: string;
  startedAt: string;
}

export interface CallLog {
  /** Newest first. */
  calls: CallLogEntry[];
  nextCursor?: string;
}

export interface Feedback {
  agentId: string;
  /** 1 to 5. */
  rating: number;
  feedback: string;
  receipt: string;
  /** Default: that of the call. A different one is refused. */
  userAgentId?: string;
}

export interface FeedbackResult {
  success: true;
  timestamp: string;
  message: string;
  /** The reputation after this rating; absent until someone other than the owner has rated. */
  reputation?: number;
}

export interface StatisticsQuery {
  /** Default: all agents. */
  agentId?: string;
  /** Milliseconds since 1970. */
  since: number;
  until: number;
  /** Length of one bucket in milliseconds. */
  bucketMs: number;
}

export interface CallStatistics {
  calls: number;
  successes: number;
  /** 0 to 1; 1 when there was no call. */
  successRate: number;
  /** US dollars, for the calls whose price is known. */
  cost: number;
  /** Milliseconds, mean. */
  averageResponseTime: number;
}

export interface Statistics {
  total: CallStatistics;
  /** Buckets with at least one call, oldest first. */
  buckets: (CallStatistics & { start: number })[];
  /** Most called first; only without `agentId`. Calls to unknown agents are left out. */
  agents: (CallStatistics & { agentId: string; name: string })[];
}
