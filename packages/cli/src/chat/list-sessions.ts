// The command `pocket-agent sessions`: the conversations that are kept.
import { PocketError, printable } from '@pocket-agent/kit';
import { readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';
import { listSessions, type SessionSummary } from '../files/sessions.ts';
import { columns } from '../terminal/tool-table.ts';
import { plural } from '../terminal/usage-line.ts';

const MAX_BEGINNING = 60;

export async function command(args: readonly string[]): Promise<number> {
  const { positionals } = readArguments(args, {});
  if (positionals.length > 0) throw new PocketError('CONFIG_INVALID', 'pocket-agent sessions takes no arguments.');
  const lines = sessionLines(await listSessions());
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  else process.stderr.write(`No conversation is kept yet: ${program} --session NAME keeps one.\n`);
  return 0;
}

export function sessionLines(sessions: readonly SessionSummary[]): string[] {
  return columns(
    sessions.map(({ name, savedAt, messages, beginning, problem }) => [
      printable(name),
      problem === undefined ? plural(messages, 'message') : 'cannot be read',
      savedAt.toISOString().slice(0, 16).replace('T', ' '),
      printable(problem ?? beginning, MAX_BEGINNING),
    ]),
  );
}
