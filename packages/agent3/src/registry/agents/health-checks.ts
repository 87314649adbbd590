// Health checks: each agent is checked periodically, by one hub at a time, a few agents in parallel.
import { type Kysely, sql } from 'kysely';
import { readCard } from '../../cards/card.ts';
import type { CardSource } from '../../cards/card-source.ts';
import { updateRecord } from '../records/calls.ts';
import type { AgentRow } from '../records/listing.ts';
import type { RegistrySchema } from '../records/schema.ts';
import type { Freshness } from './freshness.ts';

const LEASE_MS = 60_000;

export interface HealthCheckOptions {
  db: Kysely<RegistrySchema>;
  kind: 'sqlite' | 'postgres';
  source: CardSource;
  freshness: Freshness;
  now: () => number;
  intervalMs: number;
  concurrency: number;
  /** Stops after the checks that are running. */
  signal: AbortSignal;
}

/** Checks the agents that are due now and returns how many. Agents that become due during the round wait for the next one. */
export async function checkHealth(options: HealthCheckOptions): Promise<number> {
  const due = options.now();
  let checked = 0;
  const work = async () => {
    while (!options.signal.aborted) {
      const row = await claim(options, due);
      if (!row) return;
      checked += 1;
      await check(options, row);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return checked;
}

/** Leases the agent that has been due longest. */
async function claim({ db, kind, now }: HealthCheckOptions, due: number): Promise<AgentRow | undefined> {
  const time = now();
  const { rows } = await sql<AgentRow>`
    update agent3_agents set health_leased_until = ${time + LEASE_MS} where number = (
      select number from agent3_agents where health_due <= ${due} and health_leased_until <= ${time}
      order by health_due limit 1 ${kind === 'postgres' ? sql`for update skip locked` : sql``})
    returning *`.execute(db);
  return rows[0];
}

async function check(options: HealthCheckOptions, row: AgentRow): Promise<void> {
  const { db, now, intervalMs, signal } = options;
  const isUp = await answers(options, row).catch(() => false);
  if (!isUp && signal.aborted) {
    // the check was aborted; another hub may repeat it immediately
    await db.updateTable('agent3_agents').set({ health_leased_until: 0 }).where('id', '=', row.id).execute();
    return;
  }
  await db.transaction().execute(async (transaction) => {
    const health = isUp === undefined ? 'unknown' : isUp ? 'up' : 'down';
    await updateRecord(transaction, { agentId: row.id, now: now(), change: () => ({ health }) });
    // jitter, so that agents registered together are not checked together forever
    const due = now() + Math.round(intervalMs * (0.9 + Math.random() * 0.2));
    await transaction
      .updateTable('agent3_agents')
      .set({ health_due: due, health_leased_until: 0 })
      .where('id', '=', row.id)
      .execute();
  });
}

/** Undefined if the agent has no http address. */
async function answers({ source, freshness }: HealthCheckOptions, row: AgentRow): Promise<boolean | undefined> {
  if (row.card_url !== null) {
    await freshness.refresh(row);
    return true;
  }
  const agent = await freshness.find(row.id);
  // gRPC interfaces and packages have no http address
  const found = agent && readCard(agent.card).supportedInterfaces.find(({ url }) => /^https?:/i.test(url));
  return found && source.answers(found.url);
}
