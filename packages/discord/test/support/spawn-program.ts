// Starts the command pocket-discord as a child process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { quickStart } from '../../../pocket-agent/test/fixtures/programs/quick-start.ts';

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

interface How {
  args?: readonly string[];
  /** Options of node. */
  options?: readonly string[];
  /** Starts the program through a shell. */
  shell?: boolean;
}

export function spawnProgram(env: Record<string, string>, { args = [], options = [], shell = false }: How = {}) {
  const command = [process.execPath, ...options, '-C', 'pocket-agent/source', program, ...args];
  const [file = '', ...rest] = shell ? ['/bin/sh', '-c', `"$@"; exit $?`, 'sh', ...command] : command;
  const { PATH = '' } = process.env;
  const child = spawn(file, rest, { env: { PATH, ...quickStart, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (text) => {
    output.stdout += text;
  });
  child.stderr.on('data', (text) => {
    output.stderr += text;
  });
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code);
  /** Resolves with the Ready lines when there are this many. */
  const ready = async (count: number) => {
    const lines = () => output.stderr.split('\n').filter((line) => line.includes('"message":"Ready"'));
    // shards start one after the other, some seconds apart
    await expect.poll(() => lines().length, { interval: 20 }).toBe(count);
    return lines().map((line): { guilds: number; pid: number; shards: number[] } => JSON.parse(line));
  };
  return { child, output, ended, ready };
}
