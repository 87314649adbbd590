// Parses untrusted JSON.
import { isRecord } from '@pocket-agent/kit';

/** The parsed JSON object; undefined for any other text. */
export function parseObject(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
