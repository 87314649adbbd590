// The record that a new agent starts with, so that a new URL does not clear a bad one.
import type { Kysely } from 'kysely';
import type { AgentRow } from '../records/listing.ts';
import { NEW_RECORD, PRIOR_RATING, partsOf } from '../records/ranking.ts';
import type { FormerTable, RegistrySchema } from '../records/schema.ts';

type Inherited = Pick<
  FormerTable,
  'calls' | 'successes' | 'latency' | 'rating_count' | 'rating_sum' | 'rating_weight'
> &
  Pick<AgentRow, 'prior_rating'>;

interface NewAgent {
  owner: string;
  host: string;
  service: string;
}

const MAX_COMPARED = 100;

/**
 * Agents at the same address are the same service: the worst of their ratings, success rates and latencies count, each if it
 * is worse than none. Other agents of the owner on the same host are not, so they only lower the rating that a new one starts
 * with.
 */
export async function inheritedRecord(db: Kysely<RegistrySchema>, agent: NewAgent, now: number): Promise<Inherited> {
  const { owner, host, service } = agent;
  const none: Inherited = { ...recordOf(NEW_RECORD), prior_rating: null };
  if (service === '') return none;
  const records = await recordsWhere(db, { service });
  const worst = (part: 'reputation' | 'success' | 'latency') =>
    records
      .map(recordOf)
      .reduce<Counted>((least, each) => (partOf(each, part) < partOf(least, part) ? each : least), none);
  const partOf = (record: Counted, part: 'reputation' | 'success' | 'latency') =>
    partsOf({ ...NEW_RECORD, ...record }, now)[part];
  const { rating_count, rating_sum, rating_weight } = worst('reputation');
  const { calls, successes } = worst('success');
  const { latency } = worst('latency');
  const inherited = { calls, successes, latency, rating_count, rating_sum, rating_weight };
  if (rating_count > 0) return { ...inherited, prior_rating: null };
  const others = await recordsWhere(db, { owner, host });
  const sum = others.reduce((total, each) => total + each.rating_sum, 0);
  const weight = others.reduce((total, each) => total + each.rating_weight, 0);
  const mean = weight === 0 ? PRIOR_RATING : sum / weight;
  return { ...inherited, prior_rating: mean < PRIOR_RATING ? mean : null };
}

type Condition = Partial<NewAgent>;

async function recordsWhere(db: Kysely<RegistrySchema>, condition: Condition): Promise<FormerTable[]> {
  const conditions = Object.entries(condition) as [keyof NewAgent, string][];
  const read = async (table: 'agent3_agents' | 'agent3_former') => {
    let rows = db.selectFrom(table).selectAll().where('calls', '>', 0).limit(MAX_COMPARED);
    for (const [column, value] of conditions) rows = rows.where(column, '=', value);
    return rows.execute();
  };
  return [...(await read('agent3_agents')), ...(await read('agent3_former'))] as FormerTable[];
}

type Counted = Omit<Inherited, 'prior_rating'>;

function recordOf({ calls, successes, latency, rating_count, rating_sum, rating_weight }: Counted): Counted {
  return { calls, successes, latency, rating_count, rating_sum, rating_weight };
}
