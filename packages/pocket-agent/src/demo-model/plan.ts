// Splits a request into parts and finds the tool for each part by comparing words; no understanding.
import type { JSONValue, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { type ArgumentSource, type FilledArguments, fillArguments, type Schema } from './arguments.ts';
import { arithmeticIn, escapePattern, find, NAME, numbersIn, pairIn, wordsOf } from './text.ts';

export type PlannedPart = {
  text: string;
  /** Several when the part names several places: "in London and Paris". */
  calls: { toolName: string; input: Record<string, JSONValue> }[];
  /** A tool that fits, but the request does not say everything that it needs. */
  lacking?: { toolName: string; parameters: string[] };
};
/** `insist` takes the best tool however badly it fits. */
export type PlanOptions = { tools: readonly LanguageModelV4FunctionTool[]; insist: boolean; earlier?: string };

type Candidate = { tool: LanguageModelV4FunctionTool; source: ArgumentSource; filled: FilledArguments; score: number };
type Field = { stems: string[]; weight: number };

const ENOUGH = 1.5;
// the patterns look back and forth, which is too slow for whole documents
const MAX_REQUEST = 4_000;
const MAX_WISHES = 5;
const MAX_EARLIER = 2_000;
const STARTERS =
  'what|whats|how|who|where|when|which|why|is|are|do|does|can|could|please|list|show|read|search|find|convert|calculate|' +
  'compute|tell|give|get|fetch|look|ask|send|create|write|translate|summari[sz]e|check|open|count|add|multiply|divide|subtract';
const SMALL_TALK = /^(?:(?:hi|hello|hey|please|thanks|thank you|ok|okay)\b[\s,!.]*)+/i;
const PLACE = `(?<=\\b(?:in|at|for|near)\\s+(?:the\\s+)?)${NAME}`;
const STOP_WORDS = new Set(
  (
    'a an the is are was be been am do does did can could will would should what whats which who whom how when where why i me my we us you ' +
    'your it its this that these those there here in on at of for to from into and or then also if as by with about please tell give get ' +
    'use using call tool many much some any all not no have has let s t now current'
  ).split(' '),
);
/** Words of people, and the word that a tool for it is likely to use. */
const RELATED = new Map(
  Object.entries({
    time: 'clock hour day date today',
    weather: 'temperature rain snow forecast sunny warm cold hot',
    search: 'find grep mention contain look',
    read: 'open show print',
    files: 'folder directory',
    calculate: 'compute sum percent add multiply divide subtract',
  }).flatMap(([tool, words]) => words.split(' ').map((word): [string, string] => [word, tool])),
);

/** The first separate wishes of a request, in order. What comes after a blank line is what they are about: no wish. */
export function splitRequest(
  request: string,
  tools: readonly LanguageModelV4FunctionTool[],
): { wishes: string[]; isWhole: boolean } {
  const paragraphs = request.slice(0, MAX_REQUEST).split(/\r?\n\s*\r?\n/);
  const found = paragraphs.map((paragraph) => wishesIn(paragraph, tools));
  const isQuestion = (paragraph: string | undefined) => paragraph?.trimEnd().endsWith('?');
  // a greeting is no wish, when a question follows it
  const asked = found.findIndex(
    (each, index) => each.length > 0 && (isQuestion(paragraphs[index]) || !isQuestion(paragraphs[index + 1])),
  );
  const wishes = (found[asked] ?? []).slice(0, MAX_WISHES);
  return { wishes, isWhole: request.length <= MAX_REQUEST && found.flat().length === wishes.length };
}

function wishesIn(text: string, tools: readonly LanguageModelV4FunctionTool[]): string[] {
  const nameWords = tools
    .flatMap(({ name }) => wordsOf(name))
    .filter((word) => word.length > 3 && !STOP_WORDS.has(word));
  const starter = `(?:the\\s+)?(?:${[STARTERS, ...new Set(nameWords)].join('|')})\\b`;
  const separator = new RegExp(
    `[?!;\\n]+\\s*|\\.(?=\\s|$)\\s*|,?\\s+(?:and\\s+)?then\\s+|(?:,|,?\\s+(?:and|also|plus))+\\s+(?=${starter})`,
    'gi',
  );
  // quoted text and abbreviations stay whole
  const masked = text.replace(/"[^"]*"|“[^”]*”|`[^`]*`|\b[ap]\.m\./gi, (quote) => '_'.repeat(quote.length));
  const pieces: string[] = [];
  let start = 0;
  for (const match of masked.matchAll(separator)) {
    const piece = text.slice(start, match.index);
    if (match[0].startsWith(',') && /^\s*(?:if|when|since|given|suppose)\b/i.test(piece)) continue;
    pieces.push(piece);
    start = match.index + match[0].length;
  }
  pieces.push(text.slice(start));
  const wishes = pieces.flatMap(splitSums).map((piece) => piece.replace(SMALL_TALK, '').trim());
  return resolveThere(wishes.filter(Boolean));
}

export function planPart(text: string, { tools, insist, earlier }: PlanOptions): PlannedPart {
  const scores = wordScores(text, tools);
  const candidates = tools.map((tool, index): Candidate => {
    const toolWords = [...wordsOf(tool.name), ...wordsOf(tool.description ?? '')];
    const source = { text, toolWords, earlier: earlier?.slice(0, MAX_EARLIER) };
    const filled = fillArguments(tool.inputSchema, source);
    const score = (scores[index] ?? 0) + filled.evidence;
    return { tool, source, filled, score };
  });
  const rank = ({ score, filled }: Candidate) => (filled.missing.length > 0 ? score * 0.6 : score);
  const best = candidates.sort((left, right) => rank(right) - rank(left))[0];
  if (!best || (best.score < ENOUGH && !insist)) return { text, calls: [] };
  const toolName = best.tool.name;
  const { missing } = best.filled;
  if (missing.length > 0) return { text, calls: [], lacking: { toolName, parameters: missing } };
  return { text, calls: inputsFor(best).map((input) => ({ toolName, input })) };
}

/** How well the words of the text fit each tool. */
function wordScores(text: string, tools: readonly LanguageModelV4FunctionTool[]): number[] {
  const scores = tools.map(({ name }) => explicitScore(text, name));
  const fields = tools.map(fieldsOf);
  const unquoted = text.replace(/["“`][^"”`]*["”`]/g, ' ').replace(/\b[Ww]hat(?:['’]s| is) new\b/, 'web');
  for (const word of new Set(wordsOf(unquoted).filter((candidate) => !STOP_WORDS.has(candidate)))) {
    const related = RELATED.get(stem(word)) ?? RELATED.get(word);
    const weights = fields.map((own) => Math.max(weightOf(word, own), related ? 0.7 * weightOf(related, own) : 0));
    // a word that many tools share says little about any of them
    const sharedBy = weights.filter((weight) => weight > 0).length;
    for (const [index, weight] of weights.entries())
      scores[index] = (scores[index] ?? 0) + weight / Math.sqrt(sharedBy || 1);
  }
  return scores;
}

/** "use get_weather for Oslo" and "ask the Researcher" leave no choice. */
function explicitScore(text: string, toolName: string): number {
  if (toolName.length > 3 && find(`(?<![\\w-])${escapePattern(toolName)}(?![\\w-])`, text)) return 10;
  const asked = /\b(?:ask|tell)\s+(?:the\s+|my\s+)?([\w]+)/i.exec(text)?.[1]?.toLowerCase();
  return asked !== undefined && wordsOf(toolName).includes(asked) ? 6 : 0;
}

function fieldsOf(tool: LanguageModelV4FunctionTool): Field[] {
  const { properties: known = {} }: Schema = tool.inputSchema;
  const properties = Object.entries(known);
  const schemas = properties.map(([, schema]) => (typeof schema === 'object' ? schema : {}));
  const field = (texts: string[], weight: number) => ({ stems: texts.flatMap(wordsOf).map(stem), weight });
  return [
    field([tool.name], 3),
    field(
      schemas.flatMap((schema) => (schema.enum ?? []).map(String)),
      2,
    ),
    field(
      properties.map(([name]) => name),
      1.5,
    ),
    field([tool.description ?? ''], 1),
    field(
      schemas.map((schema) => schema.description ?? ''),
      0.5,
    ),
  ];
}

function weightOf(word: string, fields: Field[]): number {
  const wanted = stem(word);
  return fields.find((field) => field.stems.some((candidate) => isSameWord(wanted, candidate)))?.weight ?? 0;
}

/** "translate" is "translation", but "current" is not "currency". */
function isSameWord(left: string, right: string): boolean {
  if (left === right) return true;
  const shorter = Math.min(left.length, right.length);
  let common = 0;
  while (common < shorter && left[common] === right[common]) common += 1;
  return common >= 5 && common / shorter > 0.87;
}

function stem(word: string): string {
  return word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, '') : word.replace(/s$/, '');
}

/** "2+2 and 3*3" is two sums; "the sum of 2 and 3" is one. */
function splitSums(text: string): string[] {
  const pieces = text.split(/,?\s+and\s+(?=[\d(])/);
  const isWhole = (piece: string) => arithmeticIn(piece) || (pairIn(piece) && numbersIn(piece).length > 0);
  return pieces.length > 1 && pieces.every(isWhole) ? pieces : [text];
}

/** "the weather in Tokyo" followed by "what time is it there" asks for the time in Tokyo. */
function resolveThere(pieces: string[]): string[] {
  let place: string | undefined;
  return pieces.map((piece) => {
    const named = find(PLACE, piece, 'u');
    const resolved = named || !place ? piece : piece.replace(/(?<!\b(?:is|are|if) )\bthere\b/i, `in ${place}`);
    place = named ?? place;
    return resolved;
  });
}

/** One input, or one for each place of "in London, Paris and Rome" if the tool takes one place at a time. */
function inputsFor({ tool, source, filled }: Candidate): Record<string, JSONValue>[] {
  const several = new RegExp(
    `\\b(in|for|at|of|between)\\s+(${NAME}(?:\\s*,\\s*(?:\\1\\s+)?${NAME})*)\\s*,?\\s+and\\s+(?:\\1\\s+)?(${NAME})`,
    'u',
  );
  const [phrase = '', preposition = '', first = '', last = ''] = several.exec(source.text) ?? [];
  if (phrase === '') return [filled.values];
  const places = [...first.split(/\s*,\s*/), last].map((place) => place.replace(/^(?:in|for|at|of)\s+/, ''));
  const inputs = places.map((place) => {
    const text = source.text.replace(phrase, `${preposition === 'between' ? 'in' : preposition} ${place}`);
    return fillArguments(tool.inputSchema, { ...source, text }).values;
  });
  const takesOnePlace = inputs.every((input, index) => Object.values(input).includes(places[index] ?? ''));
  return takesOnePlace ? inputs : [filled.values];
}
