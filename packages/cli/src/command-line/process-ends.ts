// The process around a command: output that nobody reads, errors that nobody caught, and an end that comes.
import { Console } from 'node:console';
import { inspect } from 'node:util';
import { printableText, redactSecrets } from '@pocket-agent/kit';
import { exitCodes } from './exit-codes.ts';
import type { Interrupts } from './interrupts.ts';

/** Before anything is loaded that others wrote. */
export function guardProcess(interrupts: Interrupts): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && interrupts.exitCode === undefined)
      process.stderr.write(`pocket-agent: the output cannot be written: ${error.message}\n`);
    interrupts.outputClosed(error.code === 'EPIPE' ? exitCodes.brokenPipe : exitCodes.failed);
  });
  process.stderr.on('error', () => {}); // the answer matters more than what is told on the way
  // stdout is for the answer, or belongs to a protocol, whatever a tool may want to print
  globalThis.console = new Console(process.stderr);
  // a promise that a tool forgot is no reason to end a conversation or a server
  process.on('unhandledRejection', tellUncaught);
  process.on('uncaughtException', (error) => {
    tellUncaught(error);
    process.exit(exitCodes.failed);
  });
}

function tellUncaught(error: unknown): void {
  process.stderr.write(`pocket-agent: uncaught error: ${printableText(redactSecrets(inspect(error)))}\n`);
}

/** When all is written. What a tool has left open would keep the process alive for ever. */
export async function endProcess(code: () => number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(written));
  process.exit(code());
}

function written(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    output.write('', () => resolve());
  });
}
