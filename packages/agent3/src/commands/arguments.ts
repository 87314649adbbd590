// Parses command line arguments with `parseArgs`; errors name the options as typed.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { explainArguments } from '@pocket-agent/kit';
import { Agent3Error } from '../base/agent3-error.ts';

export function readArguments<Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new Agent3Error('INPUT_INVALID', `${explainArguments(error, config)} See agent3 --help.`, { cause: error });
  }
}

/** Parses the value of a numeric option, if it was given. */
export function numberOf(option: string, typed: string | undefined): number | undefined {
  if (typed === undefined) return undefined;
  const number = Number(typed);
  if (typed.trim() !== '' && Number.isFinite(number)) return number;
  throw new Agent3Error('INPUT_INVALID', `${option} must be a number, not "${typed}"`);
}
