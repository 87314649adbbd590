// Two hubs on one real PostgreSQL, each behind its own API.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import type { Hub } from '../../src/index.ts';
import { ask, connectTo, open, startHub } from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

async function twoHubs(): Promise<[Hub, Hub]> {
  const url = await postgres.createDatabase();
  const shared = { url, secretKey: 'ab'.repeat(32), key: 'the key of both' };
  const [one, other] = await Promise.all([open(shared), open(shared)]);
  return Promise.all([startHub({ agent3: one }), startHub({ agent3: other })]);
}

async function register(hub: Hub, more: object = {}): Promise<string> {
  const { card } = await startSdkAgent();
  const { body, status, text } = await ask(hub, '/api/agents', { owner: 'alice', body: { card, ...more } });
  expect(status, text).toBe(201);
  return body.id;
}

test('an agent registered at one hub is found, called and shown at the other', async () => {
  const [one, other] = await twoHubs();
  const id = await register(one, { tags: ['shared'] });
  expect((await ask(other, '/api/agents?query=again&tags=shared')).body.agents).toMatchObject([{ id }]);
  expect((await ask(other, `/agents/${id}`)).text).toContain('<h1>Echo</h1>');
  const call = { agentId: id, message: 'hello' };
  expect((await ask(other, '/api/calls', { owner: 'bob', body: call })).body.result.text).toBe('you said: hello');
  expect((await ask(one, '/api/statistics')).body.total.calls).toBe(1);
  expect((await ask(one, '/api/health')).body).toMatchObject({ store: { kind: 'postgres' } });
  const removed = await ask(other, `/api/agents/${id}`, { method: 'DELETE', owner: 'alice' });
  expect(removed.status).toBe(204);
  expect((await ask(one, `/api/agents/${id}`)).status).toBe(404);
});

test('a call is rated once, at whichever hub', async () => {
  const [one, other] = await twoHubs();
  const agentId = await register(one);
  const { body: called } = await ask(one, '/api/calls', { owner: 'bob', body: { agentId, message: 'hello' } });
  const body = { agentId, rating: 5, feedback: 'good', receipt: called.receipt };
  const told = await Promise.all(
    [one, other, one, other].map((hub) => ask(hub, '/api/feedback', { owner: 'bob', body })),
  );
  expect(told.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  expect((await ask(other, `/api/agents/${agentId}`)).body).toMatchObject({ totalReviews: 1, reputation: 5 });
});

test('a task started at one hub is continued at the other, by its caller only', async () => {
  const [one, other] = await twoHubs();
  const agentId = await register(one);
  const { body: asked } = await ask(one, '/api/calls', { owner: 'bob', body: { agentId, message: 'ask' } });
  const { taskHandle } = asked.task;
  const reply = { action: 'reply', taskHandle, message: 'task' };
  const refused = await ask(other, '/api/tasks', { owner: 'eve', body: reply });
  expect(refused.body).toMatchObject({ success: false });
  const bobs = await connectTo(other, 'bob');
  expect((await bobs.call('agent3_task', reply)).data).toMatchObject({
    success: true,
    result: { text: 'one two three' },
  });
});

test('a rate limit is exact across both hubs', async () => {
  const [one, other] = await twoHubs();
  const agentId = await register(one, { rateLimit: { calls: 10, perSeconds: 3_600 } });
  const hubs = Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? one : other));
  const answers = await Promise.all(
    hubs.map((hub, index) => ask(hub, '/api/calls', { owner: `caller-${index}`, body: { agentId, message: 'x' } })),
  );
  const codes = answers.map(({ body }) => (body.success ? 'ok' : body.errorCode));
  expect(codes.filter((code) => code === 'ok')).toHaveLength(10);
  expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(20);
  expect(answers.find(({ body }) => !body.success)?.body.metadata.retryAfter).toBeGreaterThan(0);
});
