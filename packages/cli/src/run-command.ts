// Finds, loads and runs one command. Errors become one line on stderr and an exit code.
import type { Interrupts } from './command-line/interrupts.ts';

interface Command {
  command(args: readonly string[], interrupts: Interrupts): Promise<number>;
}

const DEFAULT_COMMAND = 'ask';

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  [DEFAULT_COMMAND]: () => import('./commands/ask.ts'),
  tools: () => import('./commands/tools.ts'),
  call: () => import('./commands/call.ts'),
  serve: () => import('./commands/serving/serve.ts'),
  'serve-tools': () => import('./commands/serving/serve-tools.ts'),
  gateway: () => import('./commands/serving/gateway.ts'),
  studio: () => import('./commands/serving/studio.ts'),
  new: () => import('./commands/new.ts'),
  'new-tool': () => import('./commands/new-tool.ts'),
  eval: () => import('./commands/eval.ts'),
  models: () => import('./commands/models.ts'),
  sessions: () => import('./commands/sessions.ts'),
  memory: () => import('./commands/memory.ts'),
  callers: () => import('./commands/callers.ts'),
  worker: () => import('./commands/serving/worker.ts'),
  runs: () => import('./commands/runs.ts'),
  dump: () => import('./commands/dump.ts'),
  doctor: () => import('./commands/doctor.ts'),
};

/** The name of the command and its own arguments. */
export function splitCommand(args: readonly string[]): { name: string; args: readonly string[] } {
  const [first = '', ...rest] = args;
  const isNamed = first !== DEFAULT_COMMAND && Object.hasOwn(commands, first);
  return isNamed ? { name: first, args: rest } : { name: DEFAULT_COMMAND, args };
}

/** Returns the exit code. */
export async function runCommand(given: readonly string[], interrupts: Interrupts): Promise<number> {
  const { name, args } = splitCommand(given);
  try {
    await enterUserFolder();
    const load = commands[name];
    if (!load) throw new Error(`The command "${name}" is not registered.`);
    const { command } = await load();
    return await command(args, interrupts);
  } catch (error) {
    const { reportError } = await import('./command-line/report-error.ts');
    return interrupts.exitCode ?? reportError(error, name);
  }
}

/** Scripts of npm run in the root of the checkout, but paths on the command line begin in the folder of the user. */
async function enterUserFolder(): Promise<void> {
  const { INIT_CWD: folder } = process.env;
  if (!folder || !(await import('./command-line/help.ts')).isNpmScript) return;
  try {
    process.chdir(folder);
  } catch (cause) {
    const { PocketError } = await import('@pocket-agent/kit');
    const text = `The folder ${folder}, where npm was run, does not exist or cannot be entered. Run it in another folder.`;
    throw new PocketError('CONFIG_INVALID', text, { cause });
  }
}
