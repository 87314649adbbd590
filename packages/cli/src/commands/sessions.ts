// The command `pocket-agent sessions`: lists the saved conversations.
import { PocketError } from '@pocket-agent/kit';
import { sessionLines } from '../chat/session-lines.ts';
import { readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';
import { listSessions } from '../files/sessions.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { positionals } = readArguments(args, {});
  if (positionals.length > 0) throw new PocketError('CONFIG_INVALID', 'pocket-agent sessions takes no arguments.');
  const lines = sessionLines(await listSessions());
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  else process.stderr.write(`No saved conversations. ${program} --session NAME saves one.\n`);
  return 0;
}
