// The words of a tool by field, as numbers: those of its name count more than those of its description.
import type { Tool } from '@modelcontextprotocol/client';
import { isRecord } from '@pocket-agent/kit';
import type { ToolGroup } from '../tools/tool-source.ts';
import { isOneEdit, stemOf, wordsOf } from './words.ts';

/** The searched data of a tool. */
export interface SearchedTool {
  /** The name at its server. */
  name: string;
  tool: Tool;
  group: ToolGroup | undefined;
}

/** Weight of each field, and how much its length counts. Measured by bench/tool-search/run.ts; see docs/tool-search.md. */
export const fields = {
  name: { weight: 3, lengthPart: 0.4 },
  firstSentence: { weight: 0.8, lengthPart: 0 },
  rest: { weight: 0.65, lengthPart: 0.5 },
  parameters: { weight: 0.5, lengthPart: 0.7 },
  parameterTexts: { weight: 0.2, lengthPart: 0.7 },
  group: { weight: 1.2, lengthPart: 0.15 },
  groupText: { weight: 0.55, lengthPart: 0.7 },
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
/** Different words that one server adds; others of it are not found. Real servers have a few thousand. */
const MAX_NEW_WORDS = 20_000;
/** Words that a query is compared with to correct its typing errors, so that a server with many words does not delay it. */
const MAX_COMPARED = 20_000;
/** Typing errors in shorter words are too likely to hit another word. */
const MIN_CORRECTED_LENGTH = 5;

function noWords(): Words {
  return { name: [], firstSentence: [], rest: [], parameters: [], parameterTexts: [], group: [], groupText: [] };
}

/** The words of a server or folder. */
export interface GroupWords {
  number: number;
  /** The same for all its tools. */
  words: Words;
  /** New words that its tools may still add. */
  room: Room;
}

interface Room {
  left: number;
}

export function readGroup(group: ToolGroup | undefined, number: number, vocabulary: Vocabulary): GroupWords {
  const room = { left: MAX_NEW_WORDS };
  const read = (text = '') => vocabulary.numbersOf(text.slice(0, MAX_GROUP_TEXT), room);
  return { number, room, words: { ...noWords(), group: read(group?.name), groupText: read(group?.description) } };
}

export function readTool({ name, tool }: SearchedTool, { words, room }: GroupWords, vocabulary: Vocabulary): Words {
  const text = (tool.description ?? '').slice(0, MAX_TEXT).trim();
  const first = firstSentence(text);
  const parameters = readParameters(tool.inputSchema);
  const read = (given: string) => vocabulary.numbersOf(given.slice(0, MAX_TEXT), room);
  return {
    name: [...read(name), ...read(tool.title ?? tool.annotations?.title ?? '')],
    firstSentence: read(first),
    rest: read(text.slice(first.length)),
    parameters: read(parameters.names.join(' ')),
    parameterTexts: read(parameters.texts.join(' ')),
    group: words.group,
    groupText: words.groupText,
  };
}

const SENTENCE_END = /[.!?](?=\s|$)|[。！？]|\n\s*\n/;
const MAX_SENTENCE = 300;
const BEGINNING = 200;

/** Without a sentence that ends soon, the beginning. */
function firstSentence(text: string): string {
  const end = SENTENCE_END.exec(text);
  if (end && end.index <= MAX_SENTENCE) return text.slice(0, end.index + end[0].length);
  return text.length <= MAX_SENTENCE ? text : text.slice(0, BEGINNING);
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

/** The values of a parameter: `type: "issue" | "pull_request"` says what the tool does. */
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

  /** Adds words that are new, while there is room for them. */
  numbersOf(text: string, room: Room): number[] {
    const numbers: number[] = [];
    for (const word of wordsOf(text)) {
      const number = this.#numbers.get(word) ?? this.#add(word, room);
      if (number !== undefined) numbers.push(number);
    }
    return numbers;
  }

  #add(word: string, room: Room): number | undefined {
    const stem = stemOf(word);
    const known = this.#byStem.get(stem);
    if (known === undefined && room.left <= 0) return undefined;
    const number = known ?? this.#byStem.size;
    if (known === undefined) {
      room.left--;
      this.#byStem.set(stem, number);
    }
    this.#numbers.set(word, number);
    return number;
  }

  get size(): number {
    return this.#byStem.size;
  }

  find(stem: string): number | undefined {
    return this.#byStem.get(stem);
  }

  /** Stems with one edit of difference behind the first letter. `compared`: with how many the query was compared already. */
  similarTo(stem: string, compared: { count: number }): number[] {
    if (stem.length < MIN_CORRECTED_LENGTH || compared.count > MAX_COMPARED) return [];
    this.#byStart ??= Map.groupBy(this.#byStem.keys(), (known) => `${known[0]}${known.length}`);
    const lengths = [stem.length - 1, stem.length, stem.length + 1];
    const candidates = lengths.flatMap((length) => this.#byStart?.get(`${stem[0]}${length}`) ?? []);
    compared.count += candidates.length;
    return candidates.flatMap((known) => (isOneEdit(known, stem) ? (this.find(known) ?? []) : []));
  }
}
