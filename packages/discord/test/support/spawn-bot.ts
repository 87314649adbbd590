// The bot of fixture-bot.ts as a process of its own, for tests that kill it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const program = fileURLToPath(new URL('fixture-bot.ts', import.meta.url));

interface Given {
  apiUrl: string;
  token: string;
  database: { file: string } | { url: string };
  /** A file that the tool `mark` writes to. */
  marks?: string;
  leaseMs?: number;
  /** It kills itself before Discord gets a message with this in its body, as a regular expression. */
  diesBefore?: string;
  /** It kills itself when Discord has taken a message with this in its body, as a regular expression. */
  diesAfter?: string;
}

/** Resolves when it hears what is said. It is gone when the test ends. */
export async function spawnBot({ apiUrl, token, ...given }: Given): Promise<ChildProcess> {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify({ apiUrl, token, ...given })];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) await killed(child);
  });
  await once(child, 'message');
  return child;
}

export async function killed(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
