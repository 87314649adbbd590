// Spending per day and month, in total and by caller, exact across all hubs that share a database.
import type { Kysely, Transaction } from 'kysely';
import type { BudgetLimits, Spending } from '../../bridge/directory.ts';
import type { RegistrySchema } from './schema.ts';

/** Not a valid caller id. */
const ALL = '';

/** UTC, such as 2026-12-31. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** UTC, such as `month 2026-12`. */
export function monthOf(time: number): string {
  return `month ${new Date(time).toISOString().slice(0, 7)}`;
}

/** Counts the amount, or counts nothing and returns the limit it would exceed. */
export async function spend(
  db: Kysely<RegistrySchema>,
  { time, caller, amount, limits = {} }: Spending,
): Promise<keyof BudgetLimits | undefined> {
  try {
    await db.transaction().execute(async (transaction) => {
      // always in this order, to avoid deadlocks between hubs
      const sums = [
        { limit: 'perDay', day: dayOf(time), caller: ALL },
        { limit: 'perCallerPerDay', day: dayOf(time), caller },
        { limit: 'perCallerPerMonth', day: monthOf(time), caller },
      ] as const;
      for (const { limit, ...sum } of sums) {
        const spent = await add(transaction, { ...sum, amount });
        const max = limits[limit];
        if (max !== undefined && (spent > max || (amount === 0 && spent >= max))) throw new Exceeded(limit);
      }
    });
    return undefined;
  } catch (error) {
    if (error instanceof Exceeded) return error.limit;
    throw error;
  }
}

async function add(
  transaction: Transaction<RegistrySchema>,
  { day, caller, amount }: { day: string; caller: string; amount: number },
): Promise<number> {
  const { spent } = await transaction
    .insertInto('agent3_spending')
    .values({ day, caller, spent: amount })
    .onConflict((conflict) =>
      conflict
        .columns(['day', 'caller'])
        .doUpdateSet(({ ref, eb }) => ({ spent: eb('agent3_spending.spent', '+', ref('excluded.spent')) })),
    )
    .returning('spent')
    .executeTakeFirstOrThrow();
  return spent;
}

/** Rolls the transaction back. */
class Exceeded extends Error {
  readonly limit: keyof BudgetLimits;

  constructor(limit: keyof BudgetLimits) {
    super(`more than ${limit}`);
    this.limit = limit;
  }
}
