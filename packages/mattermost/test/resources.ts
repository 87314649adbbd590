// Resources of the current test, released at its end: fake servers, temporary folders, processes.
// Several tests can share them: `beforeAll` passes its own `atEnd`.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog, type Log } from '@pocket-agent/mattermost';
import { onTestFinished } from 'vitest';
import { quickStart } from '../../pocket-agent/test/fixtures/programs/quick-start.ts';
import { type FakeMattermost, type FakeOptions, startFakeMattermost } from './fake/fake-mattermost.ts';

/** Registers what releases a resource. */
export type AtEnd = (release: () => Promise<void>) => void;

export async function fakeForTest(options: FakeOptions = {}, atEnd: AtEnd = onTestFinished): Promise<FakeMattermost> {
  const fake = await startFakeMattermost(options);
  atEnd(() => fake.close());
  return fake;
}

export async function folderForTest(atEnd: AtEnd = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mattermost-test-'));
  atEnd(() => rm(folder, { recursive: true }));
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
  atEnd?: AtEnd;
}

export function runForTest({ file, args, environment, cwd, atEnd = onTestFinished }: RunOptions): RunningProgram {
  const program = fileURLToPath(new URL(`../src/${file}`, import.meta.url));
  const env = { ...quickStart, ...environment };
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
  atEnd(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => output, errors: () => errors, ended };
}
