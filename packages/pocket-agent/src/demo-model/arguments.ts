// Fills the arguments of a tool call from plain text, guided by the JSON Schema of the tool.
import type { JSONValue } from '@ai-sdk/provider';
import {
  arithmeticIn,
  bare,
  clockIn,
  dateIn,
  escapePattern,
  find,
  isPointer,
  leftover,
  NAME,
  namesIn,
  numberNear,
  numbersIn,
  pairIn,
  pathIn,
  quotedIn,
  resultNumber,
  wordsOf,
} from './text.ts';

/** The words of JSON Schema that are understood here; everything else is ignored. */
export type Schema = {
  type?: string | readonly string[];
  description?: string;
  properties?: Record<string, Schema | boolean>;
  required?: readonly string[];
  items?: Schema | boolean | readonly (Schema | boolean)[];
  anyOf?: readonly (Schema | boolean)[];
  oneOf?: readonly (Schema | boolean)[];
  enum?: readonly JSONValue[];
  const?: JSONValue;
  default?: JSONValue;
};
export type FilledArguments = {
  values: Record<string, JSONValue>;
  /** Required parameters that the text says nothing about. */
  missing: string[];
  /** How strongly the shape of the text speaks for this tool: an expression for `expression`, a path for `path` … */
  evidence: number;
};
/** `toolWords` are not taken for a value; `earlier` is a result that words such as "it" may stand for. */
export type ArgumentSource = { text: string; toolWords: readonly string[]; earlier?: string };

type Finding = { value: JSONValue; evidence: number };
type Request = ArgumentSource & { used: Set<string>; isRequired: boolean };

/** `used` remembers what was taken, so that two parameters do not get the same value. */
export function fillArguments(schema: Schema, source: ArgumentSource, used = new Set<string>()): FilledArguments {
  const filled: FilledArguments = { values: {}, missing: [], evidence: 0 };
  const properties = Object.entries(schema.properties ?? {}).map(([name, definition]) => {
    const property = concrete(definition);
    const isRequired = schema.required?.includes(name) ?? false;
    return { name, property, isRequired, isUrgent: isRequired && property.default === undefined };
  });
  // what must be there chooses first
  for (const { name, property, isRequired, isUrgent } of properties.sort(
    (a, b) => Number(b.isUrgent) - Number(a.isUrgent),
  )) {
    const finding = findValue(name, property, { ...source, used, isRequired: isUrgent });
    if (finding) {
      filled.values[name] = finding.value;
      filled.evidence += finding.evidence;
    } else if (isUrgent) filled.missing.push(name);
    else if (isRequired && property.default !== undefined) filled.values[name] = property.default;
  }
  return filled;
}

/** Looks through `anyOf: [{ type: 'string' }, { type: 'null' }]` and `type: ['string', 'null']`. */
function concrete(definition: Schema | boolean): Schema {
  if (typeof definition === 'boolean') return {};
  const variants = definition.anyOf ?? definition.oneOf;
  const variant = variants?.find((candidate) => typeof candidate === 'object' && candidate.type !== 'null');
  const schema = typeof variant === 'object' ? { ...definition, ...variant } : definition;
  return typeof schema.type === 'object' ? { ...schema, type: schema.type.find((type) => type !== 'null') } : schema;
}

function findValue(name: string, schema: Schema, request: Request): Finding | undefined {
  if (schema.const !== undefined) return { value: schema.const, evidence: 0 };
  if (schema.enum) return asChoice(schema.enum, request);
  switch (schema.type) {
    case 'boolean':
      return asBoolean(name, request);
    case 'number':
    case 'integer':
      return asNumber(name, schema.type === 'integer', request);
    case 'array':
      return asArray(schema, request);
    case 'object':
      return asObject(schema, request);
    default:
      return asString(name, request);
  }
}

function asChoice(values: readonly JSONValue[], { text }: Request): Finding | undefined {
  const found = values.find((value) => new RegExp(`\\b${escapePattern(String(value))}s?\\b`, 'i').test(text));
  return found === undefined ? undefined : { value: found, evidence: 1 };
}

