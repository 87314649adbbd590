// Spending per day, in total and by caller, exact across all hubs that share a database.
import type { Kysely, Transaction } from 'kysely';
import type { BudgetLimits, Spending } from '../../bridge/directory.ts';
import type { RegistrySchema } from './schema.ts';

/** Not a valid caller id. */
const ALL = '';

/** Counts the amount, or counts nothing and returns the limit it would exceed. */
export async function spend(
  db: Kysely<RegistrySchema>,
  { day, caller, amount, limits = {} }: Spending,
): Promise<keyof BudgetLimits | undefined> {
  try {
    await db.transaction().execute(async (transaction) => {
      // always in this order, to avoid deadlocks between hubs
      const sums = [
        { limit: 'perDay', caller: ALL },
        { limit: 'perCallerPerDay', caller },
      ] as const;
      for (const { limit, caller } of sums) {
        const spent = await add(transaction, { day, caller, amount });
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
  { day, caller, amount }: Pick<Spending, 'day' | 'caller' | 'amount'>,
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
