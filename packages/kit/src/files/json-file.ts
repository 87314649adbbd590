// Reads JSON that people write. Errors say in our words where it breaks: those of JSON.parse differ by runtime, and some have
// no position.
import { configError, errorText } from '../base/errors.ts';
import { fileSystem } from '../base/lazy-node.ts';
import { printable } from '../base/printable.ts';

/** The last token is empty. A string may lack its end. */
const TOKENS = /[ \t\r\n]*([{}[\]:,]|"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"?|[^\s{}[\]:,"]+|[\s\S]|$)/gy;
const MAX_SHOWN = 10;

const VALUE = 'a value';
const FIRST_ITEM = 'a value or "]"';
const AFTER_ITEM = '"," or "]"';
const FIRST_NAME = 'a name in double quotes or "}"';
const NAME = 'a name in double quotes';
const COLON = '":"';
const AFTER_PROPERTY = '"," or "}"';
const END = 'nothing more';
/** What is expected then depends on the brackets around the value. */
const AFTER_VALUE = '';

const valueStarts = { '{': FIRST_NAME, '[': FIRST_ITEM, string: AFTER_VALUE, scalar: AFTER_VALUE };
/** What is expected next, by what is expected now and the kind of token that is found. */
const grammar: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [VALUE]: valueStarts,
  [FIRST_ITEM]: { ...valueStarts, ']': AFTER_VALUE },
  [AFTER_ITEM]: { ',': VALUE, ']': AFTER_VALUE },
  [FIRST_NAME]: { string: COLON, '}': AFTER_VALUE },
  [NAME]: { string: COLON },
  [COLON]: { ':': VALUE },
  [AFTER_PROPERTY]: { ',': NAME, '}': AFTER_VALUE },
};

/** `advice` is added to the error if the file does not exist. */
export async function readJsonFile(file: string, advice: string): Promise<unknown> {
  let content: string;
  try {
    content = await fileSystem().promises.readFile(file, 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const text = isMissing ? `There is no file ${file}: ${advice}.` : `Cannot read ${file}: ${errorText(error)}`;
    throw configError(text, error);
  }
  return parseJsonFile(file, content);
}

/** Comments, trailing commas and a byte order mark are allowed, as in VS Code. */
export function parseJsonFile(file: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    const json = withoutTrailingCommas(withoutComments(content));
    const fault = jsonFault(json);
    if (fault) throw configError(`${file}:${fault.line}:${fault.column}: invalid JSON: ${fault.problem}`);
    return JSON.parse(json);
  }
}

export interface JsonFault {
  line: number;
  column: number;
  /** `found "}"; expected a value` */
  problem: string;
}

/** Where text breaks the rules of JSON; undefined for JSON. */
export function jsonFault(text: string): JsonFault | undefined {
  const open: string[] = [];
  let expected = VALUE;
  for (const { 0: match, 1: token = '', index } of text.matchAll(TOKENS)) {
    const kind = kindOf(token);
    const next = grammar[expected]?.[kind];
    if (next === undefined) {
      if (kind === 'end' && expected === END) break;
      const lines = text.slice(0, index + match.length - token.length).split('\n');
      const column = (lines.at(-1) ?? '').length + 1;
      return { line: lines.length, column, problem: `found ${shown(token, kind)}; expected ${expected}` };
    }
    if (kind === '{' || kind === '[') open.push(kind);
    if (kind === '}' || kind === ']') open.pop();
    const around = open.at(-1);
    expected = next !== AFTER_VALUE ? next : around === undefined ? END : around === '{' ? AFTER_PROPERTY : AFTER_ITEM;
  }
  return undefined;
}

function kindOf(token: string): string {
  if (token === '') return 'end';
  if ('{}[]:,'.includes(token)) return token;
  try {
    JSON.parse(token);
    return token.startsWith('"') ? 'string' : 'scalar';
  } catch {
    return 'broken';
  }
}

/** Strings may be secrets, and so may long words: a key whose quotes were forgotten. */
function shown(token: string, kind: string): string {
  if (kind === 'end') return 'the end of the text';
  if (!token.startsWith('"') && token.length > MAX_SHOWN) return 'a word without double quotes';
  if (!token.startsWith('"')) return printable(token) || 'an invisible character';
  if (kind === 'string') return 'a string';
  return /[^\\]"$/.test(token) ? 'a string with a character that must be escaped' : 'a string without its end';
}

// Both replace what they remove by spaces, so that errors name the right line and column.
// An unclosed string or comment extends to the end, which keeps the search linear.
function withoutComments(text: string): string {
  return text.replace(/"(?:[^\\]|\\.)*?(?:"|$)|\/\/[^\r\n]*|\/\*.*?(?:\*\/|$)|^\uFEFF/gs, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\r\n]/g, ' '),
  );
}

function withoutTrailingCommas(text: string): string {
  return text.replace(/"(?:[^\\]|\\.)*?(?:"|$)|,(?=\s*[}\]])/gs, (found) => (found === ',' ? ' ' : found));
}
