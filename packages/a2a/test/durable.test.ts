// Tasks that continue after a restart of the server.
import { TaskState } from '@a2a-js/sdk';
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent } from 'pocket-agent';
import { afterEach, expect, test, vi } from 'vitest';
import { agentOf, newFile, refunds, silent } from '../../runs/test/agents.ts';
import { answerOf, clientOf, collect, listAll, message, send, World } from './fixtures/world.ts';

const world = new World();
afterEach(() => {
  vi.unstubAllEnvs();
  return world.close();
});

async function serveDurable(file: string, make = refunds) {
  const runs = await openRuns({ url: `sqlite:${file}`, agents: { support: () => make() }, logger: silent });
  world.keep(runs);
  const tokens = { 'token-of-ann-123': 'admin', 'token-of-bob-123': 'admin' } as const;
  const listening = await world.serve(world.keep(make()), { durable: { runs, agent: 'support' }, tokens });
  const of = (name: string) => clientOf(listening.url, { token: `token-of-${name}-123` });
  return { runs, ann: await of('ann'), bob: await of('bob'), close: () => world.close() };
}

test('only its caller finds a task, lists it, answers its questions, and cancels it', async () => {
  const file = newFile();
  const first = await serveDurable(file);
  const asked = await send(first.ann, message('Refund'));
  await first.close();
  const { ann, bob } = await serveDurable(file);
  const { id } = asked;
  await expect(bob.getTask({ id, tenant: '', historyLength: undefined })).rejects.toThrow('not found');
  await expect(send(bob, message('yes', { taskId: id }))).rejects.toThrow('not found');
  await expect(bob.cancelTask({ id, tenant: '', metadata: undefined })).rejects.toThrow('not found');
  expect((await listAll(bob)).tasks).toEqual([]);
  expect((await listAll(ann)).tasks.map((task) => [task.id, task.status?.state])).toEqual([
    [id, TaskState.TASK_STATE_INPUT_REQUIRED],
  ]);
  await expect(send(ann, message('perhaps', { taskId: id }))).rejects.toThrow('Answer with the data');
  const canceled = await ann.cancelTask({ id, tenant: '', metadata: undefined });
  expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  await expect(send(ann, message('yes', { taskId: id }))).rejects.toThrow('has ended');
});

test('a message that is sent again after the restart returns the same task, and its context continues', async () => {
  const file = newFile();
  const make = () => agentOf(['first', 'second']);
  const first = await serveDurable(file, make);
  const sent = message('One');
  const { id, contextId } = await send(first.ann, sent);
  await first.close();
  const { ann, runs } = await serveDurable(file, make);
  const again = await send(ann, sent);
  expect([again.id, answerOf(again)]).toEqual([id, 'first']);
  expect(answerOf(await send(ann, message('Two', { contextId })))).toBe('second');
  expect((await runs.list()).runs).toHaveLength(2);
});

test('a server without a key serves the tasks that workers answer, unless its agent is closed before it listens', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', '');
  const url = `sqlite:${newFile()}`;
  world.keep(await openRuns({ url, agents: { support: () => agentOf(['Hello']) }, logger: silent }));
  const runs = world.keep(await openRuns({ url, logger: silent }));
  const agent = world.keep(new PocketAgent({ name: 'Front', llmModel: 'anthropic/claude-sonnet-5', logger: silent }));
  const listening = await world.serve(agent, { durable: { runs, agent: 'support' } });
  expect(answerOf(await send(await clientOf(listening.url), message('Hi')))).toBe('Hello');
  vi.stubEnv('ANTHROPIC_API_KEY', 'key');
  const closed = expect(agent.asA2aServer().listen()).rejects.toThrow('The server of Front was closed');
  await agent.close();
  await closed;
});

test('a client that subscribes again gets the further updates of the task', async () => {
  const file = newFile();
  const first = await serveDurable(file);
  const { id } = await send(first.ann, message('Refund'));
  await first.close();
  const { ann } = await serveDurable(file);
  const watching = collect(ann.resubscribeTask({ id, tenant: '' }));
  await send(ann, message('no: too old', { taskId: id }, { returnImmediately: true }));
  const seen = await watching;
  expect(JSON.stringify(seen.at(-1))).toContain('COMPLETED');
});
