// Splits texts and queries into words, and corrects misspelt words of queries.
import { editDistance } from '@pocket-agent/kit';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { RegistrySchema } from '../records/schema.ts';

/** The searchable fields of an agent: words separated by spaces. */
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

// "agent" is in every card
const stopWords = new Set(
  'a agent agents an and any are as at be bot by can could do does find for from get give have help how i in is it let like me my need of on or please some somebody someone something that the this to us use want we what which who will with would you your'.split(
    ' ',
  ),
);

/** Words consist of letters and digits only, so they need no escaping in a query. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const runs = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
  return runs
    .flatMap((run) => (segmented.test(run) ? [...segmenter.segment(run)].map(({ segment }) => segment) : run))
    .map((word) => word.slice(0, MAX_WORD_LENGTH));
}

/** Without stop words, unless there are no other words. */
export function queryWords(text: string): string[] {
  const all = [...new Set(wordsOf(text))];
  const keywords = all.filter((word) => !stopWords.has(word));
  return (keywords.length > 0 ? keywords : all).slice(0, MAX_QUERY_WORDS);
}

/**
 * Words of registered agents, for correcting misspelt words. It may lag behind. Its size is limited, because the server of
 * a card can send new words each time it is fetched.
 */
export class Vocabulary {
  readonly #db: Kysely<RegistrySchema>;
  readonly #maxWords: number;
  readonly #known = new Set<string>();
  /** Counted once, then incremented; other hubs may add more. */
  #size: number | undefined;

  constructor(db: Kysely<RegistrySchema>, maxWords: number) {
    this.#db = db;
    this.#maxWords = maxWords;
  }

  async learn(texts: readonly IndexedText[]): Promise<void> {
    const all = texts
      .flatMap(({ labels: _labels, ...text }) => Object.values(text))
      .join(' ')
      .split(' ');
    const fresh = new Set(all.filter((word) => maxEdits(word) > 0 && !this.#known.has(word)));
    if (fresh.size === 0) return;
    this.#size ??= await this.#count();
    const room = Math.max(0, this.#maxWords - this.#size);
    // sorted, to avoid deadlocks between hubs
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

  /** Each word and, if it is unknown, the most similar known word. */
  async corrected(words: readonly string[]): Promise<string[][]> {
    const correctable = words.filter((word) => maxEdits(word) > 0);
    if (correctable.length === 0) return words.map((word) => [word]);
    const known = await this.#db.selectFrom('agent3_words').select('word').where('word', 'in', correctable).execute();
    const isKnown = new Set(known.map(({ word }) => word));
    const groups: string[][] = [];
    for (const word of words) {
      const correction = correctable.includes(word) && !isKnown.has(word) ? await nearest(this.#db, word) : undefined;
      groups.push(correction === undefined ? [word] : [word, correction]);
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
  const max = maxEdits(word);
  const length = sql<number>`length(word)`;
  const candidates = await db
    .selectFrom('agent3_word_grams')
    .select('word')
    .where('gram', 'in', gramsOf(word))
    .where(length, '>=', word.length - max)
    .where(length, '<=', word.length + max)
    .groupBy('word')
    .orderBy(({ fn }) => fn.countAll(), 'desc')
    .orderBy('word')
    .limit(CANDIDATES)
    .execute();
  let best: { word: string; edits: number } | undefined;
  for (const candidate of candidates) {
    const edits = editDistance(word, candidate.word);
    if (edits <= max && (!best || edits < best.edits)) best = { word: candidate.word, edits };
  }
  return best?.word;
}

function maxEdits(word: string): number {
  if (word.length < 5 || /\d/.test(word)) return 0;
  return word.length < 8 ? 1 : 2;
}

function gramsOf(word: string): string[] {
  const padded = `^${word}$`;
  return [...new Set(Array.from({ length: padded.length - 2 }, (_, index) => padded.slice(index, index + 3)))];
}
