// The types of Agent3. `Agent3` itself is implemented in this process and as a client of a hub.
import type { TaskStateName } from '@pocket-agent/a2a/client';

export type { TaskStateName };

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

export interface SearchQuery {
  query: string;
  /** 1 to 50, default 10. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  filters?: {
    /** 1 to 5. */
    minReputation?: number;
    protocols?: readonly string[];
    /** Only agents whose card has a verified signature. */
    verified?: boolean;
    tags?: readonly string[];
    /** US dollars per call. */
    maxPricePerCall?: number;
    /** Only agents that answered their last health check. */
    healthy?: boolean;
  };
}

export interface SearchPage {
  agents: AgentSummary[];
  totalFound: number;
  /** Milliseconds. */
  searchTime: number;
  nextCursor?: string;
}

export interface AgentSummary {
  id: string;
  name: string;
  description: string;
  /** Mean rating, 1 to 5; absent until someone other than the owner has rated. */
  reputation?: number;
  totalReviews: number;
  protocols: string[];
  verified: boolean;
  tags: string[];
  price?: Price;
  health: 'up' | 'down' | 'unknown';
  metrics?: AgentMetrics;
}

export interface AgentMetrics {
  /** Milliseconds, median of recent calls. */
  avgResponseTime: number;
  /** 0 to 1. */
  successRate: number;
  totalCalls: number;
}

export interface AgentDetails extends AgentSummary {
  owner: string;
  version: string;
  provider?: { organization: string; url: string };
  skills: { id: string; name: string; description: string; tags: string[]; examples: string[] }[];
  inputModes: string[];
  outputModes: string[];
  cardUrl?: string;
  registeredAt: string;
  refreshedAt: string;
  rateLimit?: RateLimit;
  recentReviews: Review[];
  /** Calls and ratings its owner made in its name (`userAgentId`); absent if there are none. */
  asCaller?: { calls: number; ratings: number };
}

export interface Review {
  rater: string;
  /** Which of the rater's agents made the call, according to the rater. */
  userAgentId?: string;
  rating: number;
  feedback: string;
  timestamp: string;
}

export interface Price {
  perCall?: number;
  perMinute?: number;
  perToken?: number;
  currency: string;
}

export interface RateLimit {
  calls: number;
  perSeconds: number;
}

/** An agent card as received, before any check. */
export type CardJson = Record<string, unknown>;

/** What the bridge gets to know about an agent. */
export interface ListedAgent {
  agentId: string;
  card: CardJson;
  cardUrl?: string;
  /** sha256 of the canonical card. */
  digest: string;
  verified: boolean;
  owner: string;
  price?: Price;
  rateLimit?: RateLimit;
  /** A call with an unknown outcome may be sent again. */
  idempotent: boolean;
}

export interface Invocation {
  agentId: string;
  name: string;
  card: CardJson;
  digest: string;
  verified: boolean;
  authentication: {
    /** The schemes the card requires. */
    schemes: string[];
    required: boolean;
    /** Whether a call can send what the card requires, and everything registered for its host. */
    available: boolean;
    /** The kinds of registered credentials that a call sends. */
    sends?: Credential['type'][];
    /** Why it is not available, and what to do. */
    problem?: string;
  };
  price?: Price;
  metrics?: AgentMetrics;
}

export interface CallRequest {
  agentId: string;
  message: string;
  /** Default text/plain; with application/json, `message` is parsed and sent as data. */
  inputMode?: string;
  files?: readonly { name: string; mediaType: string; base64: string }[];
  skillId?: string;
  /** The `taskHandle` of a response: the message continues that task. */
  taskId?: string;
  /** The `contextId` of a response: the message continues that conversation. */
  contextId?: string;
  /** wait (default): return the answer. start: return as soon as the agent has created a task. */
  mode?: 'wait' | 'start';
  metadata?: {
    /** Which of the caller's agents makes the call: kept in the call log, shown with its ratings and used to weigh them. */
    userAgentId?: string;
    /** Milliseconds for the whole call, default 30,000. */
    timeout?: number;
    streaming?: boolean;
    /** Default 1. After a refused connection, 429 or 503; after other failures only for idempotent agents. */
    retries?: number;
    /** US dollars. A call that can cost more, or whose price is unknown, is refused; one priced by the token stops there. */
    maxCost?: number;
    /** The price a person agreed to; the call is refused if the declared price is higher by now. */
    agreedPrice?: Price;
  };
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Gets what the agent streams. */
  onProgress?: (update: CallProgress) => void;
}

export interface CallProgress {
  message: string;
  state?: TaskStateName;
  /** For a piece of the answer: whether it continues the previous piece. */
  continues?: boolean;
}

export type TaskRequest =
  | { action: 'get' | 'wait' | 'cancel'; taskHandle: string; timeout?: number }
  /** The other fields mean the same as in the metadata of a call. */
  | {
      action: 'reply';
      taskHandle: string;
      message: string;
      userAgentId?: string;
      timeout?: number;
      maxCost?: number;
      agreedPrice?: Price;
    };

