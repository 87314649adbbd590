// For each word, the documents with it; and the sums of one query over them (BM25F).
import type { TimeSlices } from '@pocket-agent/kit';
import { fieldNames, fields, type Words } from './tool-words.ts';

const SATURATION = 1.6;

/** The documents with a word, and how much it counts there. */
interface Posting {
  documents: Int32Array;
  weights: Float32Array;
}

/** A word that stands for one of the query; `part`: how much it counts. */
export interface Variant {
  word: number;
  part: number;
}

export class Postings {
  count = 0;
  /** The posting of a word ends where that of the next word starts. */
  readonly #starts: Int32Array;
  #documents = new Int32Array();
  #weights = new Float32Array();

  constructor(vocabularySize: number) {
    this.#starts = new Int32Array(vocabularySize + 1);
  }

  /** Fills the index; called only once. */
  async fill(all: readonly Words[], slices: TimeSlices): Promise<void> {
    this.count = all.length;
    const averages = averageLengths(all);
    const starts = this.#starts;
    /** The different words of all documents, one document after another. */
    const words: number[] = [];
    const weights: number[] = [];
    const ends: number[] = [];
    /** The weights of the current document, by word. */
    const sums = new Float64Array(starts.length);
    for (const document of all) {
      const start = words.length;
      addWords(document, averages, sums, words);
      for (let index = start; index < words.length; index++) {
        const word = words[index] ?? 0;
        weights.push(sums[word] ?? 0);
        sums[word] = 0;
        starts[word + 1] = (starts[word + 1] ?? 0) + 1;
      }
      ends.push(words.length);
      if (slices.isOver) await slices.next();
    }
    for (let word = 1; word < starts.length; word++) starts[word] = (starts[word] ?? 0) + (starts[word - 1] ?? 0);
    const documents = new Int32Array(words.length);
    const documentWeights = new Float32Array(words.length);
    const next = starts.slice();
    let index = 0;
    for (const [document, end] of ends.entries()) {
      for (; index < end; index++) {
        const word = words[index] ?? 0;
        const place = next[word] ?? 0;
        documents[place] = document;
        documentWeights[place] = weights[index] ?? 0;
        next[word] = place + 1;
      }
      if (slices.isOver) await slices.next();
    }
    this.#documents = documents;
    this.#weights = documentWeights;
  }

  of(word: number): Posting {
    const start = this.#starts[word] ?? 0;
    const end = this.#starts[word + 1] ?? start;
    return { documents: this.#documents.subarray(start, end), weights: this.#weights.subarray(start, end) };
  }
}

function averageLengths(all: readonly Words[]): number[] {
  return fieldNames.map((field) => all.reduce((sum, words) => sum + words[field].length, 0) / all.length || 1);
}

/** Adds the weight of each word to `sums`, and words that are new there to `present`. */
function addWords(document: Words, averages: readonly number[], sums: Float64Array, present: number[]): void {
  for (const [index, field] of fieldNames.entries()) {
    const { weight, lengthPart } = fields[field];
    const each = weight / (1 - lengthPart + (lengthPart * document[field].length) / (averages[index] ?? 1));
    for (const word of document[field]) {
      const sum = sums[word] ?? 0;
      if (sum === 0) present.push(word);
      sums[word] = sum + each;
    }
  }
}

/** The sums of one query. Loops with an index: they run thousands of times. */
export class Scores {
  readonly #postings: Postings;
  readonly #sums: Float64Array;
  /** How much of the query each document matches. */
  readonly #matched: Float64Array;
  readonly #best: Float64Array;
  #total = 0;

  constructor(postings: Postings) {
    this.#postings = postings;
    this.#sums = new Float64Array(postings.count);
    this.#matched = new Float64Array(postings.count);
    this.#best = new Float64Array(postings.count);
  }

  of(document: number): number {
    return this.#sums[document] ?? 0;
  }

  /** The part of the query that a document matches, 0 to 1. */
  coverage(document: number): number {
    return (this.#matched[document] ?? 0) / (this.#total || 1);
  }

  /** The best variant of a word counts. The first is the word itself if a document has it. */
  add(weight: number, variants: readonly Variant[]): void {
    this.#total += weight;
    const best = this.#best.fill(0);
    const [first] = variants;
    // a rare variant says no more than the word itself
    const maxRarity = first?.part === 1 ? this.#rarity(first.word) : Number.POSITIVE_INFINITY;
    for (const variant of variants) this.#raise(variant, maxRarity);
    for (let document = 0; document < best.length; document++) {
      const score = best[document] ?? 0;
      if (score === 0) continue;
      this.#sums[document] = this.of(document) + weight * score;
      this.#matched[document] = (this.#matched[document] ?? 0) + weight;
    }
  }

  #raise({ word, part }: Variant, maxRarity: number): void {
    const { documents, weights } = this.#postings.of(word);
    const factor = part * Math.min(this.#rarity(word), maxRarity) * (SATURATION + 1);
    for (let index = 0; index < documents.length; index++) {
      const document = documents[index] ?? 0;
      const weight = weights[index] ?? 0;
      const score = (factor * weight) / (weight + SATURATION);
      if (score > (this.#best[document] ?? 0)) this.#best[document] = score;
    }
  }

  #rarity(word: number): number {
    const { length } = this.#postings.of(word).documents;
    return Math.log(1 + (this.#postings.count - length + 0.5) / (length + 0.5));
  }
}
