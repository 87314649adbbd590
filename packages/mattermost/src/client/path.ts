// API paths and query strings with escaped values.
import { MattermostError } from '../base/errors.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** path`/channels/${id}`: each value stays one path segment. */
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  return texts.reduce((built, text, index) => built + segment(values[index - 1] ?? '') + text);
}

/** Rejects `.` and `..`, which lead to another path, and the empty string, which leads to the parent list. */
function segment(value: string): string {
  if (!/^\.{0,2}$/.test(value)) return encodeURIComponent(value);
  throw new MattermostError('ARGUMENTS_INVALID', `"${value}" is not a name or id.`);
}

export function withQuery(plain: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? plain : `${plain}?${text}`;
}
