// What owners agree to spend, and monthly statements of what they paid.
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { type Account, type Allowance, allowance, type Statement, statementRequest } from '../../base/account.ts';
import { checkInput } from '../../base/check-input.ts';
import { entryOf } from './call-log.ts';
import type { Receipts } from './calls.ts';
import type { RegistrySchema } from './schema.ts';
import { dayOf, monthOf } from './spending.ts';

const MAX_RECEIPTS = 1_000;
const MAX_AGENTS = 1_000;

type Database = Kysely<RegistrySchema>;

export async function readAllowance(db: Database, owner: string): Promise<Allowance> {
  const row = await db.selectFrom('agent3_allowances').selectAll().where('owner', '=', owner).executeTakeFirst();
  if (!row) return {};
  return {
    ...(row.per_call === null ? {} : { perCall: row.per_call }),
    ...(row.per_day === null ? {} : { perDay: row.per_day }),
    ...(row.per_month === null ? {} : { perMonth: row.per_month }),
  };
}

export async function writeAllowance(
  db: Database,
  { owner, limits, now }: { owner: string; limits: Allowance; now: number },
): Promise<void> {
  const { perCall = null, perDay = null, perMonth = null } = checkInput(allowance, limits);
  const columns = { per_call: perCall, per_day: perDay, per_month: perMonth, agreed_at: now };
  await db
    .insertInto('agent3_allowances')
    .values({ owner, ...columns })
    .onConflict((conflict) => conflict.column('owner').doUpdateSet(columns))
    .execute();
}

export async function spentBy(db: Database, owner: string, now: number): Promise<Account['spent']> {
  const rows = await db
    .selectFrom('agent3_spending')
    .select(['day', 'spent'])
    .where('caller', '=', owner)
    .where('day', 'in', [dayOf(now), monthOf(now)])
    .execute();
  const spent = (day: string) => rows.find((row) => row.day === day)?.spent ?? 0;
  return { today: spent(dayOf(now)), thisMonth: spent(monthOf(now)) };
}

interface StatementOptions {
  owner: string;
  month: string | undefined;
  receipts: Receipts;
  now: number;
}

/** The paid calls of a month (UTC). */
export async function monthlyStatement(db: Database, options: StatementOptions): Promise<Statement> {
  const { owner, receipts, now } = options;
  const { month = new Date(now).toISOString().slice(0, 7) } = checkInput(statementRequest, { month: options.month });
  const [year = 0, number = 1] = month.split('-').map(Number);
  const [since, until] = [Date.UTC(year, number - 1), Date.UTC(year, number)];
  const paid = sql`caller = ${owner} and started_at >= ${since} and started_at < ${until} and cost > 0`;
  const day = sql`started_at - started_at % 86400000`;
  const [total, agents, days] = await Promise.all([
    sql<Sum>`select count(*) as calls, sum(cost) as cost from agent3_calls where ${paid}`.execute(db),
    sql<Sum & { agent_id: string; name: string | null }>`
      select spent.*, agent3_agents.name from (
        select agent_id, count(*) as calls, sum(cost) as cost from agent3_calls where ${paid} group by agent_id
        order by cost desc, agent_id limit ${MAX_AGENTS}) as spent
      left join agent3_agents on agent3_agents.id = spent.agent_id order by cost desc, agent_id`.execute(db),
    sql<Sum & { start: number }>`select ${day} as start, count(*) as calls, sum(cost) as cost from agent3_calls
      where ${paid} group by 1 order by 1`.execute(db),
  ]);
  const calls = await db
    .selectFrom('agent3_calls')
    .leftJoin('agent3_agents', 'agent3_agents.id', 'agent3_calls.agent_id')
    .selectAll('agent3_calls')
    .select('agent3_agents.name')
    .where('caller', '=', owner)
    .where('started_at', '>=', since)
    .where('started_at', '<', until)
    .where('cost', '>', 0)
    .orderBy('started_at', 'desc')
    .limit(MAX_RECEIPTS)
    .execute();
  return {
    owner,
    month,
    currency: 'USD',
    ...sumOf(total.rows[0]),
    agents: agents.rows.map((row) => ({ agentId: row.agent_id, name: row.name ?? row.agent_id, ...sumOf(row) })),
    days: days.rows.map((row) => ({ day: dayOf(row.start), ...sumOf(row) })),
    receipts: calls.map((row) => entryOf(row, receipts)),
  };
}

interface Sum {
  calls: number;
  cost: number | null;
}

/** Sums of binary fractions are rounded, so that ten times $0.1 is $1. */
function sumOf({ calls, cost }: Sum = { calls: 0, cost: 0 }): { calls: number; cost: number } {
  return { calls, cost: Math.round((cost ?? 0) * 1e9) / 1e9 };
}
