#!/usr/bin/env node
// The entry point of the command `pocket-agent`. --help and --version load as little as possible.
import { requireNode } from '@pocket-agent/kit/require-node';
import { runCommand, splitCommand } from './run-command.ts';

async function main(given: readonly string[]): Promise<void> {
  const { name, args } = splitCommand(given);
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  if (flags.includes('--help') || flags.includes('-h')) {
    print((await import('./command-line/help.ts')).helpOf(name));
    return;
  }
  if (flags.includes('--version') || flags.includes('-v')) {
    print(`${(await import('@pocket-agent/kit/version')).VERSION}\n`);
    return;
  }
  const { Interrupts } = await import('./command-line/interrupts.ts');
  const { guardProcess, endProcess } = await import('./command-line/process-ends.ts');
  const interrupts = new Interrupts();
  guardProcess(interrupts);
  const { withExport } = await import('@pocket-agent/kit/telemetry/export');
  const code = await withExport('pocket-agent', () => runCommand(given, interrupts));
  await endProcess(() => interrupts.exitCode ?? code);
}

/** Runs before `guardProcess`, so it handles a closed output pipe itself. */
function print(text: string): void {
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 141 : 1));
  process.stdout.write(text);
}

requireNode('pocket-agent');
await main(process.argv.slice(2));
