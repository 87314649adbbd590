// The health of the hub: database, number of agents, latencies.
import type { Store } from '@pocket-agent/store';
import type { Kysely } from 'kysely';
import type { HubHealth } from '../../base/agent3.ts';
import type { RegistrySchema } from './schema.ts';

const SLOW_MS = 1_000;
const RECENT_MS = 86_400_000;

export async function hubHealth(
  { db, kind }: Store<RegistrySchema>,
  state: { now: number; searchLatency: number | undefined; version: string },
): Promise<HubHealth> {
  const { now, searchLatency, version } = state;
  const started = performance.now();
  const counted = await count(db, now).catch(() => undefined);
  const responseTime = Math.round((performance.now() - started) * 10) / 10;
  const { callLatency, ...network } = counted ?? {
    totalAgents: 0,
    activeAgents: 0,
    recentCalls: 0,
    totalFeedback: 0,
    callLatency: null,
  };
  return {
    status: counted === undefined ? 'unhealthy' : responseTime > SLOW_MS ? 'degraded' : 'healthy',
    timestamp: new Date(now).toISOString(),
    store: { kind, responseTime },
    network,
    performance: {
      searchLatency,
      ...(callLatency === null ? {} : { callLatency }),
    },
    version,
  };
}

async function count(db: Kysely<RegistrySchema>, now: number) {
  const agents = await db
    .selectFrom('agent3_agents')
    .select(({ fn }) => [
      fn.countAll<number>().as('total'),
      fn.countAll<number>().filterWhere('health', '=', 'up').as('active'),
    ])
    .executeTakeFirstOrThrow();
  const calls = await db
    .selectFrom('agent3_calls')
    .select(({ fn }) => [fn.countAll<number>().as('total'), fn.avg<number | null>('response_time').as('latency')])
    .where('started_at', '>', now - RECENT_MS)
    .executeTakeFirstOrThrow();
  const feedback = await db
    .selectFrom('agent3_feedback')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return {
    totalAgents: agents.total,
    activeAgents: agents.active,
    recentCalls: calls.total,
    totalFeedback: feedback.total,
    callLatency: calls.latency,
  };
}
