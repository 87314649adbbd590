// What an option must be, and the words for one that is not.
import { PocketError } from './errors.ts';

/** What an option must be. */
export interface Rule {
  text: string;
  isMet(value: unknown): boolean;
  /** What was given may be a secret: only its kind is shown. */
  isSecret?: true;
  /** What each of its values must be; one that is not is named. */
  part?: Rule;
}

/** `true`: it is checked where it is used. */
export type Names<Options> = Record<keyof Options, true | Rule>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isText = (value: unknown) => typeof value === 'string';

/** For options whose users take null for what was left out. */
export const orNull = (text: string, isMet: Rule['isMet']): Rule => ({
  text,
  isMet: (value) => value === null || isMet(value),
});
export const can = (value: unknown, ...methods: string[]) =>
  methods.every((method) => typeof (value as Record<string, unknown> | undefined)?.[method] === 'function');

export const text: Rule = { text: 'a text', isMet: isText };
export const trueOrFalse: Rule = { text: 'true or false', isMet: (value) => typeof value === 'boolean' };
export const aText = orNull(text.text, text.isMet);
export const aFunction = orNull('a function', (value) => typeof value === 'function');
export const yesOrNo = orNull(trueOrFalse.text, trueOrFalse.isMet);
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
  return { text: `one of ${words.join(', ')}`, isMet: (value) => words.some((word) => word === value) };
}

export const texts = listOf('a list of texts', isText);

const secretText: Rule = { ...text, isSecret: true };
/** Headers, or an environment: what stands in them may be a secret. */
export const textsByName: Rule = {
  text: 'an object of texts',
  isMet: isObject,
  isSecret: true,
  part: secretText,
};
/** Arguments of a program, which may be secrets too. */
export const secretTexts: Rule = {
  text: 'a list of texts',
  isMet: Array.isArray,
  isSecret: true,
  part: secretText,
};

/** `name` is how whoever wrote the value would find it. */
export function checkValue(name: string, value: unknown, rule: Rule): void {
  const fault = faultOf(name, value, rule);
  if (fault) throw fault;
}

export function faultOf(name: string, value: unknown, { text, isMet, isSecret, part }: Rule): PocketError | undefined {
  if (!isMet(value)) {
    const got = isSecret ? kindOf(value) : shown(value);
    return new PocketError('CONFIG_INVALID', `${name} must be ${text}, got ${got}.`);
  }
  if (!part) return undefined;
  for (const [key, each] of Object.entries(value ?? {})) {
    const fault = faultOf(`${name}.${key}`, each, part);
    if (fault) return fault;
  }
  return undefined;
}

function kindOf(value: unknown): string {
  if (value === undefined || typeof value === 'object' || typeof value === 'function') return shown(value, 1);
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
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

/** What is undefined was left out. */
export function givenIn<Options extends object>(
  options: Options,
): { [Key in keyof Options]?: Exclude<Options[Key], undefined> } {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Key in keyof Options]?: Exclude<Options[Key], undefined> };
}
