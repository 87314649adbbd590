// Option checking: unknown names and wrong values are refused with a CONFIG_INVALID error that says what to write.
import { configError, errorText, isPocketError, type PocketError } from './errors.ts';
import { definedKeys, isRecord } from './records.ts';
import { didYouMean } from './suggest.ts';

/** The values that one option takes. */
export interface OptionRule {
  /** As in "must be …": "a string". */
  expected: string;
  accepts(value: unknown): boolean;
  /** The value may be a secret: errors show only its type. */
  isSecret?: true;
  /** The rule for each item of a list or each property of an object. */
  part?: OptionRule;
}

/** `true` marks an option that is checked where it is used. */
export type OptionRules<Options> = Record<keyof Options, true | OptionRule>;

/** Advice for an unknown option, for example its new name: a sentence that starts with a space. */
type OptionHint = (key: string) => string | undefined;

export const isString = (value: unknown) => typeof value === 'string';
export const isIntegerOrInfinity = (value: unknown) => Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
export const hasMethods = (value: unknown, ...methods: string[]) =>
  methods.every((method) => typeof (value as Record<string, unknown> | undefined)?.[method] === 'function');

/** For options where null means the same as undefined. */
export function nullable(expected: string, accepts: OptionRule['accepts']): OptionRule {
  return { expected, accepts: (value) => value === null || accepts(value) };
}

export const stringRule: OptionRule = { expected: 'a string', accepts: isString };
export const nonEmptyRule: OptionRule = {
  expected: 'a non-empty string',
  accepts: (value) => typeof value === 'string' && value !== '',
};
export const functionRule: OptionRule = { expected: 'a function', accepts: (value) => typeof value === 'function' };
export const objectRule: OptionRule = { expected: 'an object', accepts: isRecord };
export const booleanRule: OptionRule = { expected: 'true or false', accepts: (value) => typeof value === 'boolean' };
export const nullableString = nullable(stringRule.expected, stringRule.accepts);
export const nullableFunction = nullable(functionRule.expected, functionRule.accepts);
export const nullableBoolean = nullable(booleanRule.expected, booleanRule.accepts);
export const positiveNumber: OptionRule = {
  expected: 'a number greater than 0',
  accepts: (value) => typeof value === 'number' && value > 0,
};
/** Infinity means no limit. */
export const positiveInteger: OptionRule = {
  expected: 'a whole number greater than 0',
  accepts: (value) => isIntegerOrInfinity(value) && Number(value) > 0,
};

export function listOf(expected: string, isItem: OptionRule['accepts']): OptionRule {
  // a copy, because `every` skips the holes of a list
  return nullable(expected, (value) => Array.isArray(value) && Array.from(value).every((item) => isItem(item)));
}

export function oneOf(...words: string[]): OptionRule {
  return { expected: `one of ${words.join(', ')}`, accepts: (value) => words.some((word) => word === value) };
}

/** Text that any database can store. */
export function textOfLength(min: number, max: number): OptionRule {
  return {
    expected: `a string of ${min === 0 ? 'at most' : `${min} to`} ${max} characters without NUL`,
    accepts: (value) =>
      isString(value) &&
      String(value).length >= min &&
      String(value).length <= max &&
      !String(value).includes('\0') &&
      String(value).isWellFormed(),
  };
}

export function millisecondsUpTo(max: number): OptionRule {
  return {
    expected: `a number of milliseconds from 1 to ${max}`,
    accepts: (value) => typeof value === 'number' && value >= 1 && value <= max,
  };
}

export const stringList = listOf('a list of strings', isString);

const secretString: OptionRule = { ...stringRule, isSecret: true };
/** For headers or environment variables. */
export const secretStringMap: OptionRule = {
  expected: 'an object of strings',
  accepts: isRecord,
  isSecret: true,
  part: secretString,
};
/** For arguments of a program. */
export const secretStringList: OptionRule = {
  expected: 'a list of strings',
  accepts: Array.isArray,
  isSecret: true,
  part: secretString,
};

/** The options of one function or class, with a rule for each. */
export class OptionSet<Options extends object = object> {
  /** The owner of the options in error messages: "A PocketAgentClient", or a path such as "access". */
  readonly owner: string;
  readonly rules: OptionRules<Options>;
  readonly #hint: OptionHint | undefined;

  constructor(owner: string, rules: OptionRules<Options>, hint?: OptionHint) {
    this.owner = owner;
    this.rules = rules;
    this.#hint = hint;
  }

