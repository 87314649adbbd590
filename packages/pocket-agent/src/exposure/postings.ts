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

  /** Fills the index; called only once. Loops over words are in methods of their own, which are compiled sooner. */
  async fill(all: readonly Words[], slices: TimeSlices): Promise<void> {
    this.count = all.length;
    const rows = new Rows(all, this.#starts.length);
    for (const document of all) {
      this.#count(rows.add(document));
      if (slices.isOver) await slices.next();
    }
    const next = this.#startOfEach();
    this.#documents = new Int32Array(rows.size);
    this.#weights = new Float32Array(rows.size);
    for (let document = 0; document < all.length; document++) {
      this.#place(document, rows.of(document), next);
      if (slices.isOver) await slices.next();
    }
  }

  of(word: number): Posting {
    const start = this.#starts[word] ?? 0;
    const end = this.#starts[word + 1] ?? start;
    return { documents: this.#documents.subarray(start, end), weights: this.#weights.subarray(start, end) };
  }

  #count({ words }: Row): void {
    for (const word of words) this.#starts[word + 1] = (this.#starts[word + 1] ?? 0) + 1;
  }

  /** Adds up the counts, and returns where the next document of each word is placed. */
  #startOfEach(): Int32Array {
    const starts = this.#starts;
    for (let word = 1; word < starts.length; word++) starts[word] = (starts[word] ?? 0) + (starts[word - 1] ?? 0);
    return starts.slice();
  }

  #place(document: number, { words, weights }: Row, next: Int32Array): void {
    for (let index = 0; index < words.length; index++) {
      const word = words[index] ?? 0;
      const place = next[word] ?? 0;
      this.#documents[place] = document;
      this.#weights[place] = weights[index] ?? 0;
      next[word] = place + 1;
    }
  }
}

/** The different words of a document, and how much each counts. */
interface Row {
  words: Int32Array;
  weights: Float32Array;
}

/** The rows of all documents, in two lists: thousands of small ones would be work for the garbage collector. */
class Rows {
  size = 0;
  readonly #words: Int32Array;
  readonly #weights: Float32Array;
  /** Where the row of each document ends. */
  readonly #ends: number[] = [];
  readonly #averages: readonly number[];
  /** The weights of the current document, by word. */
  readonly #sums: Float64Array;

  constructor(all: readonly Words[], vocabularySize: number) {
    const lengths = fieldNames.map((field) => all.reduce((sum, words) => sum + words[field].length, 0));
    const total = lengths.reduce((sum, length) => sum + length, 0);
    this.#words = new Int32Array(total);
    this.#weights = new Float32Array(total);
    this.#averages = lengths.map((length) => length / all.length || 1);
    this.#sums = new Float64Array(vocabularySize);
  }

  add(document: Words): Row {
    const start = this.size;
    for (const [index, field] of fieldNames.entries()) {
      const { weight, lengthPart } = fields[field];
      const words = document[field];
      this.#addWords(words, weight / (1 - lengthPart + (lengthPart * words.length) / (this.#averages[index] ?? 1)));
    }
    for (let index = start; index < this.size; index++) {
      const word = this.#words[index] ?? 0;
      this.#weights[index] = this.#sums[word] ?? 0;
      this.#sums[word] = 0;
    }
    this.#ends.push(this.size);
    return this.#between(start, this.size);
  }

  of(document: number): Row {
    return this.#between(this.#ends[document - 1] ?? 0, this.#ends[document] ?? 0);
  }

  #addWords(words: readonly number[], weight: number): void {
    for (const word of words) {
      const sum = this.#sums[word] ?? 0;
      if (sum === 0) this.#words[this.size++] = word;
      this.#sums[word] = sum + weight;
    }
  }

  #between(start: number, end: number): Row {
    return { words: this.#words.subarray(start, end), weights: this.#weights.subarray(start, end) };
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
