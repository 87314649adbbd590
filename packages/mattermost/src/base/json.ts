// Parses untrusted JSON.
import { isRecord } from '@pocket-agent/kit';

/** Parses a JSON object; returns undefined for anything else. */
export function parseObject(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An empty object for anything else. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
