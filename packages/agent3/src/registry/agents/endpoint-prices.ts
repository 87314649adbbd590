// Prices by endpoint address, so that a second registration of the same address is not free.
import type { Kysely, Transaction } from 'kysely';
import type { Price } from '../../base/agents.ts';
import { isPaid } from '../../base/price-text.ts';
import { parse } from '../records/listing.ts';
import type { RegistrySchema } from '../records/schema.ts';

const MAX_COMPARED = 100;

interface PricedRecord {
  addresses: readonly string[];
  /** Undefined if the record is not stored yet. */
  number?: number;
  owner: string;
  registeredAt: number;
}

/**
 * The price of another record with one of these addresses, as JSON. Later registrations by other owners do not count,
 * so they cannot raise the price of an agent.
 */
export async function inheritedPrice(
  db: Kysely<RegistrySchema>,
  { addresses, number = -1, owner, registeredAt }: PricedRecord,
): Promise<string | undefined> {
  if (addresses.length === 0) return undefined;
  const rows = await db
    .selectFrom('agent3_endpoints')
    .innerJoin('agent3_agents', 'number', 'agent_number')
    .select('price')
    .where('address', 'in', addresses)
    .where('number', '<>', number)
    .where('price', 'is not', null)
    .where(({ eb, or }) => or([eb('owner', '=', owner), eb('registered_at', '<=', registeredAt)]))
    .orderBy('registered_at')
    .limit(MAX_COMPARED)
    .execute();
  const prices = rows.flatMap(({ price }) => price ?? []);
  return prices.find((price) => isPaid(parse<Price>(price))) ?? prices[0];
}

export async function putEndpoints(
  transaction: Transaction<RegistrySchema>,
  number: number,
  addresses: readonly string[],
): Promise<void> {
  await transaction.deleteFrom('agent3_endpoints').where('agent_number', '=', number).execute();
  if (addresses.length === 0) return;
  const rows = addresses.map((address) => ({ agent_number: number, address }));
  await transaction.insertInto('agent3_endpoints').values(rows).execute();
}
