// An error as one line on stderr, with the usage where the command was called wrongly.
import { errorText, isPocketError } from '../errors.ts';
import { printableText } from '../printable.ts';
import { exitCodeOf } from './exit-codes.ts';
import { usageOf } from './help.ts';

/** The text of an error, with options of the command line for those of a program. */
export function commandText(error: unknown): string {
  return errorText(error)
    .replace('(limits.maxSteps)', '(--max-steps)')
    .replace('(limits.maxCostUsd)', '(--max-cost)')
    .replace(/, "demo", or pass an AI SDK model object\..*/, ' or "demo".');
}

export function reportError(error: unknown, command: string): number {
  const cause = isPocketError(error, 'CONFIG_INVALID') ? error.cause : undefined;
  const isUsage = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`pocket-agent: ${printableText(commandText(error))}\n${isUsage ? `\n${usageOf(command)}` : ''}`);
  return exitCodeOf(error);
}
