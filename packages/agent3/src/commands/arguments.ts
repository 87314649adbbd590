// Parses command line arguments with `parseArgs`; errors name the options as typed.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { closest } from '@pocket-agent/kit';
import { Agent3Error } from '../base/agent3-error.ts';

export function readArguments<Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new Agent3Error('INPUT_INVALID', `${explain(error, config)} See agent3 --help.`, { cause: error });
  }
}

function explain(error: unknown, { options = {}, allowPositionals = false }: ParseArgsConfig): string {
  const text = error instanceof Error ? error.message : String(error);
  const name = /^Unknown option '(-[^']+)'/.exec(text)?.[1];
  // only some error messages of Node end with a full stop
  if (name === undefined) return text.replace(/\.?$/, '.');
  const known = Object.keys(options).map((each) => `--${each}`);
  const meant = closest(name, known);
  const hint = meant ? ` Did you mean ${meant}?` : '';
  const dashes = allowPositionals ? ' Put other arguments that start with a dash after --.' : '';
  return `Unknown option '${name}'.${hint}${dashes}`;
}

/** Parses the value of a numeric option. */
export function numberOf(option: string, typed: string): number {
  const number = Number(typed);
  if (typed.trim() !== '' && Number.isFinite(number)) return number;
  throw new Agent3Error('INPUT_INVALID', `${option} must be a number, not "${typed}"`);
}
