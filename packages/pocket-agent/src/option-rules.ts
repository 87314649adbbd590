// What an option must be, and the words for one that is not.
import { PocketError } from './errors.ts';

/** What an option must be. */
export interface Rule {
  text: string;
  isMet(value: unknown): boolean;
  /** What was given may be a secret and is not shown. */
  isSecret?: true;
}

/** `true`: it is checked where it is used. */
export type Names<Options> = Record<keyof Options, true | Rule>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isText = (value: unknown) => typeof value === 'string';

/** null is what was left out, as it always was for these. */
export const orNull = (text: string, isMet: Rule['isMet']): Rule => ({
  text,
  isMet: (value) => value === null || isMet(value),
});
export const can = (value: unknown, ...methods: string[]) =>
  methods.every((method) => typeof (value as Record<string, unknown> | undefined)?.[method] === 'function');

export const aText = orNull('a text', isText);
export const aFunction = orNull('a function', (value) => typeof value === 'function');
export const yesOrNo = orNull('true or false', (value) => typeof value === 'boolean');
export const positive: Rule = {
  text: 'a number greater than 0',
  isMet: (value) => typeof value === 'number' && value > 0,
};
export const isCount = (value: unknown) => Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
export const count: Rule = {
  text: 'a whole number greater than 0',
  isMet: (value) => isCount(value) && Number(value) > 0,
};

export function listOf(text: string, isItem: Rule['isMet']): Rule {
  return orNull(text, (value) => Array.isArray(value) && value.every(isItem));
}

export function oneOf(...words: string[]): Rule {
  return orNull(`one of ${words.join(', ')}`, (value) => words.some((word) => word === value));
}

export const texts = listOf('a list of texts', isText);

/** `name` is how whoever wrote the value would find it. */
export function checkValue(name: string, value: unknown, rule: Rule): void {
  const fault = faultOf(name, value, rule);
  if (fault) throw fault;
}

export function faultOf(name: string, value: unknown, { text, isMet, isSecret }: Rule): PocketError | undefined {
  if (isMet(value)) return undefined;
  return new PocketError('CONFIG_INVALID', `${name} must be ${text}${isSecret ? '' : `, got ${shown(value)}`}.`);
}

function shown(value: unknown, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    const items = value.slice(0, 5).map((item) => shown(item, depth + 1));
    return depth > 0 ? 'a list' : `[${items.join(', ')}${value.length > 5 ? ', …' : ''}]`;
  }
  const kind: unknown = value.constructor?.name;
  if (typeof kind !== 'string' || kind === 'Object' || kind === '') return 'an object';
  return `${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}`;
}