function asBoolean(name: string, { text, isRequired }: Request): Finding | undefined {
  const word = escapePattern(wordsOf(name).at(-1) ?? name);
  if (new RegExp(`\\b(?:no|not|without|non)[\\s-]+${word}`, 'i').test(text)) return { value: false, evidence: 1 };
  if (new RegExp(`\\b${word}`, 'i').test(text)) return { value: true, evidence: 1 };
  return isRequired ? { value: false, evidence: 0 } : undefined;
}

function asNumber(name: string, isInteger: boolean, { text, used, isRequired, earlier }: Request): Finding | undefined {
  const words = wordsOf(name);
  const isCount = words.length === 1 || words.some((word) => /^(?:count|limit|max|number|size|total)$/.test(word));
  const near = numberNear(text, words.map(escapePattern).join('|'), isCount);
  const free = isRequired ? numbersIn(text).find((number) => !used.has(number)) : undefined;
  const single = isRequired && /\bhow many\b.*\b(?:in|per)\s+an?\s/i.test(text) ? '1' : undefined;
  const shown = isRequired && earlier ? resultNumber(earlier) : undefined;
  const digits = near ?? free ?? single ?? shown;
  if (digits === undefined) return undefined;
  used.add(digits);
  const value = toNumber(digits);
  return { value: isInteger ? Math.trunc(value) : value, evidence: 1 };
}

function asArray(schema: Schema, { text, used, isRequired }: Request): Finding | undefined {
  const type = concrete([schema.items ?? {}].flat()[0] ?? {}).type;
  const quotes = quotedIn(text);
  const tail = /(?::|\b(?:for|of|in|with))\s+(.+)$/i.exec(text)?.[1] ?? '';
  const listed = tail.split(/\s*,\s*(?:and\s+)?|\s+and\s+/).map(bare);
  const texts = quotes.length > 0 ? quotes : listed.filter(Boolean);
  const list = type === 'number' || type === 'integer' ? numbersIn(text).map(toNumber) : texts;
  if (list.length < (isRequired ? 1 : 2)) return undefined;
  for (const item of list) used.add(String(item));
  return { value: list, evidence: 1 };
}

function asObject(schema: Schema, request: Request): Finding | undefined {
  const { values, missing, evidence } = fillArguments(schema, request, request.used);
  const isUseful = missing.length === 0 && (request.isRequired || Object.keys(values).length > 0);
  return isUseful ? { value: values, evidence } : undefined;
}

/** The name of a parameter says what kind of text it wants. */
function asString(name: string, request: Request): Finding | undefined {
  const { text, isRequired } = request;
  const earlier = isRequired ? (request.earlier ?? '') : '';
  const words = wordsOf(name);
  const [first = ''] = words;
  const last = words.at(-1) ?? '';
  const shaped = (pattern: string) => strong(find(pattern, text) ?? find(pattern, earlier));

  if (/^(?:expression|formula|equation|calculation)$/.test(last)) return strong(arithmetic(text, earlier), 5);
  if (/^(?:message|prompt|question|instructions?|task|request|input)$/.test(last)) {
    return isRequired ? { value: withEarlier(text, earlier), evidence: 0 } : undefined;
  }
  if (/^(?:urls?|uri|link|href)$/.test(last)) return shaped(String.raw`https?:\/\/[^\s"'<>]+[\w/]`);
  if (/^e?mail$/.test(last)) return shaped(String.raw`[\w.+-]+@[\w-]+\.[\w.]+\w`);
  if (/^(?:glob|pattern)$/.test(last)) return strong(find(String.raw`[\w./-]*\*[\w./*-]*\w`, text));
  if (/^(?:path|file|filename|folder|directory|dir)$/.test(last)) {
    return strong(pathIn(text) ?? pathIn(earlier)) ?? folderIn(text);
  }
  if (/^(?:from|source|origin)$/.test(first)) return strong(pairIn(text)?.from) ?? nameFor(name, request);
  if (/^(?:to|target|destination|dest)$/.test(first)) return strong(pairIn(text)?.to) ?? nameFor(name, request);
  if (last === 'time') return strong(clockIn(text), 3);
  if (last === 'date' || last === 'day') return strong(dateIn(text));
  if (/^(?:query|text|content|body|search|keywords?|phrase|terms?|q|topic|title|subject)$/.test(last)) {
    return phrase(request);
  }
  return nameFor(name, request);
}

