// Prints an error as one line on stderr, with the usage if the arguments were wrong.
import { errorText, isPocketError, printableText } from '@pocket-agent/kit';
import { exitCodeOf } from './exit-codes.ts';
import { usageOf } from './help.ts';

/** The error message with command-line options in place of the options of the library. */
export function commandErrorText(error: unknown, command?: string): string {
  return errorText(error)
    .replace('Choose another port;', `Choose another port with ${command === 'worker' ? '--studio' : '--port'};`)
    .replace('(limits.maxSteps)', '(--max-steps)')
    .replace('(limits.maxCostUsd)', '(--max-cost)')
    .replace(/, "demo", or pass an AI SDK model object\..*/, ' or "demo". pocket-agent models lists the providers.');
}

export function reportError(error: unknown, command: string): number {
  const cause = isPocketError(error, 'CONFIG_INVALID') ? error.cause : undefined;
  const isUsage = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('ERR_PARSE_ARGS');
  process.stderr.write(
    `pocket-agent: ${printableText(commandErrorText(error, command))}\n${isUsage ? `\n${usageOf(command)}` : ''}`,
  );
  return exitCodeOf(error);
}
