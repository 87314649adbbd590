// The command `pocket-agent memory`: lists and erases what agents remember with --memory.
import { PocketError } from '@pocket-agent/kit';
import { memoryLines } from '../chat/session-lines.ts';
import { readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';
import { Sessions } from '../files/sessions.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, { all: { type: 'boolean', default: false } });
  const [action = 'list', ...ids] = positionals;
  const isValid =
    action === 'list' ? ids.length === 0 && !values.all : action === 'erase' && ids.length > 0 !== values.all;
  if (!isValid) {
    const usage = `${program} memory [list], ${program} memory erase ID..., or ${program} memory erase --all`;
    throw new PocketError('CONFIG_INVALID', `Usage: ${usage}`);
  }
  const sessions = await Sessions.open();
  try {
    if (action === 'list') await list(sessions);
    else await erase(sessions, ids);
    return 0;
  } finally {
    await sessions.close();
  }
}

async function list({ memory }: Sessions): Promise<void> {
  const all = await memory.list();
  if (all.length === 0)
    process.stderr.write(`Nothing is remembered. With ${program} --memory, agents remember facts.\n`);
  process.stdout.write(
    memoryLines(all)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

/** Erases the memories with these ids, or all if no id is given. */
async function erase({ memory }: Sessions, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) await memory.erase();
  for (const id of ids) {
    if (!(await memory.forget({ id })))
      throw new PocketError('CONFIG_INVALID', `There is no memory ${id}. ${program} memory lists them.`);
  }
}
