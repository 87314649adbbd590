// Search: words and filters find candidates, then text and standing rank them. See ranking.ts for the formula.
//
// Agents must match all words. If fewer than ten do, agents that match some of the words follow behind them.
// If words match more agents than can be ranked by text, standing alone decides.
import { createHash } from 'node:crypto';
import { canonicalJson } from '@pocket-agent/a2a/client';
import type { Kysely } from 'kysely';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { SearchQuery } from '../../base/agents.ts';
import { checkInput } from '../../base/check-input.ts';
import { searchRequest } from '../../base/requests.ts';
import type { AgentRow } from '../records/listing.ts';
import { scoreOf, standingOf, trackRecordColumns } from '../records/ranking.ts';
import type { RegistrySchema } from '../records/schema.ts';
import { type Candidate, Candidates, type Filters, labelsOf, MAX_RESULTS } from './candidates.ts';
import type { SemanticIndex } from './semantic-index.ts';
import type { TextIndex, TextQuery } from './text-index.ts';
import { queryWords, type Vocabulary } from './words.ts';

/** With fewer matches of all words, partial matches are added. */
const MIN_MATCHES = 10;
/** Factor for the text score of partial matches. */
const PARTIAL_FACTOR = 0.7;
const SIMILARITY_SHARE = 0.4;
/** From this similarity on, an agent is found without a matching word. */
const MIN_SIMILARITY = 0.4;
const MAX_SIMILAR = 20;

type Database = Kysely<RegistrySchema>;

interface FoundAgents {
  rows: AgentRow[];
  totalFound: number;
  nextCursor?: string;
}

export interface SearchOptions {
  db: Database;
  index: TextIndex;
  vocabulary: Vocabulary;
  semanticIndex: SemanticIndex | undefined;
  now: () => number;
}

export class Search {
  readonly #db: Database;
  readonly #candidates: Candidates;
  readonly #maxRanked: number;
  readonly #isTitleSearchFast: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #semanticIndex: SemanticIndex | undefined;
  readonly #now: () => number;

  constructor({ db, index, vocabulary, semanticIndex, now }: SearchOptions) {
    this.#semanticIndex = semanticIndex;
    this.#db = db;
    this.#candidates = new Candidates(db, index);
    this.#maxRanked = index.maxRanked;
    this.#isTitleSearchFast = index.isTitleSearchFast;
    this.#vocabulary = vocabulary;
    this.#now = now;
  }

  /** `totalFound` is exact up to the number that can be ranked by text. A cursor is valid for its query only. */
  async find(input: SearchQuery): Promise<FoundAgents> {
    const { query, limit, cursor, filters = {} } = checkInput(searchRequest, input);
    const offset = cursor === undefined ? 0 : readCursor(cursor, { query, filters });
    const { candidates, total } = await this.#matches(queryWords(query), filters);
    const numbers = await this.#ranked(await this.#withSimilarity(candidates, query, filters));
    const end = offset + limit;
    return {
      rows: await this.#rows(numbers.slice(offset, end)),
      totalFound: Math.max(total, numbers.length),
      ...(end < numbers.length ? { nextCursor: writeCursor(end, { query, filters }) } : {}),
    };
  }

  async #matches(words: readonly string[], filters: Filters): Promise<{ candidates: Candidate[]; total: number }> {
    const labels = labelsOf(filters);
    const groups = await this.#vocabulary.corrected(words);
    if (groups.length === 0 && labels.length === 0) return this.#candidates.best(filters);
    const all: TextQuery = { groups, join: 'all', labels };
    const total = await this.#candidates.count(all, filters);
    if (total >= MIN_MATCHES || groups.length < 2)
      return { candidates: await this.#bestMatches(all, filters, total), total: Math.min(total, this.#maxRanked) };
    const whole = total > 0 ? await this.#candidates.byText(all, filters) : [];
    const partly = await this.#partialMatches({ ...all, join: 'any' }, filters);
    const known = new Set(whole.map(({ number }) => number));
    const others = partly.candidates
      .filter(({ number }) => !known.has(number))
      .map(({ number, text }) => ({ number, text: text * PARTIAL_FACTOR }));
    return { candidates: [...whole, ...others], total: partly.total };
  }

