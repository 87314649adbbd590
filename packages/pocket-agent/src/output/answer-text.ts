// Finds the JSON in a text that a model wrote.
import { errorText } from '@pocket-agent/kit';
import { parseModelJson } from '../base/json-text.ts';

const FENCE = '```';

/** The JSON that the text is, or that its code fence contains. */
export function jsonIn(text: string): { json: unknown } | { problem: string } {
  try {
    return { json: parseModelJson(text) };
  } catch (error) {
    const inner = fenced(text);
    return inner === undefined ? { problem: `it cannot be read as JSON: ${errorText(error)}` } : jsonIn(inner);
  }
}

/** The text between the first and the last code fence. */
function fenced(text: string): string | undefined {
  const start = text.indexOf(FENCE);
  const lineEnd = text.indexOf('\n', start);
  const end = text.lastIndexOf(FENCE);
  return start >= 0 && lineEnd >= 0 && end > lineEnd ? text.slice(lineEnd + 1, end) : undefined;
}

/** JSON that has not fully arrived, closed where it can be; undefined if nothing of the value is there yet. */
export function closedJson(text: string): string | undefined {
  const begin = text.startsWith(FENCE) ? text.indexOf('\n') + 1 : 0;
  const closers: string[] = [];
  let expectsKey = false;
  /** Up to here the text can be closed. Closers change only where this does. */
  let end = begin;
  for (let index = begin; index < text.length; ) {
    const character = text[index] ?? '';
    if (character === '"') {
      const last = stringEnd(text, index);
      if (last === undefined)
        return expectsKey ? closed(text.slice(begin, end), closers) : openString(text, begin, closers);
      index = last + 1;
      if (expectsKey) expectsKey = false;
      else end = index;
    } else if (character === '{' || character === '[') {
      if (closers.push(character === '{' ? '}' : ']') > MAX_DEPTH) return undefined;
      expectsKey = character === '{';
      end = ++index;
    } else if (character === '}' || character === ']') {
      closers.pop();
      end = ++index;
    } else if (character === ',') {
      expectsKey = closers.at(-1) === '}';
      index++;
    } else if (/[\s:]/.test(character)) index++;
    else {
      const next = scalarEnd(text, index);
      if (next === text.length) break; // more digits may follow
      index = next;
      end = next;
    }
  }
  return closed(text.slice(begin, end), closers);
}

/** Deeper values are a mistake, and recursive code would overflow the stack. */
const MAX_DEPTH = 100;

function closed(text: string, closers: readonly string[]): string | undefined {
  return text === '' ? undefined : text + closers.toReversed().join('');
}

/** A string that has not ended yet is shown as far as it goes, without half an escape sequence or surrogate pair. */
function openString(text: string, begin: number, closers: readonly string[]): string | undefined {
  const whole = text
    .slice(begin)
    .replace(/[\ud800-\udbff]$/, '')
    .replace(/(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?$/, '$1');
  return closed(`${whole}"`, closers);
}

/** The index of the closing quote. */
function stringEnd(text: string, start: number): number | undefined {
  for (let index = start + 1; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === '"') return index;
  }
  return undefined;
}

function scalarEnd(text: string, start: number): number {
  let index = start;
  while (index < text.length && !/[\s,\]}]/.test(text[index] ?? '')) index++;
  return index;
}
