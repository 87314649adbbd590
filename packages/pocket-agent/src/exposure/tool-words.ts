// The words of a tool by field, as numbers: those of its name count more than those of its description.
import type { Tool } from '@modelcontextprotocol/client';
import { isRecord } from '@pocket-agent/kit';
import type { ToolGroup } from '../tools/tool-source.ts';
import { isOneEdit, stemOf, wordsOf } from './words.ts';

/** What is known about a tool before it is called. */
export interface SearchedTool {
  /** The name at its server. */
  name: string;
  tool: Tool;
  group: ToolGroup | undefined;
}

/** Weight of each field, and how much its length counts. Measured by bench/tool-search/run.ts; see docs/tool-search.md. */
export const fields = {
  name: { weight: 3, lengthPart: 0.5 },
  firstSentence: { weight: 1, lengthPart: 0.4 },
  rest: { weight: 0.6, lengthPart: 0.9 },
  parameters: { weight: 0.5, lengthPart: 0.7 },
  parameterTexts: { weight: 0.3, lengthPart: 0.7 },
  group: { weight: 1.2, lengthPart: 0.3 },
  groupText: { weight: 0.6, lengthPart: 0.7 },
} as const;

export type Field = keyof typeof fields;
/** Numbers of words in the vocabulary. */
export type Words = Record<Field, number[]>;
export const fieldNames = Object.keys(fields) as Field[];

/** Servers may send texts of any size. */
const MAX_TEXT = 2000;
const MAX_GROUP_TEXT = 1_000;
const MAX_PARAMETERS = 100;
const MAX_VALUES = 20;
const MAX_DEPTH = 4;
/** Typing errors in shorter words are too likely to hit another word. */
const MIN_CORRECTED_LENGTH = 5;

export function noWords(): Words {
  return { name: [], firstSentence: [], rest: [], parameters: [], parameterTexts: [], group: [], groupText: [] };
}

/** The words of the group are the same for all its tools. */
export function readGroup(group: ToolGroup | undefined, vocabulary: Vocabulary): Words {
  return {
    ...noWords(),
    group: vocabulary.numbersOf(group?.name ?? ''),
    groupText: vocabulary.numbersOf((group?.description ?? '').slice(0, MAX_GROUP_TEXT)),
  };
}

export function readTool({ name, tool }: SearchedTool, ofGroup: Words, vocabulary: Vocabulary): Words {
  const text = (tool.description ?? '').slice(0, MAX_TEXT).trim();
  const first = firstSentence(text);
  const parameters = readParameters(tool.inputSchema);
  return {
    name: vocabulary.numbersOf(`${name} ${(tool.title ?? tool.annotations?.title ?? '').slice(0, MAX_TEXT)}`),
    firstSentence: vocabulary.numbersOf(first),
    rest: vocabulary.numbersOf(text.slice(first.length)),
    parameters: vocabulary.numbersOf(parameters.names.join(' ').slice(0, MAX_TEXT)),
    parameterTexts: vocabulary.numbersOf(parameters.texts.join(' ').slice(0, MAX_TEXT)),
    group: ofGroup.group,
    groupText: ofGroup.groupText,
  };
}

/** Without a sentence that ends soon, the beginning. */
function firstSentence(text: string): string {
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
    addText(property.description, into.texts);
    readValues(property, into.texts);
    readParameters(property, into, depth + 1);
    readParameters(property.items, into, depth + 1);
  }
  return into;
}

/** What a parameter can be: `type: "issue" | "pull_request"` says what the tool does. */
function readValues(property: Record<string, unknown>, into: string[]): void {
  if (Array.isArray(property.enum)) for (const value of property.enum.slice(0, MAX_VALUES)) addText(value, into);
  const variants = property.anyOf ?? property.oneOf;
  if (!Array.isArray(variants)) return;
  for (const variant of variants.slice(0, MAX_VALUES)) {
    if (!isRecord(variant)) continue;
    addText(variant.const, into);
    addText(variant.description, into);
  }
}

function addText(value: unknown, into: string[]): void {
  if (typeof value === 'string') into.push(value.slice(0, MAX_TEXT));
}

/** Numbers the stems of all words: numbers are compared and counted faster. */
export class Vocabulary {
  /** By word and by stem. */
  readonly #numbers = new Map<string, number>();
  readonly #byStem = new Map<string, number>();
  /** Made for the first word that is not known. */
  #byStart: Map<string, string[]> | undefined;

  /** Adds words that are new. */
  numbersOf(text: string): number[] {
    return wordsOf(text).map((word) => this.#numberOf(word));
  }

  #numberOf(word: string): number {
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
