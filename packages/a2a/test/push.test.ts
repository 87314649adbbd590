import { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { PushNotificationNotSupportedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { InMemoryTaskStore } from '@a2a-js/sdk/server';
import { tool } from 'pocket-agent';
import { afterEach, expect, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { type Received, Webhook } from './fixtures/webhook.ts';
import { clientOf, message, questionsOf, rpc, send, stateOf, World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

const isDone = ({ body }: Received) => JSON.stringify(body).match(/TASK_STATE_COMPLETED|"completed"/) !== null;

const statesIn = (hook: Webhook) =>
  hook.received.map(({ body }) => Object(body.task).status.state.replace('TASK_STATE_', ''));
const listOf = (taskId: string) => ({ taskId, tenant: '', pageSize: 0, pageToken: '' });
/** Nothing listens on this port. */
const away = { allowHosts: ['127.0.0.1:9'], maxTries: 1 };

async function webhook(): Promise<Webhook> {
  return world.keep(await new Webhook().start());
}

test('a webhook is notified of every state, with its credentials', async () => {
  const hook = await webhook();
  const { agent } = world.cleaner();
  const { url } = await world.serve(agent, { pushNotifications: { allowHosts: [hook.host] } });
  const client = await clientOf(url);
  const taskPushNotificationConfig = {
    url: `http://${hook.host}/hook`,
    token: 'a-token',
    authentication: { scheme: 'Bearer', credentials: 'a-credential' },
  };
  const { id: taskId } = await send(client, message('clean up', {}, { taskPushNotificationConfig }));
  await send(client, message('yes', { taskId }));
  await hook.until(isDone);
  expect(statesIn(hook)).toEqual(['WORKING', 'INPUT_REQUIRED', 'WORKING', 'COMPLETED']);
  const { headers, body } = hook.received.at(-1) ?? {};
  expect(headers).toMatchObject({
    authorization: 'Bearer a-credential',
    'x-a2a-notification-token': 'a-token',
    'content-type': 'application/a2a+json',
  });
  expect(JSON.stringify(body)).toContain('cleaned up');
});

test('a failed notification is retried a few times', async () => {
  const hook = await webhook();
  hook.statuses.push(500, 503);
  const { url } = await world.serve(world.agent(['x']), {
    pushNotifications: { allowHosts: ['127.0.0.1'], retryDelayMs: 1 },
  });
  const config = { taskPushNotificationConfig: { url: `http://${hook.host}/` } };
  await send(await clientOf(url), message('hello', {}, config));
  await hook.until(isDone);
  expect(hook.received.map(({ body }) => Object(body.task).status.state)).toEqual([
    'TASK_STATE_WORKING',
    'TASK_STATE_WORKING',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
  ]);
});

test('a webhook with a private address is not called, and only its host is logged', async () => {
  const hook = await webhook();
  const warned = Promise.withResolvers<string>();
  const agent = world.agent(['x'], { logger: { ...silent, warn: (text) => warned.resolve(text) } });
  const client = await clientOf((await world.serve(agent)).url);
  const config = (url: string) => ({ taskPushNotificationConfig: { url } });
  for (const refused of [`http://${hook.host}/`, 'file:///etc/passwd', 'https://user:pass@h.example/', 'nonsense'])
    await expect(send(client, message('hello', {}, config(refused)))).rejects.toThrow(/must be an https URL/);
  const task = await send(client, message('hello', {}, config(`https://${hook.host}/hook?key=planted-secret`)));
  expect(stateOf(task)).toBe('TASK_STATE_COMPLETED');
  expect(await warned.promise).toContain('PRIVATE_ADDRESS');
  expect(await warned.promise).not.toContain('planted-secret');
  expect(hook.received).toEqual([]);
});

test('a webhook of more than 8,192 characters is refused', async () => {
  const client = await clientOf((await world.serve(world.agent([]))).url);
  const config = { taskPushNotificationConfig: { url: 'https://h.example/', token: 'x'.repeat(8_192) } };
  await expect(send(client, message('hello', {}, config))).rejects.toThrow(/at most 8192 characters/);
});

test('only the owner of a task can add, read, list and remove its webhooks', async () => {
  const { agent } = world.cleaner();
  const { url } = await world.serve(agent, { tokens: { 'token-a': 'admin', 'token-b': 'admin' } });
  const [a, b] = [await clientOf(url, { token: 'token-a' }), await clientOf(url, { token: 'token-b' })];
  const { id: taskId } = await send(a, message('clean up'));
  const config = TaskPushNotificationConfig.fromJSON({ taskId, url: 'https://hooks.example/1' });
  const { id } = await a.createTaskPushNotificationConfig(config);
  expect((await a.getTaskPushNotificationConfig({ taskId, id, tenant: '' })).url).toBe('https://hooks.example/1');
  const list = listOf(taskId);
  expect((await a.listTaskPushNotificationConfig(list)).configs).toHaveLength(1);
  await expect(b.listTaskPushNotificationConfig(list)).rejects.toThrow(TaskNotFoundError);
  await expect(b.createTaskPushNotificationConfig(config)).rejects.toThrow(TaskNotFoundError);
  await a.deleteTaskPushNotificationConfig({ taskId, id, tenant: '' });
  expect((await a.listTaskPushNotificationConfig(list)).configs).toEqual([]);
  await expect(a.getTaskPushNotificationConfig({ taskId, id, tenant: '' })).rejects.toThrow(TaskNotFoundError);
});

test('a webhook that every reply repeats is registered once', async () => {
  const hook = await webhook();
  const ids = Array.from({ length: 12 }, (_, id) => ({ id }));
  const { agent, erased } = world.cleaner(ids);
  const client = await clientOf((await world.serve(agent, { pushNotifications: { allowHosts: [hook.host] } })).url);
  const config = { taskPushNotificationConfig: { url: `http://${hook.host}/`, token: 'mine' } };
  const asked = await send(client, message('clean up', {}, config));
  for (const question of questionsOf(asked))
    await send(client, message(`yes ${question}`, { taskId: asked.id }, config));
  await hook.until(isDone);
  expect(erased).toHaveLength(12);
  expect((await client.listTaskPushNotificationConfig(listOf(asked.id))).configs).toHaveLength(1);
  expect(hook.received.filter(isDone)).toHaveLength(1);
});

test('a webhook that is registered again gets its notifications in order', async () => {
  const hook = await webhook();
  hook.statuses.push(200, 500);
  const { agent } = world.cleaner();
  const { url } = await world.serve(agent, { pushNotifications: { allowHosts: [hook.host], retryDelayMs: 200 } });
  const client = await clientOf(url);
  const config = { taskPushNotificationConfig: { url: `http://${hook.host}/` } };
  const { id: taskId } = await send(client, message('clean up', {}, config));
  await send(client, message('yes', { taskId }, config));
  await hook.until(isDone);
  expect(statesIn(hook)).toEqual(['WORKING', 'INPUT_REQUIRED', 'INPUT_REQUIRED', 'WORKING', 'COMPLETED']);
});

test('a reply whose webhook exceeds the limit is refused, and its answer does not count', async () => {
  const { agent, erased } = world.cleaner();
  const client = await clientOf((await world.serve(agent, { pushNotifications: away })).url);
  const { id: taskId } = await send(client, message('clean up'));
  const config = (count: number) => ({ taskId, url: `http://127.0.0.1:9/${count}` });
  for (let count = 1; count <= 10; count++)
    await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(config(count)));
  const answer = message('yes', { taskId }, { taskPushNotificationConfig: config(11) });
  await expect(send(client, answer)).rejects.toThrow('A task has at most 10 webhooks.');
  expect(stateOf(await client.getTask({ id: taskId, tenant: '' }))).toBe('TASK_STATE_INPUT_REQUIRED');
  expect(erased).toEqual([]);
  expect(stateOf(await send(client, message('yes', { taskId })))).toBe('TASK_STATE_COMPLETED');
});

test('webhooks of ended tasks are evicted, those of running tasks are not', async () => {
  const hook = await webhook();
  const erase = { name: 'erase', description: 'Erases', run: () => 'erased' };
  const agent = world.agent([{ toolCalls: [{ name: 'erase' }] }, '1', '2', '3', '4', 'cleaned up'], {
    tools: [tool(erase)],
    access: { confirm: 'destructive' },
  });
  const { url } = await world.serve(agent, {
    maxTasks: 2,
    taskStore: new InMemoryTaskStore(),
    pushNotifications: { allowHosts: [hook.host] },
  });
  const client = await clientOf(url);
  const config = { taskPushNotificationConfig: { url: `http://${hook.host}/` } };
  const { id: taskId } = await send(client, message('clean up', {}, config));
  const over: string[] = [];
  for (const text of ['1', '2', '3', '4']) over.push((await send(client, message(text, {}, config))).id);
  const counts = await Promise.all(
    over.map(async (id) => (await client.listTaskPushNotificationConfig(listOf(id))).configs.length),
  );
  expect(counts).toEqual([0, 1, 1, 1]); // the last one ran when it was named
  await send(client, message('yes', { taskId }));
  await hook.until((received) => isDone(received) && Object(received.body.task).id === taskId);
});

test('a client of version 0.3 gets notifications of 0.3', async () => {
  const hook = await webhook();
  const { url } = await world.serve(world.agent(['as ever']), { pushNotifications: { allowHosts: [hook.host] } });
  await rpc(url, 'message/send', {
    message: { kind: 'message', role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'hello' }] },
    configuration: { pushNotificationConfig: { url: `http://${hook.host}/` } },
  });
  await hook.until(isDone);
  expect(hook.received.at(-1)?.body).toMatchObject({ kind: 'task', status: { state: 'completed' } });
});

test('a server without webhooks refuses them', async () => {
  const { url, cardUrl } = await world.serve(world.agent([]), { pushNotifications: false });
  expect(await (await fetch(cardUrl)).json()).toMatchObject({ capabilities: { pushNotifications: false } });
  const client = await clientOf(url);
  const config = { taskPushNotificationConfig: { url: 'https://hooks.example/' } };
  await expect(send(client, message('hello', {}, config))).rejects.toThrow(PushNotificationNotSupportedError);
});
