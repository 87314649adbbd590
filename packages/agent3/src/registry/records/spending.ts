// What was spent in a day, of all and of each caller: exact also for several hubs on one database.
import type { Kysely, Transaction } from 'kysely';
import type { BudgetLimits, Spending } from '../../base/types.ts';
import type { RegistrySchema } from './schema.ts';

/** No caller has this name. */
const ALL = '';

/** Counts all of it or, when that would be more than a limit, nothing and tells which. */
export async function spend(
  db: Kysely<RegistrySchema>,
  { day, caller, amount, limits = {} }: Spending,
): Promise<keyof BudgetLimits | undefined> {
  try {
    await db.transaction().execute(async (transaction) => {
      // always in this order, so that two hubs never wait for each other
      const sums = [
        { limit: 'perDay', caller: ALL },
        { limit: 'perCallerPerDay', caller },
      ] as const;
      for (const { limit, caller } of sums) {
        const spent = await add(transaction, { day, caller, amount });
        const most = limits[limit];
        if (most !== undefined && (spent > most || (amount === 0 && spent >= most))) throw new Exceeded(limit);
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

/** Takes back what the transaction has counted. */
class Exceeded extends Error {
  readonly limit: keyof BudgetLimits;

  constructor(limit: keyof BudgetLimits) {
    super(`more than ${limit}`);
    this.limit = limit;
  }
}