export interface CallResponse {
  success: boolean;
  /** Size-limited and cleaned; `untrusted` marks it as third-party content. */
  result?: CallResult;
  error?: string;
  errorCode?: CallErrorCode;
  metadata: {
    responseTime: number;
    tokensUsed?: number;
    /** The agent reports no usage: `tokensUsed` and the cost per token are estimated from the text. */
    tokensEstimated?: boolean;
    /** US dollars by the declared price; absent without one. */
    cost?: number;
    statusCode?: number;
    retryCount: number;
    /** Seconds, if the agent or one of our limits asks to wait. */
    retryAfter?: number;
  };
  /** To wait for, reply to or cancel the task with `task`; also present after a timeout. */
  task?: { taskHandle: string; agentId?: string; state: TaskStateName; question?: string };
  /** Continues the conversation; valid for this caller and agent only. */
  contextId?: string;
  /** Proof of the call, for `feedback`. */
  receipt?: string;
}

export interface CallResult {
  untrusted: true;
  text: string;
  data?: unknown[];
  files?: { name?: string; mediaType: string; base64?: string; url?: string }[];
  truncated: boolean;
}

export type CallErrorCode =
  | 'AGENT_UNKNOWN'
  | 'INPUT_INVALID'
  | 'REFUSED'
  | 'BUDGET'
  | 'RATE_LIMITED'
  | 'AUTH_MISSING'
  | 'AUTH_FAILED'
  | 'ADDRESS_REFUSED'
  | 'UNREACHABLE'
  | 'TIMEOUT'
  | 'TOO_LARGE'
  | 'PROTOCOL'
  | 'AGENT_ERROR'
  | 'TASK_FAILED'
  | 'TASK_UNKNOWN'
  | 'CANCELED';

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

export interface Registration {
  cardUrl?: string;
  card?: CardJson;
  price?: Price;
  /** Default true. False for registrations by a model, because paid calls need the consent of a person. */
  mayLowerPrice?: boolean;
  rateLimit?: RateLimit;
  tags?: readonly string[];
  idempotent?: boolean;
  credentials?: readonly Credential[];
}

/**
 * Stored encrypted and sent only to `host` (`name` or `name:port`; default: the host of the card's URL, or of its
 * interface if it was registered without a URL), in the scheme the card requires. `scheme` is a name in `securitySchemes`.
 */
export type Credential = { scheme?: string; host?: string } & (
  | { type: 'bearer'; token: string }
  | { type: 'apiKey'; key: string }
  | { type: 'basic'; username: string; password: string }
  | { type: 'oauth2'; clientId: string; clientSecret: string; tokenUrl?: string; scopes?: readonly string[] }
);

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

export interface BudgetLimits {
  /** US dollars per day (UTC), for all callers together. */
  perDay?: number;
  /** US dollars per day (UTC), for each caller. */
  perCallerPerDay?: number;
}

export interface Budgets extends BudgetLimits {
  /** US dollars per day by caller id; overrides `perCallerPerDay`. */
  byCaller?: ReadonlyMap<string, number>;
}

export interface Spending {
  /** UTC, like 2026-12-31. */
  day: string;
  caller: string;
  /** US dollars; negative to release a part of what was reserved. */
  amount: number;
  limits?: BudgetLimits;
}

/** What the bridge needs from the registry. */
export interface Directory {
  find(agentId: string): Promise<ListedAgent | undefined>;
  /** Fetches a stale card again; if that fails, returns the old one unless it is too old. */
  fresh(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined>;
  /** Fetches the card even if it is not stale, after a failed call suggested that the agent has moved. */
  renewed(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined>;
  credentials(agentId: string): Promise<readonly Credential[]>;
  /** Counts the call, or returns the seconds to wait if a rate limit is reached. */
  admit(agent: ListedAgent, caller: string): Promise<number | undefined>;
  /** Counts the amount, or counts nothing and returns the limit it would exceed. */
  spend(spending: Spending): Promise<keyof BudgetLimits | undefined>;
  /** Returns a receipt. */
  record(call: CallRecord): Promise<string>;
  saveTask(task: KnownTask): Promise<void>;
  task(taskHandle: string): Promise<KnownTask | undefined>;
}

/** A task at an agent that its caller may come back to. */
export interface KnownTask {
  taskHandle: string;
  agentId: string;
  caller: string;
  taskId: string;
  contextId?: string;
  state: TaskStateName;
  /** The latest push notification, as JSON. */
  pushed?: string;
  updatedAt: number;
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

export interface HubHealth {
  status: 'healthy' | 'degraded' | 'unhealthy';
  timestamp: string;
  store: { kind: 'sqlite' | 'postgres'; responseTime: number };
  network: { totalAgents: number; activeAgents: number; recentCalls: number; totalFeedback: number };
  performance: { searchLatency?: number; callLatency?: number };
  version: string;
}
