// Conversations in SQLite files.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { testConversations } from './behaviour.ts';
import { testSavedCompaction } from './compaction-behaviour.ts';
import { testSavedResults } from './results-behaviour.ts';
import { testTurns } from './turns-behaviour.ts';

let folder: string;
let files = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-conversations-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

testConversations(async () => join(folder, `${++files}.sqlite`));
testTurns(async () => join(folder, `${++files}.sqlite`));
testSavedCompaction(async () => join(folder, `${++files}.sqlite`));
testSavedResults(async () => join(folder, `${++files}.sqlite`));
