// Parses the arguments of a command with Node's own parser.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { explainArguments, PocketError } from '@pocket-agent/kit';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The options and positional arguments of a command. Throws CONFIG_INVALID for unknown options. */
export function readArguments<const Known extends Options>(args: readonly string[], options: Known) {
  const allowPositionals = true;
  try {
    return parseArgs({ args: [...args], options, allowPositionals, strict: true, tokens: true });
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', explainArguments(error, { options, allowPositionals }), { cause: error });
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
