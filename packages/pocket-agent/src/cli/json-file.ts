// JSON files that people write: what is wrong with one is said with its name.
import { readFile } from 'node:fs/promises';
import { errorText, PocketError } from '../errors.ts';
import { didYouMean } from './suggest.ts';

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export async function readJsonFile(file: string): Promise<unknown> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file} is not JSON: ${errorText(error)}`, { cause: error });
  }
}

/** An object that may be missing, with no other keys than those. */
export function readObject(where: string, value: unknown, keys: readonly string[]): JsonObject {
  if (value === undefined) return {};
  if (!isObject(value)) throw new PocketError('CONFIG_INVALID', `${where} must be an object.`);
  for (const key of Object.keys(value)) {
    if (keys.includes(key)) continue;
    throw new PocketError(
      'CONFIG_INVALID',
      `${where} has no "${key}".${didYouMean(key, keys)} It may have: ${keys.join(', ')}.`,
    );
  }
  return value;
}
