// Registered agents: the types of searches and registrations, and the schemas and types of responses about agents.
import { z } from 'zod';
import { answer, count } from './answer.ts';
import type { McpServerJson } from './mcp-server.ts';

/** What an agent should be able to do, in words, and conditions it must meet. */
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

const price = answer({
  perCall: z.number().optional(),
  perMinute: z.number().optional(),
  perToken: z.number().optional(),
  currency: z.string(),
});
/** The price of a call, as the owner of the agent declares it. */
export type Price = z.output<typeof price>;

const metrics = answer({
  /** Milliseconds, median of recent calls. */
  avgResponseTime: z.number(),
  /** 0 to 1. */
  successRate: z.number(),
  totalCalls: count,
});
/** Measured over the calls to an agent: response time, success rate and count. */
export type AgentMetrics = z.output<typeof metrics>;

const agentSummary = answer({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  /** Mean rating, 1 to 5; absent until someone other than the owner has rated. */
  reputation: z.number().optional(),
  totalReviews: count,
  protocols: z.array(z.string()),
  verified: z.boolean(),
  tags: z.array(z.string()),
  price: price.optional(),
  health: z.enum(['up', 'down', 'unknown']),
  /** SHA-256 of the canonical card. */
  digest: z.string().optional(),
  /** The hub that lists it, if that is another one. */
  hub: z.string().optional(),
  /** mcp for MCP servers: they are connected, not called. Absent for agents. */
  kind: z.enum(['agent', 'mcp']).optional(),
  metrics: metrics.optional(),
});
/** An agent in the results of a search. */
export type AgentSummary = z.output<typeof agentSummary>;

export const searchPage = answer({
  agents: z.array(agentSummary),
  totalFound: count,
  /** Milliseconds. */
  searchTime: z.number(),
  nextCursor: z.string().optional(),
  /** Other hubs that were asked. */
  hubs: z.array(answer({ hub: z.string(), answered: z.boolean() })).optional(),
});
/** Agents that fit a query, best first. */
export type SearchPage = z.output<typeof searchPage>;

const rateLimit = answer({ calls: count, perSeconds: z.number() });
/** How often an agent may be called. */
export type RateLimit = z.output<typeof rateLimit>;

const review = answer({
  rater: z.string(),
  /** Which of the rater's agents made the call, according to the rater. */
  userAgentId: z.string().optional(),
  rating: z.number(),
  feedback: z.string(),
  timestamp: z.string(),
});
/** The rating of one call by its caller. */
export type Review = z.output<typeof review>;

const skill = answer({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  examples: z.array(z.string()),
});

const proof = z.enum(['card', 'signature', 'file']);

const standing = answer({
  /** 0 to 1: the part of the ranking that does not depend on the query. */
  standing: z.number(),
  /** 0 to 1 each; the page /scores shows how they are combined. */
  reputation: z.number(),
  success: z.number(),
  latency: z.number(),
  price: z.number(),
  /** Halves the standing. */
  isDown: z.boolean(),
});
/** What an agent's rank is made of, apart from how well it fits the query. */
export type Standing = z.output<typeof standing>;

export const agentDetails = answer({
  ...agentSummary.shape,
  owner: z.string(),
  /** How the owner proved that the agent is theirs; absent if they did not. */
  proof: proof.optional(),
  /** Why a moderator hid it; only its owner and admins see hidden agents. */
  hidden: z.string().optional(),
  score: standing.optional(),
  version: z.string(),
  provider: answer({ organization: z.string(), url: z.string() }).optional(),
  skills: z.array(skill),
  inputModes: z.array(z.string()),
  outputModes: z.array(z.string()),
  cardUrl: z.string().optional(),
  registeredAt: z.string(),
  refreshedAt: z.string(),
  rateLimit: rateLimit.optional(),
  recentReviews: z.array(review),
  /** Calls and ratings that its owner made in its name (`userAgentId`); absent before the first one. */
  asCaller: answer({ calls: count, ratings: count }).optional(),
});
/** Details of one agent: its card, metrics and reviews. */
export type AgentDetails = z.output<typeof agentDetails>;

export const claimResult = answer({
  proved: z.boolean(),
  proof: proof.optional(),
  /** What proves the ownership: a file with this content at this URL. */
  file: answer({ url: z.string(), content: z.string() }).optional(),
  message: z.string(),
});
/** Whether a claim was proved, or what would prove it. */
export type ClaimResult = z.output<typeof claimResult>;

export const reportList = answer({
  agents: z.array(
    answer({
      agentId: z.string(),
      name: z.string(),
      owner: z.string(),
      hidden: z.string().optional(),
      reports: z.array(answer({ reporter: z.string(), reason: z.string(), timestamp: z.string() })),
    }),
  ),
});
/** Agents that were reported or hidden, most reports first; for admins. */
export type ReportList = z.output<typeof reportList>;

/** Which agents to list: all of them, in the order of their registration. */
export interface ListingQuery {
  /** agent or mcp; default both. */
  kind?: 'agent' | 'mcp';
  /** 1 to 1,000, default 100. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
}

export const listing = answer({
  agents: z.array(
    answer({
      id: z.string(),
      card: z.record(z.string(), z.unknown()),
      cardUrl: z.string().optional(),
      tags: z.array(z.string()),
      registeredAt: z.string(),
      refreshedAt: z.string(),
    }),
  ),
  nextCursor: z.string().optional(),
});
/** One page of all agents with their cards, for other registries. */
export type Listing = z.output<typeof listing>;

/** An agent card as received, before any check. */
export type CardJson = Record<string, unknown>;

/** A registered agent, as the bridge sees it. */
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
  /** Why a moderator hid it. */
  hidden?: string;
}

export const invocation = answer({
  agentId: z.string(),
  name: z.string(),
  card: z.record(z.string(), z.unknown()),
  digest: z.string(),
  verified: z.boolean(),
  authentication: answer({
    /** The schemes the card requires. */
    schemes: z.array(z.string()),
    required: z.boolean(),
    /** Whether a call can send the credentials that the card requires and all that are registered. */
    available: z.boolean(),
    /** The kinds of registered credentials that a call sends. */
    sends: z.array(z.enum(['bearer', 'apiKey', 'basic', 'oauth2'])).optional(),
    /** Why `available` is false, and what to do. */
    problem: z.string().optional(),
  }),
  price: price.optional(),
  metrics: metrics.optional(),
});
/** How to call an agent directly: its card, and how it authenticates callers. */
export type Invocation = z.output<typeof invocation>;

/** What an owner registers: the card, the price, and credentials for calls. */
export interface Registration {
  cardUrl?: string;
  card?: CardJson;
  /** The address of an MCP server, which is listed beside agents. */
  mcpUrl?: string;
  /** The `server.json` of an MCP server. */
  server?: McpServerJson;
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
