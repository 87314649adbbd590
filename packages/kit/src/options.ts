// Checks options: an unknown name would be ignored and a wrong value would fail late, so both are refused at once.
import { PocketError } from './errors.ts';
import { didYouMean } from './suggest.ts';

/** What an option must be. */
export interface Rule {
  text: string;
  isMet(value: unknown): boolean;
  /** The value may be a secret: errors show only its kind. */
  isSecret?: true;
  /** What each of its values must be. */
  part?: Rule;
}

/** `true`: checked where it is used. */
export type Rules<Options> = Record<keyof Options, true | Rule>;

/** For an option that exists elsewhere or has another name: a sentence that starts with a space. */
export type Hint = (key: string) => string | undefined;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isText = (value: unknown) => typeof value === 'string';

/** For options where null means the same as leaving them out. */
export const orNull = (text: string, isMet: Rule['isMet']): Rule => ({
  text,
  isMet: (value) => value === null || isMet(value),
});
export const can = (value: unknown, ...methods: string[]) =>
  methods.every((method) => typeof (value as Record<string, unknown> | undefined)?.[method] === 'function');

export const text: Rule = { text: 'a string', isMet: isText };
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

export const texts = listOf('a list of strings', isText);

const secretText: Rule = { ...text, isSecret: true };
/** Headers, or an environment: what stands in them may be a secret. */
export const textsByName: Rule = {
  text: 'an object of strings',
  isMet: isObject,
  isSecret: true,
  part: secretText,
};
/** Arguments of a program, which may be secrets too. */
export const secretTexts: Rule = {
  text: 'a list of strings',
  isMet: Array.isArray,
  isSecret: true,
  part: secretText,
};

/** The options of one function or class, with a rule for each. */
export class OptionSet<Options extends object = object> {
  /** Who takes them, as errors say it: "A PocketAgentClient", or a path such as "access". */
  readonly owner: string;
  readonly rules: Rules<Options>;
  readonly #hint: Hint | undefined;

  constructor(owner: string, rules: Rules<Options>, hint?: Hint) {
    this.owner = owner;
    this.rules = rules;
    this.#hint = hint;
  }

  has(key: string): boolean {
    return Object.hasOwn(this.rules, key);
  }

  /** Throws for an unknown option and for a wrong value. */
  check(options: object, owner = this.owner): void {
    const fault = this.fault(options, owner);
    if (fault) throw fault;
  }

  fault(options: object, owner = this.owner): PocketError | undefined {
    for (const key of givenKeys(options)) {
      const fault = this.has(key) ? this.#wrongValue(key, options, owner) : this.unknown(key, owner);
      if (fault) return fault;
    }
    return undefined;
  }

  /** For objects that may hold other keys too: wrong values only. */
  faultInKnown(options: object, owner = this.owner): PocketError | undefined {
    if (typeof options !== 'object' || options === null || options instanceof AbortSignal)
      return new PocketError('CONFIG_INVALID', `${owner} takes its options as an object, such as { signal }.`);
    for (const key of givenKeys(options)) {
      const fault = this.#wrongValue(key, options, owner);
      if (fault) return fault;
    }
    return undefined;
  }

  /** For objects that may hold other keys too: wrong values, and keys that look like a misspelt option. */
  faultOrMisspelling(options: object, owner = this.owner): PocketError | undefined {
    const fault = this.faultInKnown(options, owner);
    if (fault) return fault;
    for (const key of givenKeys(options)) {
      const meant = this.has(key) ? '' : didYouMean(key, Object.keys(this.rules));
      if (meant) return noOption(owner, key, meant);
    }
    return undefined;
  }

  unknown(key: string, owner = this.owner): PocketError {
    const known = Object.keys(this.rules);
    const wayOut = this.#hint?.(key) ?? (didYouMean(key, known) || ` There are: ${known.join(', ')}.`);
    return noOption(owner, key, wayOut);
  }

  #wrongValue(key: string, options: object, owner: string): PocketError | undefined {
    const rule = this.has(key) ? (this.rules as Record<string, true | Rule>)[key] : undefined;
    const value = (options as Record<string, unknown>)[key];
    if (rule === undefined || rule === true || value === undefined) return undefined;
    const isPath = /^[a-z]/.test(owner);
    return faultOf(`${owner}${isPath ? '.' : owner && ': '}${key}`, value, rule);
  }
}

function noOption(owner: string, key: string, wayOut: string): PocketError {
  return new PocketError('CONFIG_INVALID', `${owner} has no option "${key}".${wayOut}`);
}

/** Options that are undefined count as left out. */
export function givenKeys(options: object | undefined): string[] {
  return Object.entries(options ?? {}).flatMap(([key, value]) => (value === undefined ? [] : [key]));
}

/** `name` tells the caller where the value is. */
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
  return typeof value === 'string' ? 'a string' : `a ${typeof value}`;
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

/** A copy without the options that are undefined. */
export function givenIn<Options extends object>(
  options: Options,
): { [Key in keyof Options]?: Exclude<Options[Key], undefined> } {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Key in keyof Options]?: Exclude<Options[Key], undefined> };
}
