// Parses the arguments of a command with Node's own parser.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { didYouMean, errorText, explainArguments, PocketError } from '@pocket-agent/kit';
import { otherSpelling } from './other-spellings.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The options and positional arguments of a command. Throws CONFIG_INVALID for unknown options. */
export function readArguments<const Known extends Options>(args: readonly string[], options: Known) {
  const allowPositionals = true;
  try {
    return parseArgs({ args: [...args], options, allowPositionals, strict: true, tokens: true });
  } catch (error) {
    const [, unknown = ''] = /^Unknown option '(-[^'=]+)/.exec(errorText(error)) ?? [];
    const advice = otherSpelling(unknown, Object.keys(options));
    const text = advice
      ? `Unknown option '${unknown}'. ${advice}`
      : explainArguments(error, { options, allowPositionals });
    throw new PocketError('CONFIG_INVALID', text, { cause: error });
  }
}

export function positiveNumber(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number) && number > 0) return number;
  throw new PocketError('CONFIG_INVALID', `--${name} must be a number greater than 0, not "${value}".`);
}

export function wholeNumber(name: string, value: string | undefined): number | undefined {
  const number = positiveNumber(name, value);
  if (number === undefined || Number.isInteger(number)) return number;
  throw new PocketError('CONFIG_INVALID', `--${name} must be a whole number, not "${value}".`);
}

/** The action of a command such as `runs list`. Throws CONFIG_INVALID for an unknown one. */
export function actionNamed<Action>(command: string, name: string, actions: Readonly<Record<string, Action>>): Action {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action !== undefined) return action;
  const known = Object.keys(actions);
  const text = `There is no command "${command} ${name}".${didYouMean(name, known)} Available: ${known.join(', ')}.`;
  throw new PocketError('CONFIG_INVALID', text);
}
