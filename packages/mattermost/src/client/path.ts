// Paths and queries of the API, with every value escaped.
import { MattermostError } from '../base/errors.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** path`/channels/${id}`: what is put in stays one segment. */
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  return texts.reduce((built, text, index) => built + segment(values[index - 1] ?? '') + text);
}

/** Dots would lead to another address of the API, and nothing to the list above. */
function segment(value: string): string {
  if (!/^\.{0,2}$/.test(value)) return encodeURIComponent(value);
  throw new MattermostError('ARGUMENTS_INVALID', `"${value}" is no name or id.`);
}

export function withQuery(plain: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? plain : `${plain}?${text}`;
}
