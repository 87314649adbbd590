// Starts fixture-bot.ts as a child process, for tests that kill it.
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
  /** Kills itself before it sends a message whose body matches this regular expression. */
  diesBefore?: string;
  /** Kills itself after Discord accepted a message whose body matches this regular expression. */
  diesAfter?: string;
}

/** Resolves when the bot listens. The process is killed when the test ends. */
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
