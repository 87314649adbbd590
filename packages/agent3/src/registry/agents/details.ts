// Details of one agent.
import type { Kysely } from 'kysely';
import type { AgentDetails, Credential, Invocation } from '../../base/agents.ts';
import { cardView, readCard } from '../../cards/card.ts';
import { recentReviews } from '../records/feedback.ts';
import { type AgentRow, listedAgent, metricsOf, parse, rateLimitOf, summaryOf } from '../records/listing.ts';
import { partsOf } from '../records/ranking.ts';
import type { RegistrySchema } from '../records/schema.ts';
import { authenticationOf } from './authentication.ts';

type RowWithCard = AgentRow & { card: string };

export async function detailsOf(db: Kysely<RegistrySchema>, row: RowWithCard, now: number): Promise<AgentDetails> {
  const metrics = await metricsOf(db, [row]);
  return {
    ...summaryOf(row, metrics.get(row.id)),
    owner: row.owner,
    ...(row.proof === null ? {} : { proof: row.proof }),
    ...(row.hidden === null ? {} : { hidden: row.hidden }),
    score: partsOf(row, now),
    version: row.version,
    ...cardView(readCard(parse(row.card))),
    ...(row.card_url === null ? {} : { cardUrl: row.card_url }),
    registeredAt: new Date(row.registered_at).toISOString(),
    refreshedAt: new Date(row.refreshed_at).toISOString(),
    ...rateLimitOf(row),
    recentReviews: await recentReviews(db, row.id),
    ...(await asCaller(db, row)),
  };
}

/** Counts only calls of its owner, because any caller can give its id. */
async function asCaller(db: Kysely<RegistrySchema>, { id, owner }: AgentRow): Promise<Pick<AgentDetails, 'asCaller'>> {
  const { calls } = await db
    .selectFrom('agent3_calls')
    .select(({ fn }) => fn.countAll<number>().as('calls'))
    .where('user_agent_id', '=', id)
    .where('caller', '=', owner)
    .executeTakeFirstOrThrow();
  if (calls === 0) return {};
  const { ratings } = await db
    .selectFrom('agent3_feedback')
    .innerJoin('agent3_calls', 'agent3_calls.call_id', 'agent3_feedback.call_id')
    .select(({ fn }) => fn.countAll<number>().as('ratings'))
    .where('agent3_calls.user_agent_id', '=', id)
    .where('caller', '=', owner)
    .executeTakeFirstOrThrow();
  return { asCaller: { calls, ratings } };
}

export async function invocationOf(
  db: Kysely<RegistrySchema>,
  row: RowWithCard,
  credentials: readonly Credential[],
): Promise<Invocation> {
  const metrics = (await metricsOf(db, [row])).get(row.id);
  const agent = listedAgent(row);
  const { card, digest, verified, price } = agent;
  return {
    agentId: row.id,
    name: row.name,
    card,
    digest,
    verified,
    authentication: authenticationOf(agent, credentials),
    ...(price ? { price } : {}),
    ...(metrics ? { metrics } : {}),
  };
}
