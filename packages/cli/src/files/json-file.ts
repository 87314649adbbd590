// JSON files that people write: what is wrong with one is said with its name.
import { readFile } from 'node:fs/promises';
import { didYouMean, errorText, PocketError } from '@pocket-agent/kit';
import { hasCode } from './file-lock.ts';

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `wanted` is what to do when there is no such file. */
export async function readJsonFile(file: string, wanted: string): Promise<unknown> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    const message = hasCode(error, 'ENOENT')
      ? `There is no file ${file}: ${wanted}.`
      : `Cannot read ${file}: ${errorText(error)}`;
    throw new PocketError('CONFIG_INVALID', message, { cause: error });
  }
  return parseJson(file, content);
}

/** Comments, trailing commas and a byte order mark are allowed, as in VS Code. */
export function parseJson(file: string, content: string): unknown {
  try {
    return parseLeniently(content);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file} is not JSON: ${errorText(error)}`, { cause: error });
  }
}

function parseLeniently(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return JSON.parse(withoutTrailingCommas(withoutComments(content)));
  }
}

// Both keep strings as they are and put spaces in place of the rest, so that errors name the right line and column.
// An unclosed string or comment extends to the end, which keeps the search linear.
function withoutComments(text: string): string {
  return text.replace(/"(?:[^\\]|\\.)*?(?:"|$)|\/\/[^\r\n]*|\/\*.*?(?:\*\/|$)|^\uFEFF/gs, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\r\n]/g, ' '),
  );
}

function withoutTrailingCommas(text: string): string {
  return text.replace(/"(?:[^\\]|\\.)*?(?:"|$)|,(?=\s*[}\]])/gs, (found) => (found === ',' ? ' ' : found));
}

const kinds = {
  text: (value: unknown) => typeof value === 'string',
  'true or false': (value: unknown) => typeof value === 'boolean',
  'an object': isObject,
  'a list of folders, each as text': (value: unknown) =>
    Array.isArray(value) && value.every((entry) => typeof entry === 'string'),
  /** Checked where it is used. */
  anything: () => true,
};

/** What each key holds. */
export type Shape = Readonly<Record<string, keyof typeof kinds>>;

/** An object that may be missing, with no other keys than those. */
export function readObject(where: string, value: unknown, shape: Shape): JsonObject {
  if (value === undefined) return {};
  if (!isObject(value)) throw new PocketError('CONFIG_INVALID', `${where} must be an object.`);
  const keys = Object.keys(shape);
  for (const [key, item] of Object.entries(value)) {
    const kind = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (kind === undefined) {
      throw new PocketError(
        'CONFIG_INVALID',
        `${where} has no "${key}".${didYouMean(key, keys)} It may have: ${keys.join(', ')}.`,
      );
    }
    if (!kinds[kind](item)) throw new PocketError('CONFIG_INVALID', `${where}: "${key}" must be ${kind}.`);
  }
  return value;
}
