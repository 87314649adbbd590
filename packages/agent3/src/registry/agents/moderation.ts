// Moderation: owners report agents, admins hide them. A hidden agent is not found and not called.
import type { Kysely } from 'kysely';
import type { Caller } from '../../base/agent3.ts';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { ReportList } from '../../base/agents.ts';
import { cleanExcerpt } from '../../base/clean-text.ts';
import type { AgentRow } from '../records/listing.ts';
import type { RegistrySchema } from '../records/schema.ts';

const MAX_REASON_LENGTH = 2_000;
const MAX_LISTED = 100;
const MAX_REPORTS = 20;

type Database = Kysely<RegistrySchema>;

/** A second report by the same owner replaces the first. */
export async function addReport(
  db: Database,
  { agent, reason, caller, now }: { agent: AgentRow; reason: string; caller: Caller; now: number },
): Promise<void> {
  const change = { reason: cleanExcerpt(reason, MAX_REASON_LENGTH), created_at: now };
  await db
    .insertInto('agent3_reports')
    .values({ agent_id: agent.id, reporter: caller.id, ...change })
    .onConflict((conflict) => conflict.columns(['agent_id', 'reporter']).doUpdateSet(change))
    .execute();
}

export function checkAdmin({ isAdmin }: Caller): void {
  if (!isAdmin) throw new Agent3Error('FORBIDDEN', 'Only an admin may do that (AGENT3_ADMINS of the hub)');
}

/** Throws for everyone but admins and the owner if the agent is hidden. */
export function checkVisible({ hidden, owner }: AgentRow, reader: Caller | undefined): void {
  if (hidden === null || reader?.isAdmin || reader?.id === owner) return;
  throw new Agent3Error('AGENT_UNKNOWN', 'A moderator of this hub has hidden this agent; choose another one');
}

export async function listReports(db: Database): Promise<ReportList> {
  const counted = db
    .selectFrom('agent3_reports')
    .select(({ fn }) => ['agent_id', fn.countAll<number>().as('total')])
    .groupBy('agent_id')
    .as('counted');
  const agents = await db
    .selectFrom('agent3_agents')
    .leftJoin(counted, 'counted.agent_id', 'agent3_agents.id')
    .select(['id', 'name', 'owner', 'hidden'])
    .where(({ or, eb }) => or([eb('hidden', 'is not', null), eb('counted.total', '>', 0)]))
    .orderBy(({ fn }) => fn.coalesce('counted.total', (eb) => eb.val(0)), 'desc')
    .orderBy('id')
    .limit(MAX_LISTED)
    .execute();
  const reports =
    agents.length === 0
      ? []
      : await reportsOf(
          db,
          agents.map(({ id }) => id),
        );
  return {
    agents: agents.map(({ id, name, owner, hidden }) => ({
      agentId: id,
      name,
      owner,
      ...(hidden === null ? {} : { hidden }),
      reports: reports
        .filter(({ agent_id }) => agent_id === id)
        .slice(0, MAX_REPORTS)
        .map(({ reporter, reason, created_at }) => ({
          reporter,
          reason,
          timestamp: new Date(created_at).toISOString(),
        })),
    })),
  };
}

function reportsOf(db: Database, ids: readonly string[]) {
  return db
    .selectFrom('agent3_reports')
    .selectAll()
    .where('agent_id', 'in', ids)
    .orderBy('created_at', 'desc')
    .limit(MAX_LISTED * MAX_REPORTS)
    .execute();
}
