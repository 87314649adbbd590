// Reads JSON files that users write; errors name the file, line and column.
import { readFile } from 'node:fs/promises';
import { errorText, PocketError } from '@pocket-agent/kit';

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** `advice` is added to the error if the file does not exist. */
export async function readJsonFile(file: string, advice: string): Promise<unknown> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    const message = hasCode(error, 'ENOENT')
      ? `There is no file ${file}: ${advice}.`
      : `Cannot read ${file}: ${errorText(error)}`;
    throw new PocketError('CONFIG_INVALID', message, { cause: error });
  }
  return parseJson(file, content);
}

/** Comments, trailing commas and a byte order mark are allowed, as in VS Code. */
export function parseJson(file: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return parseLeniently(file, withoutTrailingCommas(withoutComments(content)));
  }
}

function parseLeniently(file: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const reason = unexpectedToken(json) ?? errorText(error);
    throw new PocketError('CONFIG_INVALID', `${file} is not JSON: ${reason}`, { cause: error });
  }
}

/**
 * The character and its position for V8's error "Unexpected token", which has no position. The error occurs in every
 * prefix that contains the character and in no shorter one, so a binary search finds it.
 */
function unexpectedToken(json: string): string | undefined {
  if (!isUnexpectedToken(json)) return undefined;
  let before = 0;
  let end = json.length;
  while (end - before > 1) {
    const middle = Math.floor((before + end) / 2);
    if (isUnexpectedToken(json.slice(0, middle))) end = middle;
    else before = middle;
  }
  const lines = json.slice(0, end).split('\n');
  return `unexpected ${JSON.stringify(json[end - 1])} (line ${lines.length} column ${lines.at(-1)?.length})`;
}

function isUnexpectedToken(json: string): boolean {
  try {
    JSON.parse(json);
    return false;
  } catch (error) {
    return errorText(error).startsWith('Unexpected token');
  }
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
