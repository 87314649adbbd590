// The words of texts and queries, the same for both databases, and which known word a misspelt one may be.
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { RegistrySchema } from '../records/schema.ts';

/** What is searched of an agent: words with spaces between them. */
export interface IndexedText {
  name: string;
  tags: string;
  skills: string;
  description: string;
  examples: string;
  /** Made by `labelOf`, for filters. */
  labels: string;
}

const MAX_QUERY_WORDS = 12;
const MAX_REMEMBERED = 100_000;
const CHUNK = 1_000;
const MAX_WORD_LENGTH = 40;
const CANDIDATES = 40;

const segmented = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Khmer}\p{sc=Lao}\p{sc=Myanmar}]/u;
const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

// "agent" stands in every card
const stopWords = new Set(
  'a agent agents an and any are as at be bot by can could do does find for from get give have help how i in is it let like me my need of on or please some somebody someone something that the this to us use want we what which who will with would you your'.split(
    ' ',
  ),
);

/** Letters and digits only, so no word means anything to a query language. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const runs = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
  return runs
    .flatMap((run) => (segmented.test(run) ? [...segmenter.segment(run)].map(({ segment }) => segment) : run))
    .map((word) => word.slice(0, MAX_WORD_LENGTH));
}

/** Without the words that say nothing, unless there are no others. */
export function queryWords(text: string): string[] {
  const all = [...new Set(wordsOf(text))];
  const telling = all.filter((word) => !stopWords.has(word));
  return (telling.length > 0 ? telling : all).slice(0, MAX_QUERY_WORDS);
}

/**
 * Words that agents wrote, to tell which one a misspelt word may be. It only helps, so it may lag behind, and no more are
 * learnt when there are many: whoever serves a card can make up others each time it is fetched.
 */
export class Vocabulary {
  readonly #db: Kysely<RegistrySchema>;
  readonly #most: number;
  readonly #known = new Set<string>();
  /** Counted once, and then on by what is learnt here. */
  #size: number | undefined;

  constructor(db: Kysely<RegistrySchema>, most: number) {
    this.#db = db;
    this.#most = most;
  }

  async learn(texts: readonly IndexedText[]): Promise<void> {
    const all = texts
      .flatMap(({ labels: _labels, ...text }) => Object.values(text))
      .join(' ')
      .split(' ');
    const fresh = new Set(all.filter((word) => mostEdits(word) > 0 && !this.#known.has(word)));
    if (fresh.size === 0) return;
    this.#size ??= await this.#count();
    const room = Math.max(0, this.#most - this.#size);
    // in one order everywhere, so that two hubs never wait for each other
    for (const words of chunks([...fresh].slice(0, room).sort())) {
      const added = await this.#db
        .insertInto('agent3_words')
        .values(words.map((word) => ({ word })))
        .onConflict((conflict) => conflict.doNothing())
        .returning('word')
        .execute();
      this.#size += added.length;
      for (const grams of chunks(added.flatMap(({ word }) => gramsOf(word).map((gram) => ({ gram, word })))))
        await this.#db
          .insertInto('agent3_word_grams')
          .values(grams)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      if (this.#known.size > MAX_REMEMBERED) this.#known.clear();
      for (const word of words) this.#known.add(word);
    }
  }

  async #count(): Promise<number> {
    const { total } = await this.#db
      .selectFrom('agent3_words')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    return total;
  }

  /** For each word itself and, if nobody ever wrote it so, the known word it is nearest to. */
  async corrected(words: readonly string[]): Promise<string[][]> {
    const doubtful = words.filter((word) => mostEdits(word) > 0);
    if (doubtful.length === 0) return words.map((word) => [word]);
    const known = await this.#db.selectFrom('agent3_words').select('word').where('word', 'in', doubtful).execute();
    const isKnown = new Set(known.map(({ word }) => word));
    const groups: string[][] = [];
    for (const word of words) {
      const better = doubtful.includes(word) && !isKnown.has(word) ? await nearest(this.#db, word) : undefined;
      groups.push(better === undefined ? [word] : [word, better]);
    }
    return groups;
  }
}

function chunks<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, index) =>
    items.slice(index * CHUNK, (index + 1) * CHUNK),
  );
}

async function nearest(db: Kysely<RegistrySchema>, word: string): Promise<string | undefined> {
  const most = mostEdits(word);
  const length = sql<number>`length(word)`;
  const candidates = await db
    .selectFrom('agent3_word_grams')
    .select('word')
    .where('gram', 'in', gramsOf(word))
    .where(length, '>=', word.length - most)
    .where(length, '<=', word.length + most)
    .groupBy('word')
    .orderBy(({ fn }) => fn.countAll(), 'desc')
    .orderBy('word')
    .limit(CANDIDATES)
    .execute();
  let best: { word: string; edits: number } | undefined;
  for (const candidate of candidates) {
    const edits = editsBetween(word, candidate.word);
    if (edits <= most && (!best || edits < best.edits)) best = { word: candidate.word, edits };
  }
  return best?.word;
}

function mostEdits(word: string): number {
  if (word.length < 5 || /\d/.test(word)) return 0;
  return word.length < 8 ? 1 : 2;
}

function gramsOf(word: string): string[] {
  const padded = `^${word}$`;
  return [...new Set(Array.from({ length: padded.length - 2 }, (_, index) => padded.slice(index, index + 3)))];
}

/** Letters put in, left out, changed, or swapped with their neighbour. */
function editsBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
