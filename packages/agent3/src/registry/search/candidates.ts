// Queries the database for agents that match the words and filters of a search.
import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { SearchQuery } from '../../base/agents.ts';
import type { RegistrySchema } from '../records/schema.ts';
import { labelOf, type TextIndex, type TextQuery } from './text-index.ts';

/** How many results can be paged through. */
export const MAX_RESULTS = 500;
const MAX_BEST = 1_500;
/** An estimate above this many times what can be ranked is trusted. */
const MANY = 4;

export type Filters = NonNullable<SearchQuery['filters']>;

export interface Candidate {
  number: number;
  /** 0 to 1. */
  text: number;
}

export class Candidates {
  readonly #db: Kysely<RegistrySchema>;
  readonly #index: TextIndex;

  constructor(db: Kysely<RegistrySchema>, index: TextIndex) {
    this.#db = db;
    this.#index = index;
  }

  async count(query: TextQuery, filters: Filters): Promise<number> {
    return this.#countUpTo(sql`select 1 from ${this.#source(filters)} where ${this.#conditions(query, filters)}`);
  }

  /** Up to one more than can be ranked. Counting very many matches takes too long, so the database estimates first. */
  async #countUpTo(matches: RawBuilder<unknown>): Promise<number> {
    const { maxRanked, estimate } = this.#index;
    if (((await estimate?.(this.#db, matches)) ?? 0) > MANY * maxRanked) return maxRanked + 1;
    const { rows } = await sql<{ total: number }>`
      select count(*) as total from (${matches} limit ${maxRanked + 1}) as fitting`.execute(this.#db);
    return rows[0]?.total ?? 0;
  }

  async byText(query: TextQuery, filters: Filters): Promise<Candidate[]> {
    const { rows } = await sql<{ number: number; text: number }>`
      select ${this.#index.number} as number, ${this.#index.rank(query)} as text from ${this.#source(filters)}
      where ${this.#conditions(query, filters)} order by text, number limit ${MAX_RESULTS}`.execute(this.#db);
    const best = rows[0]?.text ?? 0;
    return rows.map(({ number, text }) => ({ number, text: best === 0 ? 1 : text / best }));
  }

  async byStanding(query: TextQuery, filters: Filters): Promise<Candidate[]> {
    const { rows } = await sql<{ number: number }>`select number from ${this.#joined()}
      where ${this.#conditions(query, filters)} order by standing desc, number limit ${MAX_RESULTS}`.execute(this.#db);
    return rows.map(({ number }) => ({ number, text: 1 }));
  }

  /** The matches among the agents with the highest standing: cheap if many agents match. */
  async amongBest(query: TextQuery, filters: Filters): Promise<Candidate[]> {
    const best = sql`select number from agent3_agents where ${allOf([shown, ...filterConditions(filters)])}
      order by standing desc, number limit ${MAX_BEST}`;
    const { rows } = await this.#index.matchesAmong(query, best).execute(this.#db);
    const found = rows.length > 0 ? rows : await this.#anyMatches(query, filters);
    return found.map(({ number }) => ({ number, text: 1 }));
  }

  async best(filters: Filters): Promise<{ candidates: Candidate[]; total: number }> {
    const conditions = allOf([shown, ...filterConditions(filters)]);
    const { rows } = await sql<{ number: number }>`select number from agent3_agents where ${conditions}
      order by standing desc, number limit ${MAX_RESULTS}`.execute(this.#db);
    const total = await this.#countUpTo(sql`select 1 from agent3_agents where ${conditions}`);
    return {
      candidates: rows.map(({ number }) => ({ number, text: 1 })),
      total: Math.min(total, this.#index.maxRanked),
    };
  }

  async allowed(numbers: readonly number[], filters: Filters): Promise<number[]> {
    if (numbers.length === 0) return [];
    const labels = labelsOf(filters);
    const fits = labels.length > 0 ? [this.#index.matches({ groups: [], join: 'all', labels })] : [];
    const { rows } = await sql<{ number: number }>`select number from ${this.#joined()}
      where ${allOf([...fits, ...filterConditions(filters)])} and number in (${sql.join(numbers)})`.execute(this.#db);
    return rows.map(({ number }) => number);
  }

  async #anyMatches(query: TextQuery, filters: Filters): Promise<{ number: number }[]> {
    const { rows } = await sql<{ number: number }>`select ${this.#index.number} as number from ${this.#source(filters)}
      where ${this.#conditions(query, filters)} limit ${MAX_RESULTS}`.execute(this.#db);
    return rows;
  }

  #joined(): Expression<unknown> {
    return sql`agent3_texts join agent3_agents on agent3_agents.number = ${this.#index.number}`;
  }

  #source(filters: Filters): Expression<unknown> {
    return filterConditions(filters).length === 0 ? sql`agent3_texts` : this.#joined();
  }

  #conditions(query: TextQuery, filters: Filters): Expression<SqlBool> {
    return allOf([this.#index.matches(query), ...filterConditions(filters)]);
  }
}

/** An agent must have all tags and one of the protocols. */
export function labelsOf({ tags = [], protocols = [] }: Filters): string[][] {
  return [
    ...tags.map((tag) => [labelOf('tag', tag)]),
    ...(protocols.length > 0 ? [protocols.map((protocol) => labelOf('protocol', protocol))] : []),
  ];
}

/** For queries without the text index, which has no hidden agents. */
const shown = sql<SqlBool>`hidden is null`;

/** Agents without a price do not pass a price filter. */
function filterConditions(filters: Filters): Expression<SqlBool>[] {
  const { minReputation, verified, maxPricePerCall, healthy } = filters;
  const conditions: Expression<SqlBool>[] = [];
  if (minReputation !== undefined)
    conditions.push(
      sql`rating_count > 0 and rating_sum >= rating_weight * cast(${minReputation - 1e-9} as double precision)`,
    );
  if (verified) conditions.push(sql`verified = 1`);
  if (maxPricePerCall !== undefined)
    conditions.push(sql`price_per_call <= cast(${maxPricePerCall} as double precision)`);
  if (healthy) conditions.push(sql`health = 'up'`);
  return conditions;
}

function allOf(conditions: readonly Expression<SqlBool>[]): Expression<SqlBool> {
  return conditions.length === 0 ? sql`1 = 1` : (sql.join(conditions, sql` and `) as Expression<SqlBool>);
}
