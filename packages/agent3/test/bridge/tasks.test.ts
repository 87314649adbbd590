import { expect, test } from 'vitest';
import { toTaskRequest } from '../../src/base/requests.ts';
import type { BridgeOptions } from '../../src/bridge/bridge-options.ts';
import { me, setUp } from '../fixtures/bridge-setup.ts';
import { cardOf, messageOf, rpcServer, startStream, taskOf } from '../fixtures/local-server.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

test('a deadline leaves the task running, with a handle to wait for it', async () => {
  const agent = await startSdkAgent();
  const { bridge, say, directory } = setUp({ ...agent, price: { perCall: 1, currency: 'USD' } });
  const late = await say('wait', { metadata: { timeout: 2_000 } });
  expect(late).toMatchObject({ success: false, errorCode: 'TIMEOUT', task: { state: 'working' } });
  expect(late.error).toContain('use the taskHandle');
  expect(late.receipt).toBeDefined();
  expect(late.metadata.cost).toBe(1);
  expect(agent.canceled).toEqual([]);
  const taskHandle = late.task?.taskHandle ?? '';
  const waiting = bridge.task({ action: 'wait', taskHandle }, me);
  agent.release();
  const waited = await waiting;
  expect(waited.metadata.cost).toBeUndefined();
  expect(waited).toMatchObject({
    success: true,
    result: { text: 'at last' },
    task: { taskHandle, state: 'completed' },
  });
  expect(directory.tasks.get(taskHandle)?.state).toBe('completed');
  expect(directory.records).toHaveLength(1);
});

const byTheMinute = { perMinute: 60, currency: 'USD' };

/** An agent whose task ends only when it is canceled. */
async function startEndless() {
  const canceled: unknown[] = [];
  const url = await rpcServer(({ method, params }) => {
    if (method === 'SendMessage') return { task: taskOf('t1', 'WORKING') };
    if (method === 'CancelTask') canceled.push(params.id);
    return taskOf('t1', canceled.length > 0 ? 'CANCELED' : 'WORKING');
  });
  return { card: cardOf(url), price: byTheMinute, canceled };
}

test.each<[string, Partial<BridgeOptions>, { maxCost?: number }]>([
  ['maxCost', {}, { maxCost: 2 }],
  ['a budget', { budget: { perDay: 2 } }, {}],
  ['a budget for each caller', { budget: { perCallerPerDay: 2 } }, {}],
])('with %s, the task of an agent that charges by the minute ends with the call', async (_limit, options, limit) => {
  const agent = await startEndless();
  const { say, directory } = setUp(agent, options);
  const late = await say('hello', { metadata: { timeout: 2_000, ...limit } });
  expect(late).toMatchObject({ errorCode: 'TIMEOUT', error: expect.stringContaining('Its task was canceled') });
  expect(late.task).toBeUndefined();
  expect(agent.canceled).toEqual(['t1']);
  expect(late.metadata.cost).toBeCloseTo(2, 0); // timers may fire a few milliseconds early
  for (const spent of directory.spent.values()) expect(spent).toBe(late.metadata.cost);
});

test('without a limit, the task of an agent that charges by the minute continues', async () => {
  const agent = await startEndless();
  const { say } = setUp(agent);
  const late = await say('hello', { metadata: { timeout: 2_000 } });
  expect(late).toMatchObject({ errorCode: 'TIMEOUT', task: { state: 'working' } });
  expect(agent.canceled).toEqual([]);
});

test('a streamed answer is stopped, and its task canceled, when its tokens reach maxCost', async () => {
  const canceled: unknown[] = [];
  const url = await rpcServer(({ id, method, params }, response) => {
    if (method === 'CancelTask') {
      canceled.push(params.id);
      return taskOf('t1', 'CANCELED');
    }
    const send = startStream(response, id);
    send({ task: taskOf('t1', 'WORKING') });
    const artifact = { artifactId: 'a', parts: [{ text: 'x'.repeat(400) }] };
    for (let sent = 0; sent < 5; sent++)
      send({ artifactUpdate: { taskId: 't1', contextId: 'context-1', artifact, append: sent > 0 } });
    return undefined;
  });
  const card = cardOf(url, { capabilities: { streaming: true } });
  const { say } = setUp({ card, price: { perToken: 0.01, currency: 'USD' } });
  const response = await say('hello', { metadata: { maxCost: 2.5 } });
  expect(response).toMatchObject({
    errorCode: 'BUDGET',
    error:
      'Agent "Echo": it used about 302 tokens; the maximum cost pays for 250. Its task was canceled, because its cost is limited.',
  });
  expect(canceled).toEqual(['t1']);
  expect(await say('hello', { mode: 'start', metadata: { maxCost: 2.5 } })).toMatchObject({ errorCode: 'BUDGET' });
});

