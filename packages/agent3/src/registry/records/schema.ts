// The tables of the registry. In both databases, times are milliseconds, booleans are 0 or 1, lists and cards are JSON text.
import type { Generated, Selectable } from 'kysely';

export interface RegistrySchema {
  agent3_agents: AgentTable;
  agent3_cards: { agent_number: number; card: string };
  agent3_endpoints: { agent_number: number; address: string };
  agent3_credentials: { agent_number: number; sealed: string };
  agent3_calls: CallTable;
  agent3_feedback: FeedbackTable;
  agent3_former: FormerTable;
  agent3_reports: { agent_id: string; reporter: string; reason: string; created_at: number };
  agent3_allowances: AllowanceTable;
  agent3_tokens: { id: string; owner: string; name: string; created_at: number; expires_at: number };
  agent3_rate_windows: { key: string; uses: string; expires_at: number };
  /** US dollars; an empty caller is the sum of all callers. `day` is 2026-12-31, or `month 2026-12`. */
  agent3_spending: { day: string; caller: string; spent: number };
  agent3_tasks: TaskTable;
  /** 32-bit floats as base64. */
  agent3_vectors: { agent_number: number; vector: string };
  agent3_words: { word: string };
  agent3_word_grams: { gram: string; word: string };
  agent3_settings: { name: string; value: string };
}

export interface AgentTable {
  number: Generated<number>;
  id: string;
  /** Stays the same when the agent is registered again. */
  identity: string;
  owner: string;
  name: string;
  description: string;
  version: string;
  card_url: string | null;
  digest: string;
  etag: string | null;
  verified: number;
  price: string | null;
  /** US dollars. */
  price_per_call: number | null;
  rate_calls: number | null;
  rate_seconds: number | null;
  idempotent: number;
  /** Tags of the registration, without the tags of the skills. */
  own_tags: string;
  tags: string;
  protocols: string;
  registered_at: number;
  refreshed_at: number;
  fresh_until: number;
  health: Generated<'up' | 'down' | 'unknown'>;
  health_due: number;
  health_leased_until: Generated<number>;
  calls: Generated<number>;
  successes: Generated<number>;
  /** Milliseconds, exponential moving average; for ranking only. */
  latency: number | null;
  rating_count: Generated<number>;
  rating_sum: Generated<number>;
  rating_weight: Generated<number>;
  standing: number;
  /** Why a moderator hid the agent; null if it is shown. */
  hidden: string | null;
  /** How the owner proved that the agent is theirs; null if it is not proved. */
  proof: 'card' | 'signature' | 'file' | null;
  /** The host of its card, or of its first interface. */
  host: Generated<string>;
  /** The address that calls go to, in a normalized form. */
  service: Generated<string>;
  /** The rating it starts with, if that is not the rating of all new agents. */
  prior_rating: number | null;
}

/** What an owner has agreed to spend, in US dollars. */
interface AllowanceTable {
  owner: string;
  per_call: number | null;
  per_day: number | null;
  per_month: number | null;
  agreed_at: number;
}

export interface CallTable {
  call_id: string;
  agent_id: string;
  caller: string;
  user_agent_id: string | null;
  started_at: number;
  response_time: number;
  success: number;
  error_code: string | null;
  status_code: number | null;
  retry_count: number;
  cost: number | null;
  tokens_used: number | null;
  tokens_estimated: number | null;
  state: string | null;
  request_digest: string;
  response_digest: string | null;
}

interface FeedbackTable {
  call_id: string;
  agent_id: string;
  rater: string;
  user_agent_id: Generated<string | null>;
  rating: number;
  text: string;
  created_at: number;
  /** 0 for a rating of one's own agent. */
  counts: Generated<number>;
}

/** The track record of a removed agent, in case it is registered again. */
export type FormerTable = Pick<
  Selectable<AgentTable>,
  | 'identity'
  | 'id'
  | 'owner'
  | 'host'
  | 'service'
  | 'calls'
  | 'successes'
  | 'latency'
  | 'rating_count'
  | 'rating_sum'
  | 'rating_weight'
>;

interface TaskTable {
  task_handle: string;
  agent_id: string;
  caller: string;
  task_id: string;
  context_id: string | null;
  state: string;
  pushed: string | null;
  updated_at: number;
  expires_at: number;
}
