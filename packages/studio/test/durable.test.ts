// A studio that is attached to the durable runs of another process: it shares only the database with them.
import { openRuns } from '@pocket-agent/runs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openStudio } from '../src/index.ts';
import type { DurableList, DurableRunDetails } from '../src/wire/wire.ts';
import { attached } from './worker.ts';
import { type Client, isQuestion, makeShop, startStudio } from './world.ts';

async function read<Value>(client: Client, path: string): Promise<Value> {
  return (await client.fetch(path)).json() as Promise<Value>;
}

async function asked(client: Client) {
  const line = (await client.lines((each) => isQuestion(each))).findLast(isQuestion);
  if (line?.type !== 'question') throw new Error('There is no question.');
  return line.question;
}

test('a question of a worker is answered in the studio, and the run goes on', async () => {
  const { client, runs, refunds } = await attached();
  await runs.start('support', 'Refund order 17', { id: 'order-17' });
  const question = await asked(client);
  expect(question).toMatchObject({ kind: 'approval', tool: 'refund', durableRun: 'order-17', arguments: { id: 17 } });
  expect(refunds).toEqual([]);
  await client.post(`/api/questions/${question.id}`, { allow: { id: 18 } });
  expect(await runs.result('order-17')).toBe('Order 17 is refunded.');
  expect(refunds).toEqual([{ id: 18 }]);
  const events = (await read<DurableRunDetails>(client, '/api/durable/order-17')).events;
  expect(events.find(({ type }) => type === 'answer')).toMatchObject({ data: { by: 'studio' } });
  expect(events.at(-1)?.type).toBe('finished');
});

test('a question that was answered elsewhere is withdrawn', async () => {
  const { client, runs } = await attached();
  await runs.start('support', 'Refund order 17', { id: 'order-17' });
  const { id } = await asked(client);
  await runs.answer(id, 'deny');
  await client.lines((line) => line.type === 'question_closed' && line.questionId === id);
  await expect(client.post(`/api/questions/${id}`, { allow: true })).rejects.toThrow('409');
});

test('runs are listed, read while they wait, and cancelled', async () => {
  const { client, runs } = await attached();
  await runs.start('support', 'Refund order 17', { id: 'order-17' });
  await asked(client);
  expect((await read<DurableList>(client, '/api/durable')).runs).toMatchObject([
    { id: 'order-17', agent: 'support', status: 'waiting', input: 'Refund order 17', steps: expect.any(Number) },
  ]);
  const { events } = await read<DurableRunDetails>(client, '/api/durable/order-17');
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['started', 'message', 'question']));
  await client.post('/api/durable/order-17/cancel', {});
  expect(await read<DurableRunDetails>(client, '/api/durable/order-17')).toMatchObject({ status: 'cancelled' });
  await expect(client.post('/api/durable/order-17/cancel', {})).rejects.toThrow('409');
  expect((await client.fetch('/api/durable/none')).status).toBe(404);
});

test('a studio that cannot be opened does not ask the database for questions', async () => {
  const { agent } = makeShop([]);
  const { origin } = await startStudio({ shop: agent });
  const runs = await openRuns({ url: 'sqlite::memory:' });
  onTestFinished(() => runs.close());
  const asked = vi.spyOn(runs, 'questions');
  await expect(openStudio({ agents: { shop: agent }, runs, port: Number(new URL(origin).port) })).rejects.toThrow(
    'use',
  );
  expect(asked).not.toHaveBeenCalled();
});

test('a studio that is not attached says how to attach it', async () => {
  const client = await startStudio({ shop: makeShop([]).agent });
  const response = await client.fetch('/api/durable');
  expect({ status: response.status, text: await response.text() }).toMatchObject({
    status: 404,
    text: expect.stringContaining('--runs'),
  });
});
