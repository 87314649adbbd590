// The shapes Agent3 speaks in: one interface, `Agent3`, in this process or at the other end of an HTTP API.

/** Everything the tools, the HTTP API and the web page stand on. `caller` is whoever asks; see `Caller`. */
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
  /** The call log: the calls of the caller, or all for an admin. */
  calls(query: CallLogQuery, caller: Caller): Promise<CallLog>;
  health(): Promise<HubHealth>;
  close(): Promise<void>;
}

/** Who asks. `id` scopes tasks, receipts, rate limits and what may be changed. */
export interface Caller {
  id: string;
  /** May change and remove what others have registered. */
  isAdmin?: boolean;
  /** Came by no hub: while nobody else uses the registry, their ratings of what they registered count. */
  isLocal?: boolean;
}

export interface SearchQuery {
  query: string;
  /** 1 to 50, default 10. */
  limit?: number;
  /** From `nextCursor` of the page before. */
  cursor?: string;
  filters?: {
    /** 1 to 5, the one scale. */
    minReputation?: number;
    protocols?: readonly string[];
    /** Only agents whose card carries a signature that was verified. */
    verified?: boolean;
    tags?: readonly string[];
    /** US dollars a call. */
    maxPricePerCall?: number;
    /** Only those that answered their last health check. */
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
  /** Mean rating, 1 to 5; absent until somebody else than its owner rated. */
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
  /** What its owner did in its name (`userAgentId`); absent if nothing. */
  asCaller?: { calls: number; ratings: number };
}

export interface Review {
  rater: string;
  /** Which of the rater's agents made the call, as they say. */
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

/** A card in its JSON form, as it came over the wire. */
export type CardJson = Record<string, unknown>;

/** What the directory knows of an agent that is to be called. */
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
  /** Its calls may be sent again when the outcome of one is unknown. */
  idempotent: boolean;
}

export interface Invocation {
  agentId: string;
  name: string;
  card: CardJson;
  digest: string;
  verified: boolean;
  authentication: {
    /** Those the card asks for. */
    schemes: string[];
    required: boolean;
    /** A call sends what the card asks for, and whatever else is registered for its host. */
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
  /** Default text/plain; application/json sends `message` parsed, as data. */
  inputMode?: string;
  files?: readonly { name: string; mediaType: string; base64: string }[];
  skillId?: string;
  /** The `taskHandle` of an answer: the message goes on with that task. */
  taskId?: string;
  /** The `contextId` of an answer: the message is one more in that conversation. */
  contextId?: string;
  /** wait (default): until there is an answer. start: return as soon as there is a task. */
  mode?: 'wait' | 'start';
  metadata?: {
    /** Which of the caller's agents calls: kept in the call log, shown with its ratings, which it weighs. */
    userAgentId?: string;
    /** Milliseconds over everything, default 30,000. */
    timeout?: number;
    streaming?: boolean;
    /** Default 1. After a refused connection, 429 or 503; after other failures only for agents that are idempotent. */
    retries?: number;
    /** US dollars; a call that can cost more, or whose price is unknown, is refused. By the token it is stopped there. */
    maxCost?: number;
    /** What somebody said yes to; a call is refused when the declared price is higher by now. */
    agreedPrice?: Price;
  };
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Told of what streams in. */
  onProgress?: (update: CallProgress) => void;
}

export interface CallProgress {
  message: string;
  state?: TaskStateName;
  /** For a piece of the answer: whether it goes on where the piece before it ended. */
  continues?: boolean;
}

export type TaskStateName =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'
  | 'input-required'
  | 'auth-required';

export type TaskRequest =
  | { action: 'get' | 'wait' | 'cancel'; taskHandle: string; timeout?: number }
  /** The rest as in the metadata of a call. */
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
  /** Bounded and cleaned; `untrusted` says that a stranger wrote it. */
  result?: CallResult;
  error?: string;
  errorCode?: CallErrorCode;
  metadata: {
    responseTime: number;
    tokensUsed?: number;
    /** The agent reports no usage: `tokensUsed`, and a cost by the token, are estimated from the text. */
    tokensEstimated?: boolean;
    /** US dollars by the declared price; absent when there is none. */
    cost?: number;
    statusCode?: number;
    retryCount: number;
    /** Seconds, when the agent or a limit of ours says so. */
    retryAfter?: number;
  };
  /** To continue, wait, reply or cancel with `task`; also when a deadline passed. */
  task?: { taskHandle: string; agentId?: string; state: TaskStateName; question?: string };
  /** To go on in the same conversation; good for this caller and agent only. */
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
  /** Default: that of the call. Another one than that of the call is refused. */
  userAgentId?: string;
}

export interface FeedbackResult {
  success: true;
  timestamp: string;
  message: string;
  /** As others see it now; absent until somebody else than its owner rated. */
  reputation?: number;
}

export interface Registration {
  cardUrl?: string;
  card?: CardJson;
  price?: Price;
  /** Default true. False for what a model asks for: paid calls need the consent of a person. */
  mayLowerPrice?: boolean;
  rateLimit?: RateLimit;
  tags?: readonly string[];
  idempotent?: boolean;
  credentials?: readonly Credential[];
}

/**
 * Kept encrypted; sent only to `host` (`name` or `name:port`; default that of the card's URL, or of the card itself
 * when it was registered without one), in the scheme the card asks for. `scheme` is a name in `securitySchemes`.
 */
export type Credential = { scheme?: string; host?: string } & (
  | { type: 'bearer'; token: string }
  | { type: 'apiKey'; key: string }
  | { type: 'basic'; username: string; password: string }
  | { type: 'oauth2'; clientId: string; clientSecret: string; tokenUrl?: string; scopes?: readonly string[] }
);

/** What the bridge tells the directory of every call; kept as the audit log. */
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
  /** Of one caller; others than oneself only for admins. */
  caller?: string;
  /** 1 to 200, default 50. */
  limit?: number;
  /** From `nextCursor` of the page before. */
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

/** What the bridge needs of the registry. */
export interface BudgetLimits {
  /** US dollars in a day (UTC), of all callers together. */
  perDay?: number;
  /** The same, of each caller. */
  perCallerPerDay?: number;
}

export interface Budgets extends BudgetLimits {
  /** US dollars in a day for one caller, by id; goes before `perCallerPerDay`. */
  byCaller?: ReadonlyMap<string, number>;
}

export interface Spending {
  /** As 2026-12-31, in UTC. */
  day: string;
  caller: string;
  /** US dollars; negative when less was spent than set aside. */
  amount: number;
  limits?: BudgetLimits;
}

export interface Directory {
  find(agentId: string): Promise<ListedAgent | undefined>;
  /** Fetched again when it is stale; the old one when that fails and it is not too old. */
  fresh(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined>;
  /** Fetched again although it is not stale, after a call suggested that the agent has moved. */
  renewed(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined>;
  credentials(agentId: string): Promise<readonly Credential[]>;
  /** Seconds to wait, or undefined when the call may go out (and is counted). */
  admit(agent: ListedAgent, caller: string): Promise<number | undefined>;
  /** Counts what was spent, or nothing of it and tells which limit it would exceed. */
  spend(spending: Spending): Promise<keyof BudgetLimits | undefined>;
  /** Returns a receipt. */
  record(call: CallRecord): Promise<string>;
  saveTask(task: KnownTask): Promise<void>;
  task(taskHandle: string): Promise<KnownTask | undefined>;
}

/** A task at an agent that somebody may come back to. */
export interface KnownTask {
  taskHandle: string;
  agentId: string;
  caller: string;
  taskId: string;
  contextId?: string;
  state: TaskStateName;
  /** The last word of a push notification, as JSON. */
  pushed?: string;
  updatedAt: number;
}

export interface StatisticsQuery {
  /** Of one agent; of all when absent. */
  agentId?: string;
  /** Milliseconds since 1970. */
  since: number;
  until: number;
  /** Length of one piece of time in milliseconds. */
  bucketMs: number;
}

export interface CallStatistics {
  calls: number;
  successes: number;
  /** 0 to 1; 1 when there was no call. */
  successRate: number;
  /** US dollars, of the calls whose price is known. */
  cost: number;
  /** Milliseconds, mean. */
  averageResponseTime: number;
}

export interface Statistics {
  total: CallStatistics;
  /** Those in which there was a call, oldest first. */
  buckets: (CallStatistics & { start: number })[];
  /** The most called, first; only when all agents are asked for. What callers took for an agent is not among them. */
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
