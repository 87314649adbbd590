import { getRequestListener } from '@hono/node-server';
import { expect, test, vi } from 'vitest';
import type { Bridge } from '../../src/bridge/bridge-options.ts';
import { me, setUp } from '../fixtures/bridge-setup.ts';
import { cardOf, type Json, rpcServer, serve, taskOf } from '../fixtures/local-server.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

const capabilities = { pushNotifications: true };

/** A server that passes requests to a bridge created later. */
async function startReceiver(): Promise<{ url: string; statuses: number[]; use(bridge: Bridge): void }> {
  const statuses: number[] = [];
  let bridge: Bridge | undefined;
  const url = await serve(
    getRequestListener(async (request) => {
      const response = (await bridge?.receivePush(request)) ?? new Response(null, { status: 500 });
      statuses.push(response.status);
      return response;
    }),
  );
  return { url: `${url}/push`, statuses, use: (made) => (bridge = made) };
}

test('a push notification of an SDK agent ends the wait for its task', async () => {
  vi.spyOn(console, 'info').mockImplementation(() => {}); // the SDK logs every notification
  const receiver = await startReceiver();
  const agent = await startSdkAgent(capabilities);
  const { bridge, say, directory } = setUp(agent, { pushUrl: receiver.url });
  receiver.use(bridge);
  const started = await say('wait', { mode: 'start' });
  const taskHandle = started.task?.taskHandle ?? '';
  agent.release();
  await expect.poll(() => directory.tasks.get(taskHandle)?.state).toBe('completed');
  expect(await bridge.task({ action: 'wait', taskHandle }, me)).toMatchObject({
    success: true,
    result: { text: 'at last' },
  });
  expect(new Set(receiver.statuses)).toEqual(new Set([204]));
});

/** An agent that works until the test ends its task, and records its requests. */
async function startQuiet() {
  const state = { now: 'WORKING', looks: 0, push: { url: '', token: '' } };
  const url = await rpcServer(({ method, params }) => {
    if (method === 'SendMessage') {
      state.push = params.configuration?.taskPushNotificationConfig as typeof state.push;
      return { task: taskOf('t1', state.now) };
    }
    state.looks++;
    return taskOf('t1', state.now);
  });
  return { state, card: cardOf(url, { capabilities }) };
}

function notification(push: { url: string; token: string }, body: Json, headers: Record<string, string> = {}): Request {
  const all = { 'x-a2a-notification-token': push.token, ...headers };
  return new Request(push.url, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

test('a notification ends the wait before the next poll', async () => {
  const { state, card } = await startQuiet();
  const { bridge, say } = setUp({ card }, { pushUrl: 'https://hub.example.com/push' });
  const taskHandle = (await say('hello', { mode: 'start' })).task?.taskHandle ?? '';
  const waiting = bridge.task({ action: 'wait', taskHandle }, me);
  await expect.poll(() => state.looks).toBeGreaterThan(8); // the next poll is about 400 ms away
  state.now = 'COMPLETED';
  const looks = state.looks;
  const status = { state: 'TASK_STATE_COMPLETED' };
  const sent = await bridge.receivePush(
    notification(state.push, { statusUpdate: { taskId: 't1', contextId: 'context-1', status } }),
  );
  expect(sent.status).toBe(204);
  expect(await waiting).toMatchObject({ success: true, task: { state: 'completed' } });
  expect(state.looks).toBe(looks + 1);
});

test('a complete task in a notification is returned without asking the agent', async () => {
  const { state, card } = await startQuiet();
  const { bridge, say } = setUp({ card }, { pushUrl: 'https://hub.example.com/push/' });
  const taskHandle = (await say('hello', { mode: 'start' })).task?.taskHandle ?? '';
  expect(state.push.url).toBe(`https://hub.example.com/push/${taskHandle}`);
  const artifacts = [{ artifactId: 'a', parts: [{ text: `pushed ${state.push.token}` }] }];
  const sent = await bridge.receivePush(notification(state.push, { task: taskOf('t1', 'COMPLETED', { artifacts }) }));
  expect(sent.status).toBe(204);
  const looked = await bridge.task({ action: 'get', taskHandle }, me);
  expect(looked).toMatchObject({ success: true, result: { untrusted: true }, task: { state: 'completed' } });
  expect(looked.result?.text).toBe('pushed [secret removed]');
  expect(state.looks).toBe(0);
});

test('secrets echoed in a notification are neither stored nor returned', async () => {
  const { state, card } = await startQuiet();
  const credentials = [{ type: 'bearer', token: 'planted-token' } as const];
  const { bridge, say, directory } = setUp({ card, credentials }, { pushUrl: 'https://hub.example.com/push' });
  const taskHandle = (await say('hello', { mode: 'start' })).task?.taskHandle ?? '';
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'I was sent planted-token' }] }];
  await bridge.receivePush(notification(state.push, { task: taskOf('t1', 'COMPLETED', { artifacts }) }));
  expect(JSON.stringify([...directory.tasks])).not.toContain('planted-token');
  const { result } = await bridge.task({ action: 'get', taskHandle }, me);
  expect(result?.text).toBe('I was sent [secret removed]');
});

