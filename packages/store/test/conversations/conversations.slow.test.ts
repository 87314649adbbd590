// Processes that share a SQLite file, and are killed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { testProcesses } from './processes-behaviour.ts';

let folder: string;
let files = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-conversations-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

testProcesses(async () => join(folder, `${++files}.sqlite`));
