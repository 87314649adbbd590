// Fills the arguments of a tool call from plain text, guided by the JSON Schema of the tool.
import type { JSONSchema7, JSONSchema7Definition, JSONValue, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { arithmeticIn, FILLER_WORDS, QUOTE, stem, wordsOf } from './words.ts';

/** `evidence` says how strongly the text speaks for this tool: an expression for `expression`, a URL for `url` … */
export type Filled = { input: Record<string, JSONValue>; missing: string[]; evidence: number };
type Parameter = { name: string; schema: JSONSchema7; isRequired: boolean };
type Source = ReturnType<typeof readText>;

const NUMBER = /(?<![\w.:])-?\d[\d,]*(?:\.\d+)?(?![\d:])/.source;
/** How to find a value, by the name of its parameter. */
const SHAPES: { name: RegExp; find: (source: Source) => string | undefined; evidence: number }[] = [
  { name: /^from\b/, find: (source) => phraseAfter(/^(?:from|[\d.,:]+)$/i, source), evidence: 2 },
  { name: /^to\b/, find: (source) => phraseAfter(/^(?:to|into|in|many)$/i, source), evidence: 2 },
  { name: /\bexpression$/, find: ({ text }) => arithmeticIn(text), evidence: 5 },
  { name: /\btime$/, find: ({ text }) => /\d{1,2}:\d\d(?:\s*[ap]m\b)?/i.exec(text)?.[0], evidence: 3 },
  { name: /\bur[il]$/, find: ({ text }) => /https?:\/\/[^\s"'<>]+[\w/]/i.exec(text)?.[0], evidence: 2 },
  { name: /\bglob$/, find: ({ words }) => words.find((word) => word.includes('*')), evidence: 2 },
  { name: /\b(?:path|file|folder|directory)$/, find: pathIn, evidence: 0 },
];

/** Parameters remove the values they take from `quotes` and `numbers`. */
export function readText(text: string, { name, description = '' }: LanguageModelV4FunctionTool) {
  // a capitalised word in a description may be an example of a value
  const common = description.replace(/\p{Lu}\p{L}*/gu, '');
  return {
    text,
    words: text.split(/\s+/),
    quotes: (text.match(QUOTE) ?? []).map((quote) => quote.slice(1, -1)),
    numbers: (text.match(new RegExp(NUMBER, 'gu')) ?? []).map(toNumber),
    taken: new Set<JSONValue>(),
    toolWords: new Set(wordsOf(`${name} ${common}`).map(stem)),
  };
}

export function fillArguments({ properties = {}, required = [] }: JSONSchema7, source: Source): Filled {
  const filled: Filled = { input: {}, missing: [], evidence: 0 };
  // required parameters choose first
  for (const name of new Set([...required, ...Object.keys(properties)])) {
    const schema = concrete(properties[name] ?? {});
    const isRequired = required.includes(name) && schema.default === undefined;
    const found = findValue({ name, schema, isRequired }, source);
    const value = found ?? (required.includes(name) ? schema.default : undefined);
    if (value !== undefined) {
      filled.input[name] = value;
      filled.evidence += shapeOf(name)?.evidence ?? 0;
      source.taken.add(value);
    } else if (isRequired) filled.missing.push(name);
  }
  return filled;
}

/** Takes the first type other than null, of `anyOf` and of a list of types. */
function concrete(definition: JSONSchema7Definition): JSONSchema7 {
  const given = typeof definition === 'boolean' ? {} : definition;
  const schema = { ...given, ...given.anyOf?.map(concrete).find(({ type }) => type !== 'null') };
  return { ...schema, type: [schema.type ?? 'string'].flat().find((type) => type !== 'null') };
}

function findValue(parameter: Parameter, source: Source): JSONValue | undefined {
  const { name, schema, isRequired } = parameter;
  if (schema.enum) return schema.enum.find((value) => wordsOf(source.text).includes(String(value).toLowerCase()));
  if (schema.type === 'string') return findString(parameter, source);
  if (schema.type === 'boolean') return source.text.includes(name) || (isRequired ? false : undefined);
  if (schema.type === 'array') {
    const { type } = concrete([schema.items ?? {}].flat()[0] ?? {});
    const values = type === 'string' ? source.quotes : source.numbers;
    return values.length > 0 ? values.splice(0) : undefined;
  }
  if (schema.type === 'object') {
    const { input, missing } = fillArguments(schema, source);
    return missing.length === 0 && (isRequired || Object.keys(input).length > 0) ? input : undefined;
  }
  // "limit 5", or for a required parameter the next number
  const named = new RegExp(`\\b${wordsOf(name).join('\\s+')}\\s+(${NUMBER})`, 'iu').exec(source.text)?.[1];
  if (named) return source.numbers.splice(source.numbers.indexOf(toNumber(named)), 1)[0];
  return isRequired ? source.numbers.shift() : undefined;
}

function findString({ name, isRequired }: Parameter, source: Source): string | undefined {
  const shape = shapeOf(name);
  if (shape) return shape.find(source);
  if (!isRequired && /\b(?:message|prompt|question|task|id)$/.test(wordsOf(name).join(' '))) return undefined;
  if (/(?:message|prompt|question|task)$/i.test(name)) return source.text;
  const before = /(?:query|text|content|topic|title)$/i.test(name) ? /^(?:for|about)$/i : /^(?:in|at|for|near)$/i;
  return source.quotes.shift() ?? phraseAfter(before, source) ?? (isRequired ? leftover(source) : undefined);
}

function pathIn(source: Source): string | undefined {
  const isPath = (word: string) => /^[^*:]*(?:\w\/|\/\w)[^*:]*$|^\.?[\w-]+\.[a-z]{1,5}$/i.test(word);
  return source.words.map(bare).find(isPath) ?? phraseAfter(/^(?:in|under)$/i, source)?.match(/^[\w-]+/)?.[0];
}

/** The words after a preposition, up to a filler word or punctuation. */
function phraseAfter(preposition: RegExp, { words, toolWords, taken }: Source): string | undefined {
  const phrases = words.map((word, index) => {
    const next = preposition.test(word) ? words.slice(index + 1, index + 7) : [];
    while (/^(?:the|in|from|folder)$/i.test(next[0] ?? '')) next.shift();
    const end = next.findIndex((each) => isFiller(each, toolWords));
    const phrase = next.slice(0, end < 0 ? next.length : end).join(' ');
    return bare(phrase.replace(/[,:;(].*/, ''));
  });
  return phrases.find((phrase) => phrase !== '' && !taken.has(phrase));
}

/** The words that are neither filler words nor words of the tool: "weather london" leaves "london". */
function leftover({ words, toolWords }: Source): string | undefined {
  const rest = words.map(bare).filter((word) => !isFiller(word, toolWords));
  return rest.join(' ') || undefined;
}

const isFiller = (word: string, toolWords: Set<string>) =>
  wordsOf(word).every((each) => FILLER_WORDS.has(each) || toolWords.has(stem(each)));
const shapeOf = (name: string) => SHAPES.find((shape) => shape.name.test(wordsOf(name).join(' ')));
const toNumber = (digits: string) => Number(digits.replaceAll(',', ''));
const bare = (text: string) => text.replace(/^["'“`(]+|["'”`)?!.,;:]+$/g, '');
