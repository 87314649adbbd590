// Converts rows of the registry to public types.
import type { Kysely, Selectable } from 'kysely';
import { sql } from 'kysely';
import type {
  AgentMetrics,
  AgentSummary,
  CardJson,
  ListedAgent,
  Listing,
  ListingQuery,
  Price,
  RateLimit,
} from '../../base/agents.ts';
import { checkInput } from '../../base/check-input.ts';
import { listingRequest } from '../../base/requests.ts';
import { rowCountsForAgent } from './calls.ts';
import { reputationOf } from './ranking.ts';
import type { AgentTable, RegistrySchema } from './schema.ts';

export type AgentRow = Selectable<AgentTable>;

const RECENT_CALLS = 50;

export function listedAgent(row: AgentRow & { card: string }): ListedAgent {
  return {
    agentId: row.id,
    card: parse<CardJson>(row.card),
    ...(row.card_url === null ? {} : { cardUrl: row.card_url }),
    digest: row.digest,
    verified: row.verified === 1,
    owner: row.owner,
    ...priceOf(row),
    ...rateLimitOf(row),
    idempotent: row.idempotent === 1,
    ...(row.hidden === null ? {} : { hidden: row.hidden }),
  };
}

export function summaryOf(row: AgentRow, metrics: AgentMetrics | undefined): AgentSummary {
  const reputation = reputationOf(row);
  const protocols = parse<string[]>(row.protocols);
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    ...(reputation === undefined ? {} : { reputation }),
    totalReviews: row.rating_count,
    protocols,
    digest: row.digest,
    ...(protocols[0] === 'mcp' ? { kind: 'mcp' as const } : {}),
    verified: row.verified === 1,
    tags: parse<string[]>(row.tags),
    ...priceOf(row),
    health: row.health,
    ...(metrics ? { metrics } : {}),
  };
}

export function rateLimitOf({ rate_calls, rate_seconds }: AgentRow): { rateLimit?: RateLimit } {
  if (rate_calls === null || rate_seconds === null) return {};
  return { rateLimit: { calls: rate_calls, perSeconds: rate_seconds } };
}

export function priceOf({ price }: AgentRow): { price?: Price } {
  return price === null ? {} : { price: parse<Price>(price) };
}

/** In the order of registration, without hidden agents. */
export async function listAgents(db: Kysely<RegistrySchema>, query: ListingQuery): Promise<Listing> {
  const { kind, limit, cursor = '0' } = checkInput(listingRequest, query);
  let rows = db
    .selectFrom('agent3_agents')
    .innerJoin('agent3_cards', 'agent_number', 'number')
    .select(['number', 'id', 'card', 'card_url', 'tags', 'registered_at', 'refreshed_at'])
    .where('hidden', 'is', null)
    .where('number', '>', Number(cursor))
    .orderBy('number')
    .limit(limit + 1);
  // the protocols of MCP servers begin with mcp
  if (kind) rows = rows.where('protocols', kind === 'mcp' ? 'like' : 'not like', '["mcp"%');
  const found = await rows.execute();
  const last = found[limit - 1];
  return {
    agents: found.slice(0, limit).map((row) => ({
      id: row.id,
      card: parse<CardJson>(row.card),
      ...(row.card_url === null ? {} : { cardUrl: row.card_url }),
      tags: parse<string[]>(row.tags),
      registeredAt: new Date(row.registered_at).toISOString(),
      refreshedAt: new Date(row.refreshed_at).toISOString(),
    })),
    ...(found.length > limit && last ? { nextCursor: String(last.number) } : {}),
  };
}

/** The latency is the median of recent calls that reached the agent. Agents without calls have no metrics. */
export async function metricsOf(
  db: Kysely<RegistrySchema>,
  rows: readonly AgentRow[],
): Promise<Map<string, AgentMetrics>> {
  const called = rows.filter(({ calls }) => calls > 0);
  if (called.length === 0) return new Map();
  const recent = called.map(
    ({ id }) => sql`select * from (select agent_id, response_time from agent3_calls where agent_id = ${id}
      and ${rowCountsForAgent} order by started_at desc limit ${RECENT_CALLS}) as recent`,
  );
  const times = await sql<{ agent_id: string; response_time: number }>`${sql.join(recent, sql` union all `)}`.execute(
    db,
  );
  const byAgent = Map.groupBy(times.rows, ({ agent_id }) => agent_id);
  return new Map(
    called.map(({ id, calls, successes }) => [
      id,
      {
        avgResponseTime: median((byAgent.get(id) ?? []).map(({ response_time }) => response_time)),
        successRate: successes / calls,
        totalCalls: calls,
      },
    ]),
  );
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? 0;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? 0) + upper) / 2 : upper;
}

/** Parses JSON from our own tables. */
export function parse<Value>(json: string): Value {
  return JSON.parse(json);
}
