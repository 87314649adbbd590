// What happens in PostgreSQL between two steps of a worker: answers that arrive late, and runs that another process takes over.
import pg from 'pg';
import { tool } from 'pocket-agent';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import { openRuns, type Runs } from '../../src/index.ts';
import { agentOf, eventsOf, silent } from '../agents.ts';
import { holdAnswer } from './held-answer.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

/** A worker whose runs call a tool, which notes the caller and returns when `mayEnd` resolves. */
async function openWorker(url: string, mayEnd: Promise<void>): Promise<{ runs: Runs; begun: unknown[] }> {
  const begun: unknown[] = [];
  const wait = tool({
    name: 'wait',
    description: 'Waits',
    run: async (_args: object, { caller }) => {
      begun.push(caller);
      await mayEnd;
      return 'waited';
    },
  });
  const agents = { a: () => agentOf([{ toolCalls: [{ name: 'wait' }] }, 'Done'], { tools: [wait] }) };
  const runs = await openRuns({ url, agents, logger: silent });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  return { runs, begun };
}

test('a run that is taken up while the worker looks for lost runs is not stopped', async () => {
  const network = await holdAnswer(await postgres.createDatabase(), 'select "id", "holder" from "pocket_runs"');
  onTestFinished(network.close);
  const mayEnd = Promise.withResolvers<void>();
  const { runs, begun } = await openWorker(network.url, mayEnd.promise);
  await runs.start('a', 'Wait', { id: 'first', caller: 'first' });
  await network.held; // the worker has asked which processes hold its runs
  await runs.start('a', 'Wait', { id: 'second', caller: 'second' });
  await expect.poll(() => begun).toEqual(['first', 'second']);
  network.release();
  await network.sentAgain; // it has read the answer
  mayEnd.resolve();
  expect(await Promise.all([runs.result('first'), runs.result('second')])).toEqual(['Done', 'Done']);
  expect(JSON.stringify(await eventsOf(runs, 'second'))).toContain('"value":"waited"');
  expect(begun).toHaveLength(2);
});

test('a run that a process takes up while it ends is left to another process', async () => {
  const url = await postgres.createDatabase();
  const network = await holdAnswer(url, 'update "pocket_runs" set "status"');
  onTestFinished(network.close);
  const first = await openWorker(network.url, Promise.resolve());
  const { id } = await first.runs.start('a', 'Wait');
  await network.held;
  const closing = first.runs.close({ graceMs: 60_000 });
  network.release();
  await closing;
  const { runs, begun } = await openWorker(url, Promise.resolve());
  expect(await runs.result(id)).toBe('Done');
  expect([first.begun.length, begun.length]).toEqual([0, 1]);
});

test('of runs that are saved together, only the one that another process has taken over is not saved', async () => {
  const url = await postgres.createDatabase();
  const mayEnd = Promise.withResolvers<void>();
  const { runs, begun } = await openWorker(url, mayEnd.promise);
  for (const id of ['a', 'b', 'c']) await runs.start('a', 'Wait', { id });
  await expect.poll(() => begun).toHaveLength(3);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`update pocket_runs set holder = 'another process' where id = 'b'`);
  await client.end();
  mayEnd.resolve();
  expect(await Promise.all([runs.result('a'), runs.result('c')])).toEqual(['Done', 'Done']);
  // started, the question, the answer with the call, its intent
  expect(await runs.get('b')).toMatchObject({ status: 'running', events: 4 });
});
