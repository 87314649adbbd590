// kill -9 before writes to PostgreSQL: at most one effect of each call, a valid history, and an answer. The next process takes
// over when the heartbeats of the first one are missed.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PocketAgent } from 'pocket-agent';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectValidHistory } from '../../pocket-agent/test/helpers.ts';
import { startPostgres, type TestPostgres } from '../../store/test/postgres.ts';
import { openRuns } from '../src/index.ts';
import { eventsOf, newFile, silent } from './agents.ts';
import { startProgram } from './programs/start-program.ts';

const program = fileURLToPath(new URL('programs/killed-program.ts', import.meta.url));

/** Every second write that one run makes, on its own connections or on those of the queue. KILL_STEP=1: each. */
const WRITES = 42;
const STEP = Number(process.env.KILL_STEP ?? 2);
const all = Array.from({ length: Math.floor(WRITES / STEP) }, (_, index) => index * STEP + 1);

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

test.concurrent.each(all)('killed before write %i to PostgreSQL', { timeout: 600_000 }, async (killAt) => {
  const url = await postgres.createDatabase();
  const effects = `${newFile()}.effects`;
  const options = { url, effects, runs: 1 };
  const { killed } = await startProgram(program, { ...options, killAt });
  expect(killed).toBe(true);
  const { output } = await startProgram(program, options);
  expect(JSON.parse(output).answers).toEqual(['Done']);

  const runs = await openRuns({ url, logger: silent });
  const events = await eventsOf(runs, 'run-0');
  await runs.close();
  expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type }) => type === 'finished')).toHaveLength(1);
  const messages = events.flatMap((event) => (event.type === 'message' ? [event.data] : []));
  expectValidHistory(new PocketAgent({ llmModel: 'demo', messages }));
  const lines = existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : [];
  for (const id of ['a', 'c', 'd']) {
    const times = lines.filter((line) => line === `x ${id}`).length;
    const result = JSON.stringify(messages.filter((message) => message.role === 'tool' && has(message.content, id)));
    if (result.includes('done')) expect([id, times]).toEqual([id, 1]);
    else expect([times <= 1, result]).toEqual([true, expect.stringContaining('may or may not have taken effect')]);
  }
});

function has(content: readonly object[], id: string): boolean {
  return content.some((part) => 'toolCallId' in part && part.toolCallId === id);
}
