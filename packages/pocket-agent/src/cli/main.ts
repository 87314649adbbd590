#!/usr/bin/env node
// The command `pocket-agent`: finds which command was meant and loads that one only; errors become one line and a code.
import type { Interrupts } from './interrupts.ts';

interface Command {
  command(args: readonly string[], interrupts: Interrupts): Promise<number>;
}

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  tools: () => import('./tools.ts'),
  call: () => import('./call.ts'),
  serve: () => import('./serve.ts'),
  'serve-tools': () => import('./serve-tools.ts'),
  'new-tool': () => import('./new-tool.ts'),
  sessions: () => import('./list-sessions.ts'),
  dump: () => import('./dump.ts'),
  doctor: () => import('./doctor.ts'),
};

async function main(args: readonly string[]): Promise<void> {
  const [first = '', ...rest] = args;
  const name = Object.hasOwn(commands, first) ? first : 'ask';
  const given = name === 'ask' ? args : rest;
  const flags = given.slice(0, given.includes('--') ? given.indexOf('--') : given.length);
  if (flags.includes('--help') || flags.includes('-h')) {
    print((await import('./help.ts')).helpOf(name));
    return;
  }
  if (flags.includes('--version') || flags.includes('-v')) {
    print(`${(await import('../kit/version.ts')).packageVersion()}\n`);
    return;
  }
  const { Interrupts } = await import('./interrupts.ts');
  const { guardProcess, endProcess } = await import('./process-ends.ts');
  const interrupts = new Interrupts();
  guardProcess(interrupts);
  const code = await run(name, given, interrupts);
  await endProcess(() => interrupts.exitCode ?? code);
}

/** Before anything is loaded that would guard the process; whoever should read it may be gone. */
function print(text: string): void {
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 141 : 1));
  process.stdout.write(text);
}

async function run(name: string, args: readonly string[], interrupts: Interrupts): Promise<number> {
  try {
    const { command } = await (commands[name] ?? (() => import('./ask.ts')))();
    return await command(args, interrupts);
  } catch (error) {
    const { reportError } = await import('./report-error.ts');
    return interrupts.exitCode ?? reportError(error, name);
  }
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`pocket-agent needs Node 22.18 or newer; this is ${process.version}.\n`);
  process.exitCode = 2;
} else await main(process.argv.slice(2));
