// Webhooks of durable tasks after a restart of the server.
import { mkdtempSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuns } from '@pocket-agent/runs';
import { afterEach, expect, test } from 'vitest';
import { newFile, refunds, silent } from '../../../runs/test/agents.ts';
import { type Received, Webhook } from '../fixtures/webhook.ts';
import { clientOf, message, send, World } from '../fixtures/world.ts';

const world = new World();
const hooks = new World();
afterEach(async () => {
  await world.close();
  await hooks.close();
});

const isDone = ({ body }: Received) => JSON.stringify(body).includes('TASK_STATE_COMPLETED');

/** The server, and how to start it again with the same data. */
async function setUp() {
  const hook = hooks.keep(await new Webhook().start());
  const [file, folder] = [newFile(), mkdtempSync(join(tmpdir(), 'webhooks-'))];
  const start = async () => {
    await world.close();
    const runs = world.keep(await openRuns({ url: `sqlite:${file}`, agents: { support: refunds }, logger: silent }));
    const pushNotifications = { folder, allowHosts: [hook.host], retryDelayMs: 1 };
    const options = {
      durable: { runs, agent: 'support' },
      pushNotifications,
      tokens: { 'token-of-ann': 'admin' } as const,
    };
    return clientOf((await world.serve(world.keep(refunds()), options)).url, { token: 'token-of-ann' });
  };
  return { hook, folder, start };
}

test('a webhook is told the state after the restart and the end of the task, and is then forgotten', async () => {
  const { hook, folder, start } = await setUp();
  const taskPushNotificationConfig = { url: `http://${hook.host}/`, token: 'a-token' };
  const { id: taskId } = await send(await start(), message('Refund', {}, { taskPushNotificationConfig }));
  const [name = ''] = readdirSync(folder);
  expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
  await expect.poll(() => hook.received.length).toBeGreaterThan(0);
  const client = await start();
  const before = hook.received.length;
  await expect.poll(() => hook.received.length).toBeGreaterThan(before);
  await send(client, message('yes', { taskId }));
  await hook.until(isDone);
  expect(hook.received.at(-1)?.headers).toMatchObject({ 'x-a2a-notification-token': 'a-token' });
  await expect.poll(() => readdirSync(folder)).toEqual([]);
});

test('a webhook that was removed stays removed after a restart', async () => {
  const { hook, folder, start } = await setUp();
  const client = await start();
  const taskPushNotificationConfig = { id: 'mine', url: `http://${hook.host}/` };
  const { id: taskId } = await send(client, message('Refund', {}, { taskPushNotificationConfig }));
  await client.deleteTaskPushNotificationConfig({ taskId, id: 'mine', tenant: '' });
  expect(readdirSync(folder)).toEqual([]);
  const again = await start();
  const before = hook.received.length;
  await send(again, message('yes', { taskId }));
  expect(hook.received.length).toBe(before);
});
