// Finds tools by words: BM25 over several fields of a tool and of its server, with word families and small typing errors.
import type { Tool } from '@modelcontextprotocol/client';
import { isRecord, TimeSlices } from '@pocket-agent/kit';
import type { ToolGroup } from '../tools/tool-source.ts';
import { commonActions, stopWords, wordFamilies } from './word-families.ts';
import { isOneEdit, stemOf, wordsOf } from './words.ts';

/** What is known about a tool before it is called. */
export interface SearchedTool {
  /** The name at its server. */
  name: string;
  tool: Tool;
  group: ToolGroup | undefined;
}

export interface FoundTool {
  position: number;
  /** Positions of nearly the same tool in other groups, such as a second server that writes files. */
  alternatives: number[];
}

/** Weight of each field, and how much its length counts. Measured by bench/tool-search.ts; see docs/tool-search.md. */
const fields = {
  name: { weight: 3, lengthPart: 0.5 },
  firstSentence: { weight: 1, lengthPart: 0.4 },
  rest: { weight: 0.6, lengthPart: 0.9 },
  parameters: { weight: 0.5, lengthPart: 0.7 },
  parameterTexts: { weight: 0.3, lengthPart: 0.7 },
  group: { weight: 1.2, lengthPart: 0.3 },
  groupText: { weight: 0.6, lengthPart: 0.7 },
} as const;

type Field = keyof typeof fields;
/** Numbers of words in the vocabulary. */
type Words = Record<Field, number[]>;
const fieldNames = Object.keys(fields) as Field[];

const SATURATION = 1.6;
/** A word of the same family counts this much. */
const FAMILY_WEIGHT = 0.65;
const TYPO_WEIGHT = 0.6;
const COMMON_ACTION_WEIGHT = 0.65;
/** How much a tool gains if its group as a whole fits the query. */
const GROUP_WEIGHT = 0.5;
/** Part of the first sentence that two tools share if they are nearly the same. */
const SAME_SENTENCE = 0.5;

/** Servers may send texts of any size. */
const MAX_TEXT = 4_000;
const MAX_GROUP_TEXT = 1_000;
const MAX_PARAMETERS = 100;
const MAX_DEPTH = 4;
const MAX_QUERY = 1_000;
const MAX_QUERY_WORDS = 40;
const MIN_CORRECTED_LENGTH = 5;

const familyOf = new Map<string, Set<string>>();
for (const family of wordFamilies) {
  const stems = new Set(family.map(stemOf));
  for (const stem of stems) familyOf.set(stem, new Set([...(familyOf.get(stem) ?? []), ...stems]));
}
const commonStems = new Set(commonActions.flat().map(stemOf));

/** Built once for a list of tools, without a long turn of the event loop. It knows nothing of other tools. */
export class ToolIndex {
  readonly #tools: readonly SearchedTool[];
  readonly #vocabulary = new Vocabulary();
  readonly #words: Words[] = [];
  readonly #groupOf: number[] = [];
  readonly #ofTools = new Postings();
  readonly #ofGroups = new Postings();

  private constructor(tools: readonly SearchedTool[]) {
    this.#tools = tools;
  }

  static async of(tools: readonly SearchedTool[]): Promise<ToolIndex> {
    const index = new ToolIndex(tools);
    await index.#build();
    return index;
  }

