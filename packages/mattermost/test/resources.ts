// Resources of the current test, released at its end: fake servers, temporary folders, processes.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog, type Log } from '@pocket-agent/mattermost';
import { onTestFinished } from 'vitest';
import { type FakeMattermost, type FakeOptions, startFakeMattermost } from './fake/fake-mattermost.ts';

const { NODE_COMPILE_CACHE = '' } = process.env;

export async function fakeForTest(options: FakeOptions = {}): Promise<FakeMattermost> {
  const fake = await startFakeMattermost(options);
  onTestFinished(() => fake.close());
  return fake;
}

export async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mattermost-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** A logger that collects its lines. */
export function memoryLog(): { log: Log; logLines: string[] } {
  const logLines: string[] = [];
  return { logLines, log: createLog({ level: 'debug', format: 'json', write: (line) => logLines.push(line) }) };
}

export interface RunningProgram {
  child: ChildProcessWithoutNullStreams;
  output(): string;
  errors(): string;
  ended: Promise<[number | null, NodeJS.Signals | null]>;
}

interface RunOptions {
  /** Below src. */
  file: string;
  args: readonly string[];
  environment: Record<string, string>;
  cwd: string;
}

export function runForTest({ file, args, environment, cwd }: RunOptions): RunningProgram {
  const program = fileURLToPath(new URL(`../src/${file}`, import.meta.url));
  const env = { NODE_COMPILE_CACHE, ...environment };
  const child = spawn(process.execPath, ['-C', 'pocket-agent/source', program, ...args], { env, cwd });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const ended = once(child, 'close') as RunningProgram['ended'];
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => output, errors: () => errors, ended };
}
