// What callers hand in, checked once at the door.
import type { z } from 'zod';
import { Agent3Error } from './agent3-error.ts';

/** PostgreSQL refuses the character that ends a string, so nothing is ever kept under such a name. */
export function canBeKey(text: string): boolean {
  return !text.includes('\0');
}

/** The messages name fields and rules, never what was given: that may be a secret. `calledAs` has other names of fields. */
export function inputChecked<Output>(
  schema: z.ZodType<Output>,
  input: unknown,
  calledAs: Readonly<Record<string, string>> = {},
): Output {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const problems = error.issues.slice(0, 5).map(({ path, message }) => {
    const field = path.join('.');
    return `${calledAs[field] ?? (field || 'input')}: ${message}`;
  });
  throw new Agent3Error('INPUT_INVALID', problems.join('; '));
}
