// What happens in PostgreSQL between two steps of a worker: answers that arrive late, and runs that another process takes over.
import pg from 'pg';
import { type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
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

test('a process that learns late that a call was saved does not make it when it has lost the run since', async () => {
  const url = await postgres.createDatabase();
  const network = await holdAnswer(url, 'intent');
  onTestFinished(network.close);
  const ended = Promise.withResolvers<void>();
  let calls = 0;
  const pay = tool({ name: 'pay', description: 'Pays', run: () => `paid ${++calls}` });
  const hooks: PocketAgentOptions['hooks'] = { onEvent: ({ type }) => void (type === 'run_failed' && ended.resolve()) };
  const agents = { a: () => agentOf([{ toolCalls: [{ name: 'pay' }] }, 'Done'], { tools: [pay], hooks }) };
  const runs = await openRuns({ url: network.url, agents, logger: silent });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  await runs.start('a', 'Pay', { id: 'r' });
  await network.held;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const isSaved = async () => (await client.query("select 1 from pocket_run_journal where type = 'intent'")).rowCount;
  await expect.poll(isSaved).toBe(1);
  await client.query(`update pocket_runs set holder = 'another process'`);
  await client.end();
  vi.setSystemTime(Date.now() + 30_000); // it was suspended
  network.release();
  await ended.promise;
  expect(calls).toBe(0);
});

test('the model is asked while the result of a call is saved; the next call waits until it is', async () => {
  const network = await holdAnswer(await postgres.createDatabase(), 'paid 1');
  onTestFinished(network.close);
  const asked: number[] = [];
  const calls: string[] = [];
  const pay = tool({ name: 'pay', description: 'Pays', run: () => `paid ${calls.push('pay')}` });
  const answer = ({ prompt }: { prompt: readonly { role: string }[] }) => {
    const steps = prompt.filter(({ role }) => role === 'assistant').length;
    asked.push(steps);
    return steps < 2 ? { toolCalls: [{ name: 'pay' }] } : 'Done';
  };
  const llmModel = new ScriptedModel([answer, answer, answer]);
  const agents = { a: () => agentOf([], { llmModel, tools: [pay] }) };
  const runs = await openRuns({ url: network.url, agents, logger: silent });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  const { id } = await runs.start('a', 'Pay');
  await network.held;
  await expect.poll(() => asked).toEqual([0, 1]);
  expect(calls).toHaveLength(1);
  network.release();
  expect(await runs.result(id)).toBe('Done');
  expect(calls).toHaveLength(2);
});
