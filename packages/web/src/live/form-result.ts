// What a user entered into a form of an MCP server.
import type { FormResult } from './live-run.ts';

type Content = NonNullable<FormResult['content']>;

/** Fields that no form has are left out; servers check the others by their schema. */
export function formResult(action: FormResult['action'], content: Record<string, unknown> | undefined): FormResult {
  if (action !== 'accept') return { action };
  const fields = Object.entries(content ?? {}).filter((field): field is [string, Content[string]] => isValue(field[1]));
  return { action, content: Object.fromEntries(fields) };
}

function isValue(value: unknown): value is Content[string] {
  if (Array.isArray(value)) return value.every((each) => typeof each === 'string');
  return ['string', 'number', 'boolean'].includes(typeof value);
}
