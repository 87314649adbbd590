// Call statistics over time, for the web pages.
import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { CallStatistics, Statistics, StatisticsQuery } from '../../base/call-records.ts';
import { canBeKey, checkInput } from '../../base/check-input.ts';
import { rowCountsForAgent } from './calls.ts';
import type { RegistrySchema } from './schema.ts';

const MAX_BUCKETS = 1_000;
const MAX_AGENTS = 50;

const statisticsQuery = z
  .object({
    agentId: z.string().refine(canBeKey).optional(),
    since: z.number().min(0),
    until: z.number().min(0),
    bucketMs: z.int().min(1_000),
  })
  .refine(({ since, until, bucketMs }) => (until - since) / bucketMs <= MAX_BUCKETS, {
    error: `bucketMs is too short: at most ${MAX_BUCKETS} buckets`,
  });

interface Sums {
  calls: number;
  successes: number;
  cost: number | null;
  time: number | null;
}

/** Figures of one agent leave out calls that say nothing about it, as its track record does. */
const sums = sql`count(*) as calls, cast(coalesce(sum(success), 0) as bigint) as successes,
  sum(cost) as cost, avg(response_time) as time`;

export async function callStatistics(db: Kysely<RegistrySchema>, input: StatisticsQuery): Promise<Statistics> {
  const { agentId, since, until, bucketMs } = checkInput(statisticsQuery, input);
  const within = sql`started_at >= ${Math.floor(since)} and started_at < ${Math.floor(until)}
    ${agentId === undefined ? sql`` : sql`and agent3_calls.agent_id = ${agentId} and ${rowCountsForAgent}`}`;
  const total = await sql<Sums>`select ${sums} from agent3_calls where ${within}`.execute(db);
  const bucket = sql`started_at - started_at % cast(${bucketMs} as bigint)`;
  const buckets = await sql<Sums & { start: number }>`
    select ${bucket} as start, ${sums} from agent3_calls where ${within} group by 1 order by 1`.execute(db);
  const agents =
    agentId === undefined
      ? await sql<Sums & { agent_id: string; name: string | null }>`
          select called.*, agent3_agents.name from (
            select agent_id, ${sums} from agent3_calls where ${within}
            and ${rowCountsForAgent} group by agent_id
            order by calls desc, agent_id limit ${MAX_AGENTS}) as called
          left join agent3_agents on agent3_agents.id = called.agent_id
          order by calls desc, agent_id`.execute(db)
      : { rows: [] };
  return {
    total: toStatistics(total.rows[0] ?? { calls: 0, successes: 0, cost: 0, time: 0 }),
    buckets: buckets.rows.map((row) => ({ start: row.start, ...toStatistics(row) })),
    agents: agents.rows.map((row) => ({ agentId: row.agent_id, name: row.name ?? row.agent_id, ...toStatistics(row) })),
  };
}

function toStatistics({ calls, successes, cost, time }: Sums): CallStatistics {
  return {
    calls,
    successes,
    successRate: calls === 0 ? 1 : successes / calls,
    cost: cost ?? 0,
    averageResponseTime: time ?? 0,
  };
}
