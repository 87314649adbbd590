#!/usr/bin/env node
// The entry point of the command `pocket-agent`: loads only the command that was given.
import { requireNode } from '@pocket-agent/kit/require-node';
import type { Interrupts } from './command-line/interrupts.ts';

interface Command {
  command(args: readonly string[], interrupts: Interrupts): Promise<number>;
}

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  tools: () => import('./commands/tools.ts'),
  call: () => import('./commands/call.ts'),
  serve: () => import('./commands/serve.ts'),
  'serve-tools': () => import('./commands/serve-tools.ts'),
  'new-tool': () => import('./commands/new-tool.ts'),
  sessions: () => import('./chat/list-sessions.ts'),
  dump: () => import('./commands/dump.ts'),
  doctor: () => import('./commands/doctor.ts'),
};

async function main(args: readonly string[]): Promise<void> {
  const [first = '', ...rest] = args;
  const name = Object.hasOwn(commands, first) ? first : 'ask';
  const given = name === 'ask' ? args : rest;
  const flags = given.slice(0, given.includes('--') ? given.indexOf('--') : given.length);
  if (flags.includes('--help') || flags.includes('-h')) {
    print((await import('./command-line/help.ts')).helpOf(name));
    return;
  }
  if (flags.includes('--version') || flags.includes('-v')) {
    print(`${(await import('./version.ts')).packageVersion()}\n`);
    return;
  }
  const { Interrupts } = await import('./command-line/interrupts.ts');
  const { guardProcess, endProcess } = await import('./command-line/process-ends.ts');
  const interrupts = new Interrupts();
  guardProcess(interrupts);
  const code = await run(name, given, interrupts);
  await endProcess(() => interrupts.exitCode ?? code);
}

/** Runs before `guardProcess`, so it handles a closed output pipe itself. */
function print(text: string): void {
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 141 : 1));
  process.stdout.write(text);
}

async function run(name: string, args: readonly string[], interrupts: Interrupts): Promise<number> {
  try {
    const { command } = await (commands[name] ?? (() => import('./commands/ask.ts')))();
    return await command(args, interrupts);
  } catch (error) {
    const { reportError } = await import('./command-line/report-error.ts');
    return interrupts.exitCode ?? reportError(error, name);
  }
}

requireNode('pocket-agent');
await main(process.argv.slice(2));
