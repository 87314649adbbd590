// Guards the process of a command: closed output, uncaught errors, and the end of the process.
import { Console } from 'node:console';
import { inspect } from 'node:util';
import { printableText, redactSecrets } from '@pocket-agent/kit';
import { exitCodes } from './exit-codes.ts';
import type { Interrupts } from './interrupts.ts';

/** Call it before loading code of tools. */
export function guardProcess(interrupts: Interrupts): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && interrupts.exitCode === undefined)
      process.stderr.write(`pocket-agent: cannot write the output: ${error.message}\n`);
    interrupts.outputClosed(error.code === 'EPIPE' ? exitCodes.brokenPipe : exitCodes.failed);
  });
  process.stderr.on('error', () => {}); // the answer on stdout matters more
  // stdout carries the answer or a protocol, so console output of tools goes to stderr
  globalThis.console = new Console(process.stderr);
  // an unhandled rejection in a tool must not end a conversation or a server
  process.on('unhandledRejection', reportUncaught);
  process.on('uncaughtException', (error) => {
    reportUncaught(error);
    process.exit(exitCodes.failed);
  });
}

function reportUncaught(error: unknown): void {
  process.stderr.write(`pocket-agent: uncaught error: ${printableText(redactSecrets(inspect(error)))}\n`);
}

/** Flushes the output, then exits: handles that a tool left open would keep the process alive. */
export async function endProcess(code: () => number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(flushed));
  process.exit(code());
}

function flushed(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    output.write('', () => resolve());
  });
}