  async #partialMatches(query: TextQuery, filters: Filters): Promise<{ candidates: Candidate[]; total: number }> {
    let narrowed = query;
    let total = await this.#candidates.count(query, filters);
    if (total > this.#maxRanked) {
      const rarer = await this.#groupsWithFewMatches(query, filters);
      if (rarer.length > 0) narrowed = { ...query, groups: rarer };
      total = await this.#candidates.count(narrowed, filters);
    }
    return { candidates: await this.#bestMatches(narrowed, filters, total), total: Math.min(total, this.#maxRanked) };
  }

  async #bestMatches(query: TextQuery, filters: Filters, total: number): Promise<Candidate[]> {
    if (total <= this.#maxRanked)
      return query.groups.length > 0
        ? this.#candidates.byText(query, filters)
        : this.#candidates.byStanding(query, filters);
    const inTitle = { ...query, inTitle: true };
    const titles =
      this.#isTitleSearchFast && query.groups.length > 0 ? await this.#candidates.count(inTitle, filters) : 0;
    if (titles >= MIN_MATCHES && titles <= this.#maxRanked) return this.#candidates.byText(inTitle, filters);
    return this.#candidates.amongBest(query, filters);
  }

  async #groupsWithFewMatches({ groups, labels }: TextQuery, filters: Filters): Promise<(readonly string[])[]> {
    const totals = await Promise.all(
      groups.map((group) => this.#candidates.count({ groups: [group], join: 'all', labels }, filters)),
    );
    // groups without a match are dropped as well
    return groups.filter((_, index) => {
      const total = totals[index] ?? 0;
      return total > 0 && total <= this.#maxRanked;
    });
  }

  async #ranked(candidates: readonly Candidate[]): Promise<number[]> {
    if (candidates.length === 0) return [];
    const texts = new Map(candidates.map(({ number, text }) => [number, text]));
    const rows = await this.#db
      .selectFrom('agent3_agents')
      .select(['number', ...trackRecordColumns])
      .where('number', 'in', [...texts.keys()])
      .execute();
    const now = this.#now();
    return rows
      .map((row) => ({ number: row.number, score: scoreOf(texts.get(row.number) ?? 0, standingOf(row, now)) }))
      .sort((a, b) => b.score - a.score || a.number - b.number)
      .slice(0, MAX_RESULTS)
      .map(({ number }) => number);
  }

  /** Adds semantic similarity to the text scores, and agents that match by meaning only. */
  async #withSimilarity(
    candidates: readonly Candidate[],
    query: string,
    filters: Filters,
  ): Promise<readonly Candidate[]> {
    if (!this.#semanticIndex || queryWords(query).length === 0) return candidates;
    const numbers = new Set(candidates.map(({ number }) => number));
    const similarity = await this.#semanticIndex.similarity(query, [...numbers]);
    if (similarity.size === 0) return candidates;
    const similar = [...similarity].filter(([number, value]) => value >= MIN_SIMILARITY && !numbers.has(number));
    const nearest = similar.sort(([, a], [, b]) => b - a).slice(0, MAX_SIMILAR);
    const allowed = await this.#candidates.allowed(
      nearest.map(([number]) => number),
      filters,
    );
    return [...candidates, ...allowed.map((number) => ({ number, text: 0 }))].map(({ number, text }) => ({
      number,
      text: (1 - SIMILARITY_SHARE) * text + SIMILARITY_SHARE * (similarity.get(number) ?? 0),
    }));
  }

  async #rows(numbers: readonly number[]): Promise<AgentRow[]> {
    if (numbers.length === 0) return [];
    const rows = await this.#db.selectFrom('agent3_agents').selectAll().where('number', 'in', numbers).execute();
    return rows.sort((a, b) => numbers.indexOf(a.number) - numbers.indexOf(b.number));
  }
}

type CursorScope = Pick<SearchQuery, 'query' | 'filters'>;

function scopeOf(scope: CursorScope): string {
  return createHash('sha256').update(canonicalJson(scope)).digest('base64url').slice(0, 12);
}

function writeCursor(offset: number, scope: CursorScope): string {
  return `${offset}.${scopeOf(scope)}`;
}

function readCursor(cursor: string, scope: CursorScope): number {
  const [, offset, hash] = /^(\d{1,4})\.([\w-]{12})$/.exec(cursor) ?? [];
  if (offset === undefined || hash !== scopeOf(scope))
    throw new Agent3Error('INPUT_INVALID', 'The cursor belongs to another search; start again without a cursor');
  return Number(offset);
}
