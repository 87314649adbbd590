// For each word, the documents with it; and the sums of one query over them (BM25F).
import type { TimeSlices } from '@pocket-agent/kit';
import { fieldNames, fields, type Words } from './tool-words.ts';

const SATURATION = 1.6;

/** The documents with a word, and how much it counts there. */
interface Posting {
  documents: number[];
  weights: number[];
}

const NO_POSTING: Posting = { documents: [], weights: [] };

export class Postings {
  count = 0;
  readonly #byWord: (Posting | undefined)[];

  constructor(vocabularySize: number) {
    this.#byWord = Array.from({ length: vocabularySize });
  }

  /** Only once. */
  async fill(all: readonly Words[], slices: TimeSlices): Promise<void> {
    this.count = all.length;
    const averages = fieldNames.map(
      (field) => all.reduce((sum, words) => sum + words[field].length, 0) / all.length || 1,
    );
    /** Of the words of one document. */
    const sums = new Float64Array(this.#byWord.length);
    for (const [document, words] of all.entries()) {
      const present: number[] = [];
      for (const [index, field] of fieldNames.entries()) {
        const { weight, lengthPart } = fields[field];
        const each = weight / (1 - lengthPart + (lengthPart * words[field].length) / (averages[index] ?? 1));
        for (const word of words[field]) {
          const sum = sums[word] ?? 0;
          if (sum === 0) present.push(word);
          sums[word] = sum + each;
        }
      }
      for (const word of present) {
        const posting = this.#byWord[word] ?? { documents: [], weights: [] };
        this.#byWord[word] = posting;
        posting.documents.push(document);
        posting.weights.push(sums[word] ?? 0);
        sums[word] = 0;
      }
      if (slices.isOver) await slices.next();
    }
  }

  of(word: number): Posting {
    return this.#byWord[word] ?? NO_POSTING;
  }
}

/** The sums of one query. Loops with an index: they run thousands of times. */
export class Scores {
  readonly #postings: Postings;
  readonly #sums: Float64Array;
  readonly #best: Float64Array;

  constructor(postings: Postings) {
    this.#postings = postings;
    this.#sums = new Float64Array(postings.count);
    this.#best = new Float64Array(postings.count);
  }

  of(document: number): number {
    return this.#sums[document] ?? 0;
  }

  /** Of the variants of a word, the best counts. */
  add(weight: number, variants: readonly [word: number, part: number][]): void {
    const best = this.#best.fill(0);
    for (const [word, part] of variants) this.#raise(word, part);
    for (let document = 0; document < best.length; document++)
      this.#sums[document] = this.of(document) + weight * (best[document] ?? 0);
  }

  #raise(word: number, part: number): void {
    const { documents, weights } = this.#postings.of(word);
    const { count } = this.#postings;
    const rarity = Math.log(1 + (count - documents.length + 0.5) / (documents.length + 0.5));
    for (let index = 0; index < documents.length; index++) {
      const document = documents[index] ?? 0;
      const weight = weights[index] ?? 0;
      const score = (part * rarity * weight * (SATURATION + 1)) / (weight + SATURATION);
      if (score > (this.#best[document] ?? 0)) this.#best[document] = score;
    }
  }
}