test('a reply that times out ends its task if its cost is limited', async () => {
  const canceled: unknown[] = [];
  const url = await rpcServer(({ method, params }) => {
    if (method !== 'CancelTask') return params.message?.taskId ? undefined : { task: taskOf('t1', 'INPUT_REQUIRED') };
    canceled.push(params.id);
    return taskOf('t1', 'CANCELED');
  });
  const { bridge, say, directory } = setUp({ card: cardOf(url), price: byTheMinute });
  const taskHandle = (await say('hello')).task?.taskHandle ?? '';
  const reply = { action: 'reply', taskHandle, message: 'large', timeout: 2_000 } as const;
  expect(await bridge.task({ ...reply, maxCost: 1 }, me)).toMatchObject({ errorCode: 'BUDGET' });
  expect(canceled).toEqual([]);
  expect(await bridge.task({ ...reply, maxCost: 2 }, me)).toMatchObject({ errorCode: 'TIMEOUT' });
  expect(canceled).toEqual(['t1']);
  expect(directory.tasks.get(taskHandle)?.state).toBe('canceled');
});

test('a reply is logged with its userAgentId', async () => {
  const url = await rpcServer(({ params }) =>
    params.message?.taskId ? messageOf('thank you') : { task: taskOf('t1', 'INPUT_REQUIRED') },
  );
  const { bridge, say, directory } = setUp({ card: cardOf(url) });
  const taskHandle = (await say('hello')).task?.taskHandle ?? '';
  const reply = toTaskRequest({ action: 'reply', taskHandle, message: 'blue', userAgentId: 'my-bot-456' });
  expect(await bridge.task(reply, me)).toMatchObject({ success: true });
  expect(directory.records.map(({ userAgentId }) => userAgentId)).toEqual([undefined, 'my-bot-456']);
});

test('a started task is read, waited for until the timeout, and canceled', async () => {
  const agent = await startSdkAgent();
  const { bridge, say } = setUp(agent);
  const started = await say('wait', { mode: 'start' });
  expect(started).toMatchObject({ success: true });
  const taskHandle = started.task?.taskHandle ?? '';
  expect(await bridge.task({ action: 'get', taskHandle }, me)).toMatchObject({ success: true, task: { taskHandle } });
  const waited = await bridge.task({ action: 'wait', taskHandle, timeout: 2_000 }, me);
  expect(waited).toMatchObject({ success: false, errorCode: 'TIMEOUT', task: { taskHandle, state: 'working' } });
  const canceled = await bridge.task({ action: 'cancel', taskHandle }, me);
  expect(canceled).toMatchObject({ success: true, task: { taskHandle, state: 'canceled' } });
  expect(agent.canceled).toHaveLength(1);
});

test('an abort cancels the task at the agent and waits only briefly for it', async () => {
  const agent = await startSdkAgent();
  const { bridge, directory } = setUp(agent);
  const controller = new AbortController();
  const onProgress = ({ message }: { message: string }) => {
    if (message === 'still at it') controller.abort();
  };
  const request = { agentId: 'echo', message: 'wait' };
  const response = await bridge.call(request, me, { signal: controller.signal, onProgress });
  expect(response).toMatchObject({ success: false, errorCode: 'CANCELED' });
  expect(agent.canceled).toHaveLength(1);
  expect(directory.records).toMatchObject([{ errorCode: 'CANCELED', state: 'canceled' }]);
});

test('an abort before the call sends nothing', async () => {
  const agent = await startSdkAgent();
  const { bridge } = setUp(agent);
  const response = await bridge.call({ agentId: 'echo', message: 'hello' }, me, { signal: AbortSignal.abort() });
  expect(response).toMatchObject({ errorCode: 'CANCELED' });
  expect(agent.messageIds).toEqual([]);
});