  has(key: string): boolean {
    return Object.hasOwn(this.rules, key);
  }

  /** Throws for an unknown option and for a wrong value. */
  check(options: object, owner = this.owner): void {
    const error = this.findError(options, owner);
    if (error) throw error;
  }

  /** Returns the error that `check` would throw. */
  findError(options: object, owner = this.owner): PocketError | undefined {
    for (const key of keysOf(options, owner)) {
      const error = this.has(key) ? this.#wrongValue(key, options, owner) : this.unknownOption(key, owner);
      if (error) return error;
    }
    return undefined;
  }

  /** For objects that may have other keys: throws for a wrong value only. */
  checkKnown(options: object, owner = this.owner): void {
    if (typeof options !== 'object' || options === null || readable(owner, () => options instanceof AbortSignal))
      throw configError(`${owner} takes its options as an object, such as { signal }.`);
    for (const key of keysOf(options, owner)) {
      const error = this.#wrongValue(key, options, owner);
      if (error) throw error;
    }
  }

  /** Like `checkKnown`; also throws for a key that looks like a misspelt option. */
  checkSpelling(options: object, owner = this.owner): void {
    this.checkKnown(options, owner);
    for (const key of keysOf(options, owner)) {
      const suggestion = this.has(key) ? '' : didYouMean(key, Object.keys(this.rules));
      if (suggestion) throw unknownOptionError(owner, key, suggestion);
    }
  }

  unknownOption(key: string, owner = this.owner): PocketError {
    const known = Object.keys(this.rules);
    const advice = this.#hint?.(key) ?? (didYouMean(key, known) || ` Available: ${known.join(', ')}.`);
    return unknownOptionError(owner, key, advice);
  }

  #wrongValue(key: string, options: object, owner: string): PocketError | undefined {
    const rule = this.has(key) ? (this.rules as Record<string, true | OptionRule>)[key] : undefined;
    if (rule === undefined || rule === true) return undefined;
    const isPath = /^[a-z]/.test(owner);
    const name = `${owner}${isPath ? '.' : owner && ': '}${key}`;
    const value = readable(name, () => (options as Record<string, unknown>)[key]);
    return value === undefined ? undefined : valueError(name, value, rule);
  }
}

function keysOf(options: object, owner: string): string[] {
  return readable(owner, () => definedKeys(options));
}

/** What `read` returns. Options may be proxies, or have getters, that throw: `name` says what could not be read. */
export function readable<Value>(name: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (isPocketError(error)) throw error;
    throw configError(`${name} cannot be read: ${errorText(error)}`, error);
  }
}

function unknownOptionError(owner: string, key: string, advice: string): PocketError {
  return configError(`${owner} has no option "${key}".${advice}`);
}

/** Throws if the value breaks the rule. `name` says where the value is, as in "limits.maxSteps must be …". */
export function checkValue(name: string, value: unknown, rule: OptionRule): void {
  const error = valueError(name, value, rule);
  if (error) throw error;
}

/** Returns the error that `checkValue` would throw. */
export function valueError(name: string, value: unknown, rule: OptionRule): PocketError | undefined {
  if (!readable(name, () => rule.accepts(value))) {
    const got = rule.isSecret ? typeText(value) : valueText(value);
    return configError(`${name} must be ${rule.expected}, got ${got}.`);
  }
  if (!rule.part || typeof value === 'function') return undefined;
  for (const [key, item] of readable(name, () => Object.entries(value ?? {}))) {
    const error = valueError(`${name}.${key}`, item, rule.part);
    if (error) return error;
  }
  return undefined;
}

function typeText(value: unknown): string {
  if (value === undefined || typeof value === 'object' || typeof value === 'function') return valueText(value, 1);
  return typeof value === 'string' ? 'a string' : `a ${typeof value}`;
}

function valueText(value: unknown, depth = 0): string {
  try {
    return shownValue(value, depth);
  } catch {
    return 'an object that cannot be read'; // a proxy
  }
}

function shownValue(value: unknown, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    const items = value.slice(0, 5).map((item) => valueText(item, depth + 1));
    return depth > 0 ? 'a list' : `[${items.join(', ')}${value.length > 5 ? ', …' : ''}]`;
  }
  const kind: unknown = value.constructor?.name;
  if (typeof kind !== 'string' || kind === 'Object' || kind === '') return 'an object';
  return `${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}`;
}