test('notifications without the right token are refused', async () => {
  const { state, card } = await startQuiet();
  const { bridge, say, directory } = setUp({ card }, { pushUrl: 'https://hub.example.com/push' });
  const taskHandle = (await say('hello', { mode: 'start' })).task?.taskHandle ?? '';
  const other = { url: state.push.url.replace(taskHandle, 'task_other'), token: state.push.token };
  const done = { task: taskOf('t1', 'COMPLETED') };
  const refused: [Request, number][] = [
    [notification({ ...state.push, token: 'wrong' }, done), 401],
    [notification({ ...state.push, token: '' }, done), 401],
    [notification(other, done), 401],
    [notification(state.push, { task: taskOf('t2', 'COMPLETED') }), 404],
    [notification(state.push, { hello: 'world' }), 400],
    [notification(state.push, { padding: 'a'.repeat(1_100_000) }), 413],
    [new Request(state.push.url), 405],
  ];
  for (const [request, status] of refused) expect((await bridge.receivePush(request)).status).toBe(status);
  expect(directory.tasks.get(taskHandle)?.state).toBe('working');
  const asBearer = { 'x-a2a-notification-token': '', authorization: `Bearer ${state.push.token}` };
  const request = notification(state.push, done, asBearer);
  request.headers.delete('x-a2a-notification-token');
  expect((await bridge.receivePush(request)).status).toBe(204);
  const late = notification(state.push, { task: taskOf('t1', 'WORKING') });
  expect((await bridge.receivePush(late)).status).toBe(204);
  expect(directory.tasks.get(taskHandle)?.state).toBe('completed');
});

test('all messages of a task offer the same push address with the same id', async () => {
  const offered: unknown[] = [];
  const url = await rpcServer(({ params }) => {
    offered.push(params.configuration?.taskPushNotificationConfig);
    return { task: taskOf('t1', 'INPUT_REQUIRED') };
  });
  const { bridge, say } = setUp({ card: cardOf(url, { capabilities }) }, { pushUrl: 'https://hub.example.com/push' });
  const taskHandle = (await say('hello')).task?.taskHandle ?? '';
  for (const message of ['large', 'thin']) await bridge.task({ action: 'reply', taskHandle, message }, me);
  const address = { id: taskHandle, url: `https://hub.example.com/push/${taskHandle}`, token: expect.any(String) };
  expect(offered).toEqual([address, address, address]);
});

test('a push address without https is not offered, and a warning is logged', async () => {
  const { state, card } = await startQuiet();
  const strange = setUp({ card }, { pushUrl: 'http://hub.example.com/push' });
  expect((await strange.say('hello', { mode: 'start' })).success).toBe(true);
  expect(state.push).toBeUndefined();
  expect(strange.logged()).toContain('AGENT3_PUBLIC_URL must be https');
  const known = setUp({ card }, { pushUrl: 'http://127.0.0.1:8333/push' });
  await known.say('hello', { mode: 'start' });
  expect(state.push.url).toContain('http://127.0.0.1:8333/push/');
  expect(known.logged()).toBe('');
});