test('closing the bridge ends running calls', async () => {
  const agent = await startSdkAgent();
  const { bridge } = setUp(agent);
  const onProgress = () => bridge.close();
  const response = await bridge.call({ agentId: 'echo', message: 'wait' }, me, { onProgress });
  expect(response).toMatchObject({ errorCode: 'CANCELED', error: expect.stringContaining('closed') });
});

test("a failed task is a failure with the agent's message", async () => {
  const agent = await startSdkAgent();
  const { say } = setUp(agent);
  const response = await say('fail');
  expect(response).toMatchObject({ success: false, errorCode: 'TASK_FAILED' });
  expect(response.error).toBe('Agent "Echo": the task failed. It says: the oven is cold');
  expect(response.task).toBeUndefined();
  expect(response.result).toBeUndefined();
});

test('a task that requires a login waits like one with a question', async () => {
  const status = {
    state: 'TASK_STATE_AUTH_REQUIRED',
    message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Log in at https://example.com/login' }] },
  };
  const url = await rpcServer(() => ({ task: taskOf('t1', '', { status }) }));
  const { say } = setUp({ card: cardOf(url) });
  expect(await say('hello')).toMatchObject({
    success: true,
    task: { state: 'auth-required', question: 'Log in at https://example.com/login' },
  });
});

test('task handles and context ids are valid for their caller and agent only', async () => {
  const seen: unknown[] = [];
  const url = await rpcServer(({ params }) => {
    seen.push(params.message?.contextId);
    return params.message?.parts[0]?.text === 'ask' ? { task: taskOf('t1', 'INPUT_REQUIRED') } : messageOf('hi');
  });
  const { bridge, directory, say } = setUp({ card: cardOf(url) });
  directory.add('other', { card: cardOf(url) });
  const { contextId = '' } = await say('hello');
  const taskHandle = (await say('ask')).task?.taskHandle ?? '';
  seen.length = 0;
  const you = { id: 'you' };
  for (const action of ['get', 'wait', 'cancel'] as const)
    expect(await bridge.task({ action, taskHandle }, you)).toMatchObject({ errorCode: 'TASK_UNKNOWN' });
  expect(await bridge.task({ action: 'reply', taskHandle, message: 'large' }, you)).toMatchObject({
    errorCode: 'TASK_UNKNOWN',
    error: 'unknown taskHandle. Use one from a response.',
  });
  const call = { agentId: 'echo', message: 'hello' };
  for (const [request, caller] of [
    [{ ...call, taskId: taskHandle }, you],
    [{ ...call, taskId: 't1' }, me],
    [{ ...call, agentId: 'other', taskId: taskHandle }, me],
    [{ ...call, contextId }, you],
    [{ ...call, contextId: 'context-1' }, me],
    [{ ...call, agentId: 'other', contextId }, me],
  ] as const)
    expect(await bridge.call(request, caller)).toMatchObject({ errorCode: 'TASK_UNKNOWN' });
  expect(seen).toEqual([]);
  expect((await bridge.call({ ...call, contextId }, me)).success).toBe(true);
  expect((await bridge.call({ ...call, taskId: taskHandle }, me)).success).toBe(true);
  expect(seen).toEqual(['context-1', 'context-1']);
});

test('context ids are valid in every hub with the same key', async () => {
  const url = await rpcServer(() => messageOf('hi'));
  const one = setUp({ card: cardOf(url) }, { key: 'shared' });
  const other = setUp({ card: cardOf(url) }, { key: 'shared' });
  const { contextId } = await one.say('hello');
  expect(await other.say('hello', { contextId })).toMatchObject({ success: true });
});

test('a task the agent no longer knows is reported', async () => {
  let isGone = false;
  const url = await rpcServer(({ id }, response) => {
    if (!isGone) return { task: taskOf('t1', 'WORKING') };
    const error = { code: -32001, message: 'Task not found' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    return undefined;
  });
  const { bridge, say } = setUp({ card: cardOf(url) });
  const { task } = await say('hello', { mode: 'start' });
  isGone = true;
  const taskHandle = task?.taskHandle ?? '';
  expect(await bridge.task({ action: 'get', taskHandle }, me)).toMatchObject({ errorCode: 'TASK_UNKNOWN' });
});
