// Converts what a user entered into a form of an MCP server.
import type { FormResult } from './live-run.ts';

type Content = NonNullable<FormResult['content']>;

/** Drops values of types that forms do not have. Servers check the rest against their schema. */
export function formResult(action: FormResult['action'], content: Record<string, unknown> | undefined): FormResult {
  if (action !== 'accept') return { action };
  const fields = Object.entries(content ?? {}).filter((field): field is [string, Content[string]] => isValue(field[1]));
  return { action, content: Object.fromEntries(fields) };
}

function isValue(value: unknown): value is Content[string] {
  if (Array.isArray(value)) return value.every((each) => typeof each === 'string');
  return ['string', 'number', 'boolean'].includes(typeof value);
}
