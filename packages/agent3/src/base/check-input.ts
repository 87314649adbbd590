// Checks requests against their schemas, and the depth of JSON.
import type { z } from 'zod';
import { Agent3Error } from './agent3-error.ts';

/** PostgreSQL refuses NUL characters, so no stored key can contain one. */
export function canBeKey(text: string): boolean {
  return !text.includes('\0');
}

/** Errors name the field and the rule, never the value, which may be a secret. `labels` maps fields to names the user knows. */
export function checkInput<Output>(
  schema: z.ZodType<Output>,
  input: unknown,
  labels: Readonly<Record<string, string>> = {},
): Output {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const problems = error.issues.slice(0, 5).map(({ path, message }) => {
    const field = path.join('.');
    return `${labels[field] ?? (field || 'input')}: ${message}`;
  });
  throw new Agent3Error('INPUT_INVALID', problems.join('; '));
}

export const MAX_DEPTH = 100;

/** Deeper nesting overflows the stack of JSON.stringify. Stops at the limit. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1));
}
