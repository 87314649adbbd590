// The full-text index over agents, for SQLite (FTS5) and PostgreSQL (tsvector).
import { createHash } from 'node:crypto';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Card, protocolsOf } from '../../cards/card.ts';
import type { RegistrySchema } from '../records/schema.ts';
import { type IndexedText, wordsOf } from './words.ts';

type Database = Kysely<RegistrySchema>;

export interface TextQuery {
  /** Alternatives for each word; `join` says whether all groups or any group must match. */
  groups: readonly (readonly string[])[];
  join: 'all' | 'any';
  /** One label of each group must match. */
  labels: readonly (readonly string[])[];
  /** Only in the name and the tags. */
  inTitle?: boolean;
}

/** Indexed words per field. */
const MAX_WORDS = 2_000;

export function textsOf(card: Card, tags: readonly string[]): IndexedText {
  const plain = (...texts: (string | null | undefined)[]) =>
    wordsOf(texts.filter(Boolean).join(' ').slice(0, 50_000)).slice(0, MAX_WORDS).join(' ');
  return {
    name: plain(card.name),
    tags: plain(...tags),
    skills: plain(...card.skills.flatMap(({ id, name, description }) => [name, id, description])),
    description: plain(card.description, card.provider?.organization),
    examples: plain(...card.skills.flatMap(({ examples }) => examples ?? [])),
    labels: [
      ...tags.map((tag) => labelOf('tag', tag)),
      ...labelsFor(protocolsOf(card)).map((protocol) => labelOf('protocol', protocol)),
    ].join(' '),
  };
}

/** Agents also have the label a2a. */
function labelsFor(protocols: readonly string[]): readonly string[] {
  return protocols[0] === 'mcp' ? protocols : ['a2a', ...protocols];
}

/** The text for the embedding model. */
export function embeddingText({ name, description, skills }: Card): string {
  return [name, description, ...skills.map((skill) => `${skill.name}: ${skill.description}`)].join('. ');
}

/** A tag or protocol as one word that does not occur in texts. */
export function labelOf(kind: 'tag' | 'protocol', value: string): string {
  return `x${createHash('sha256').update(`${kind} ${value.toLowerCase()}`).digest('hex').slice(0, 20)}x`;
}

export interface TextIndex {
  write(db: Database, agentNumber: number, text: IndexedText): Promise<void>;
  remove(db: Database, agentNumber: number): Promise<void>;
  /** The agent's number in a query of `agent3_texts`. */
  readonly number: RawBuilder<number>;
  matches(query: TextQuery): RawBuilder<boolean>;
  /** Smaller is better. */
  rank(query: TextQuery): RawBuilder<number>;
  /** The matches among the given numbers; efficient for many numbers and common words. */
  matchesAmong(query: TextQuery, numbers: RawBuilder<unknown>): RawBuilder<{ number: number }>;
  /** Whether a search in name and tags alone is fast. */
  readonly isTitleSearchFast: boolean;
  /** Ranking more agents than this by text takes too long. */
  readonly maxRanked: number;
  /** How many rows the database expects of a query, without running it. */
  estimate?(db: Database, query: RawBuilder<unknown>): Promise<number>;
}

const ftsExpression = ({ groups, join, labels, inTitle }: TextQuery) => {
  const anyOf = (words: readonly string[]) => `(${words.map((word) => `"${word}"`).join(' OR ')})`;
  const wordQuery = groups.map(anyOf).join(join === 'all' ? ' AND ' : ' OR ');
  const text = inTitle ? `{name tags} : (${wordQuery})` : `(${wordQuery})`;
  return [...(wordQuery === '' ? [] : [text]), ...labels.map((words) => `labels : ${anyOf(words)}`)].join(' AND ');
};

export const sqliteIndex: TextIndex = {
  async write(db, agentNumber, { name, tags, skills, description, examples, labels }) {
    await sql`insert or replace into agent3_texts (rowid, name, tags, skills, description, examples, labels)
      values (${agentNumber}, ${name}, ${tags}, ${skills}, ${description}, ${examples}, ${labels})`.execute(db);
  },
  async remove(db, agentNumber) {
    await sql`delete from agent3_texts where rowid = ${agentNumber}`.execute(db);
  },
  number: sql`agent3_texts.rowid`,
  matches: (query) => sql`agent3_texts match ${ftsExpression(query)}`,
  rank: () => sql`bm25(agent3_texts, 10.0, 6.0, 4.0, 2.0, 1.0, 0.0)`,
  // the plus keeps SQLite from querying the full-text index once per number
  matchesAmong: (query, numbers) => sql`select rowid as number from agent3_texts
    where agent3_texts match ${ftsExpression(query)} and +rowid in (${numbers})`,
  isTitleSearchFast: true,
  maxRanked: 10_000,
};

const tsExpression = ({ groups, join, labels, inTitle }: TextQuery) => {
  const anyOf = (words: readonly string[], where = '') => `(${words.map((word) => `'${word}'${where}`).join(' | ')})`;
  const wordQuery = groups.map((words) => anyOf(words, inTitle ? ':AB' : '')).join(join === 'all' ? ' & ' : ' | ');
  const parts = [
    ...(wordQuery === '' ? [] : [sql`to_tsquery('english', ${wordQuery})`]),
    ...labels.map((words) => sql`to_tsquery('simple', ${anyOf(words)})`),
  ];
  return sql`(${sql.join(parts, sql` && `)})`;
};

export const postgresIndex: TextIndex = {
  async write(db, agentNumber, { name, tags, skills, description, examples, labels }) {
    const weighted = (text: string, weight: string) =>
      sql`setweight(to_tsvector('english', ${text}), ${sql.lit(weight)})`;
    const document = sql`${weighted(name, 'A')} || ${weighted(tags, 'B')} || ${weighted(skills, 'C')}
      || ${weighted(`${description} ${examples}`, 'D')}
      || to_tsvector('simple', ${labels})`;
    await sql`insert into agent3_texts (agent_number, document) values (${agentNumber}, ${document})
      on conflict (agent_number) do update set document = excluded.document`.execute(db);
  },
  async remove(db, agentNumber) {
    await sql`delete from agent3_texts where agent_number = ${agentNumber}`.execute(db);
  },
  number: sql`agent3_texts.agent_number`,
  matches: (query) => sql`agent3_texts.document @@ ${tsExpression(query)}`,
  rank: (query) => sql`-ts_rank('{0.15, 0.4, 0.6, 1.0}', agent3_texts.document, ${tsExpression(query)})`,
  // looks up each number by its key; a join would visit all matches
  matchesAmong: (query, numbers) => sql`select number from (${numbers}) as best where
    (select document @@ ${tsExpression(query)} from agent3_texts where agent_number = best.number)`,
  isTitleSearchFast: false,
  maxRanked: 2_500,
  async estimate(db, query) {
    type Plan = { 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] };
    const { rows } = await sql<Plan>`explain (format json) ${query}`.execute(db);
    return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  },
};