function arithmetic(text: string, earlier: string): string | undefined {
  const number = resultNumber(earlier);
  const pointer = /\b(?:it|that|this|the (?:result|answer|total|number|value))\b/gi;
  return arithmeticIn(number ? text.replace(pointer, number) : text);
}

/** The part of a text that is meant: in quotes, after a colon, after "for" or "about", or else all of it. */
function phrase({ text, earlier, used, isRequired, toolWords }: Request): Finding | undefined {
  const exact = quotedIn(text).find((candidate) => !used.has(candidate)) ?? /:\s+(\S.*)$/.exec(text)?.[1];
  const lead = /\b(?:for|about|contain(?:s|ing)?|mention(?:s|ing)?|says?|named|called)\s+(?:the (?:word|text) )?(.+)$/i;
  const about = lead.exec(text)?.[1]?.replace(/\s+in\s+(?:(?:the|my|this|all|any)\b|\S*\*).*$/i, '');
  const rest = isRequired ? (leftover(text, toolWords) ?? withEarlier(text, earlier)) : undefined;
  const value = exact ?? about ?? rest;
  if (!value) return undefined;
  used.add(value);
  return { value: bare(value), evidence: exact || about ? 1 : 0 };
}

/** A proper noun or another name: quoted, labelled, after a preposition, or whatever is left over. */
function nameFor(parameter: string, { text, used, isRequired, earlier, toolWords }: Request): Finding | undefined {
  const free = (candidate: string | undefined) => (candidate && !used.has(candidate) ? candidate : undefined);
  const label = escapePattern(wordsOf(parameter).join(' '));
  const labelled = find(`(?<=\\b${label}\\s*(?:is|=|:|named|called)?\\s+)(?:${NAME}|(["“']).+?["”'])`, text, 'u');
  const prepositions = isRequired ? 'in|at|for|near|of|on|from|to|about|with|by' : 'in|at|for|near';
  const proper = find(`(?<=\\b(?:${prepositions})\\s+(?:the\\s+)?)${NAME}`, text, 'u');
  const certain = free(labelled && bare(labelled)) ?? quotedIn(text).find(free) ?? free(proper);
  const plain = find(String.raw`(?<=\b(?:in|at|for|near)\s+)\p{L}[\p{L}' -]*`, text);
  const place = plain?.replace(/\s+(?:today|tomorrow|now|right now|please|like|and|if|when|at)\b.*$/i, '');
  const lower = place && !isPointer(place) ? free(place) : undefined;
  const guess = isRequired ? (namesIn(text).find(free) ?? free(leftover(text, toolWords))) : undefined;
  const shown = isRequired && earlier ? (namesIn(earlier)[0] ?? earlier.slice(0, 200)) : undefined;
  const value = certain ?? lower ?? guess ?? shown;
  if (value === undefined) return undefined;
  used.add(value);
  return { value: bare(value), evidence: certain ? 0.5 : 0 };
}

function folderIn(text: string): Finding | undefined {
  const lead = String.raw`(?<=\b(?:in|of|under|below|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?)`;
  const named = find(`${lead}[\\w./-]+`, text);
  const isWord = !named || isPointer(named) || /^(?:current|working|folder|directory|files?)$/i.test(named);
  return isWord ? undefined : { value: named, evidence: 1 };
}

const strong = (value: string | undefined, evidence = 2) => (value === undefined ? undefined : { value, evidence });
const toNumber = (digits: string) => Number(digits.replaceAll(',', ''));
const withEarlier = (text: string, earlier: string | undefined) => (earlier ? `${text}\n\n${earlier}` : text);
