// Conversations in PostgreSQL, and processes that are killed before each of their statements.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openConversations } from '../../src/index.ts';
import { startPostgres, type TestPostgres } from '../postgres.ts';
import { testConversations } from './behaviour.ts';
import { testSavedCompaction } from './compaction-behaviour.ts';
import { expectWholeRuns, startWriter } from './processes.ts';
import { testProcesses } from './processes-behaviour.ts';
import { testSavedResults } from './results-behaviour.ts';
import { testTurns } from './turns-behaviour.ts';

let postgres: TestPostgres;
let folder: string;

beforeAll(async () => {
  postgres = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), 'pocket-conversations-'));
});

afterAll(async () => {
  await postgres.stop();
  await rm(folder, { recursive: true });
});

testConversations(() => postgres.createDatabase());
testProcesses(() => postgres.createDatabase());
testTurns(() => postgres.createDatabase());
testSavedCompaction(() => postgres.createDatabase());
testSavedResults(() => postgres.createDatabase());

test.each(['SQLite', 'PostgreSQL'])('a process killed before any statement leaves whole steps on %s', async (kind) => {
  const location = kind === 'SQLite' ? join(folder, 'killed.sqlite') : await postgres.createDatabase();
  await using chats = await openConversations(location);
  let length = 0;
  for (let killAt = 1; ; killAt++) {
    const writer = startWriter({ location, id: 'x', name: `p${killAt}`, runs: 1, leaseMs: 50, killAt });
    await writer.ended;
    const questions = await expectWholeRuns(chats, 'x');
    expect(questions.length).toBeGreaterThanOrEqual(length);
    ({ length } = questions);
    if (writer.lines.includes('ended 0')) expect(questions).toContain(`p${killAt} question 0`);
    if (writer.child.exitCode === 0) break; // it had fewer statements
    expect(killAt).toBeLessThan(100);
  }
});
