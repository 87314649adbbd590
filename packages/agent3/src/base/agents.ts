// The types of registered agents: search results, details, prices, registrations and credentials.

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
  /** Calls and ratings that its owner made in its name (`userAgentId`); absent before the first one. */
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