  async #build(): Promise<void> {
    const slices = new TimeSlices();
    const groups = new Map<string, { number: number; words: Words }>();
    for (const searched of this.#tools) {
      const words = readWords(searched, this.#vocabulary);
      const name = searched.group?.name ?? '';
      const group = groups.get(name) ?? { number: groups.size, words: { ...noWords(), ...groupWords(words) } };
      groups.set(name, group);
      for (const word of new Set(words.name)) group.words.name.push(word);
      for (const word of words.firstSentence) group.words.firstSentence.push(word);
      this.#words.push(words);
      this.#groupOf.push(group.number);
      if (slices.isOver) await slices.next();
    }
    const { size } = this.#vocabulary;
    await this.#ofTools.add(this.#words, size, slices);
    await this.#ofGroups.add(
      [...groups.values()].map(({ words }) => words),
      size,
      slices,
    );
  }

  /** The best first. */
  search(query: string, limit: number): FoundTool[] {
    const scores = new Scores(this.#words.length);
    const groupScores = new Scores(this.#ofGroups.count);
    for (const [stem, weight] of queryStems(query)) {
      const variants = this.#variants(stem);
      scores.add(weight, variants, this.#ofTools);
      groupScores.add(weight, variants, this.#ofGroups);
    }
    const ranked: { position: number; score: number }[] = [];
    for (const [position, group] of this.#groupOf.entries()) {
      const score = scores.of(position) + GROUP_WEIGHT * groupScores.of(group);
      if (score > 0) ranked.push({ position, score });
    }
    ranked.sort((one, other) => other.score - one.score || one.position - other.position);
    return this.#joined(ranked, limit);
  }

  #joined(ranked: readonly { position: number }[], limit: number): FoundTool[] {
    const found: FoundTool[] = [];
    for (const { position } of ranked) {
      const same = found.find((each) => this.#isNearlySame(each.position, position));
      if (same) same.alternatives.push(position);
      else if (found.length === limit) break;
      else found.push({ position, alternatives: [] });
    }
    return found;
  }

  #isNearlySame(one: number, other: number): boolean {
    const isSameGroup = this.#groupOf[one] === this.#groupOf[other];
    if (isSameGroup || this.#tools[one]?.name.toLowerCase() !== this.#tools[other]?.name.toLowerCase()) return false;
    const first = new Set(this.#words[one]?.firstSentence);
    const second = new Set(this.#words[other]?.firstSentence);
    const shared = [...first].filter((word) => second.has(word)).length;
    return shared >= SAME_SENTENCE * Math.max(first.size, second.size);
  }

  /** Words that stand for one of the query, and how much they count. */
  #variants(stem: string): [word: number, weight: number][] {
    const word = this.#vocabulary.find(stem);
    const similar = word === undefined ? this.#vocabulary.similarTo(stem) : [];
    const variants: [number, number][] = similar.map((each) => [each, TYPO_WEIGHT]);
    if (word !== undefined) variants.push([word, 1]);
    for (const member of familyOf.get(stem) ?? []) {
      const other = member === stem ? undefined : this.#vocabulary.find(member);
      if (other !== undefined) variants.push([other, FAMILY_WEIGHT]);
    }
    return variants;
  }
}

function queryStems(query: string): Map<string, number> {
  const stems = new Map<string, number>();
  for (const word of wordsOf(query.slice(0, MAX_QUERY))) {
    if (stopWords.has(word)) continue;
    const stem = stemOf(word);
    stems.set(stem, commonStems.has(stem) ? COMMON_ACTION_WEIGHT : 1);
    if (stems.size === MAX_QUERY_WORDS) break;
  }
  return stems;
}

/** Numbers the stems of all words: numbers are compared and counted faster. */
class Vocabulary {
  /** By word and by stem. */
  readonly #numbers = new Map<string, number>();
  readonly #byStem = new Map<string, number>();
  /** Made for the first word that is not known. */
  #byStart: Map<string, string[]> | undefined;

  /** Adds a word that is new. */
  numberOf(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    const stem = stemOf(word);
    const number = this.#byStem.get(stem) ?? this.#byStem.size;
    this.#byStem.set(stem, number);
    this.#numbers.set(word, number);
    return number;
  }

  get size(): number {
    return this.#byStem.size;
  }

  find(stem: string): number | undefined {
    return this.#byStem.get(stem);
  }

  /** Stems with one edit of difference behind the first letter. */
  similarTo(stem: string): number[] {
    if (stem.length < MIN_CORRECTED_LENGTH) return [];
    this.#byStart ??= Map.groupBy(this.#byStem.keys(), (known) => `${known[0]}${known.length}`);
    const lengths = [stem.length - 1, stem.length, stem.length + 1];
    const candidates = lengths.flatMap((length) => this.#byStart?.get(`${stem[0]}${length}`) ?? []);
    return candidates.flatMap((known) => (isOneEdit(known, stem) ? (this.find(known) ?? []) : []));
  }
}

/** For each word, the documents with it. */
class Postings {
  count = 0;
  #byWord: ({ documents: number[]; weights: number[] } | undefined)[] = [];

  async add(all: readonly Words[], vocabularySize: number, slices: TimeSlices): Promise<void> {
    this.count = all.length;
    this.#byWord = Array.from({ length: vocabularySize });
    const averages = fieldNames.map(
      (field) => all.reduce((sum, words) => sum + words[field].length, 0) / all.length || 1,
    );
    /** Of the words of one document. */
    const sums = new Float64Array(vocabularySize);
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
        const entry = this.#byWord[word] ?? { documents: [], weights: [] };
        this.#byWord[word] = entry;
        entry.documents.push(document);
        entry.weights.push(sums[word] ?? 0);
        sums[word] = 0;
      }
      if (slices.isOver) await slices.next();
    }
  }

  /** Calls `use` for each document with the word. */
  each(word: number, use: (document: number, score: number) => void): void {
    const { documents, weights } = this.#byWord[word] ?? { documents: [], weights: [] };
    const rarity = Math.log(1 + (this.count - documents.length + 0.5) / (documents.length + 0.5));
    for (const [index, document] of documents.entries()) {
      const weight = weights[index] ?? 0;
      use(document, (rarity * weight * (SATURATION + 1)) / (weight + SATURATION));
    }
  }
}

/** The sums of one query. Of the variants of a word, the best counts. */
class Scores {
  readonly #sums: Float64Array;
  readonly #best: Float64Array;

  constructor(count: number) {
    this.#sums = new Float64Array(count);
    this.#best = new Float64Array(count);
  }

  of(document: number): number {
    return this.#sums[document] ?? 0;
  }

  add(weight: number, variants: readonly [word: number, weight: number][], postings: Postings): void {
    const best = this.#best.fill(0);
    for (const [word, part] of variants)
      postings.each(word, (document, score) => {
        best[document] = Math.max(best[document] ?? 0, part * score);
      });
    for (let document = 0; document < best.length; document++)
      this.#sums[document] = this.of(document) + weight * (best[document] ?? 0);
  }
}

function noWords(): Words {
  return { name: [], firstSentence: [], rest: [], parameters: [], parameterTexts: [], group: [], groupText: [] };
}

function groupWords({ group, groupText }: Words): Pick<Words, 'group' | 'groupText'> {
  return { group, groupText };
}

function readWords({ name, tool, group }: SearchedTool, vocabulary: Vocabulary): Words {
  const stemsOf = (text: string) => wordsOf(text).map((word) => vocabulary.numberOf(word));
  const text = (tool.description ?? '').slice(0, MAX_TEXT).trim();
  const first = firstSentence(text);
  const parameters = readParameters(tool.inputSchema);
  return {
    name: stemsOf(`${name} ${(tool.title ?? tool.annotations?.title ?? '').slice(0, MAX_TEXT)}`),
    firstSentence: stemsOf(first),
    rest: stemsOf(text.slice(first.length)),
    parameters: stemsOf(parameters.names.join(' ').slice(0, MAX_TEXT)),
    parameterTexts: stemsOf(parameters.texts.join(' ').slice(0, MAX_TEXT)),
    group: stemsOf(group?.name ?? ''),
    groupText: stemsOf((group?.description ?? '').slice(0, MAX_GROUP_TEXT)),
  };
}

/** Without a sentence that ends soon, the beginning. */
export function firstSentence(text: string): string {
  return /^[\s\S]{1,300}?(?:[.!?](?=\s|$)|[。！？]|\n\s*\n|$)/u.exec(text)?.[0] ?? text.slice(0, 200);
}

interface Parameters {
  names: string[];
  texts: string[];
}

function readParameters(schema: unknown, into: Parameters = { names: [], texts: [] }, depth = 0): Parameters {
  if (!isRecord(schema) || depth === MAX_DEPTH || !isRecord(schema.properties)) return into;
  for (const name in schema.properties) {
    if (into.names.length === MAX_PARAMETERS) break;
    const property = schema.properties[name];
    into.names.push(name);
    if (!isRecord(property)) continue;
    if (typeof property.description === 'string') into.texts.push(property.description.slice(0, MAX_TEXT));
    readParameters(property, into, depth + 1);
    readParameters(property.items, into, depth + 1);
  }
  return into;
}
