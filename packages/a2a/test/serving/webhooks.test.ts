// Notifications of webhooks: signatures, retries, and a queue that stays short.
import { generateSigningKey, type SigningKey } from '@pocket-agent/a2a';
import { verifyNotification } from '@pocket-agent/a2a/client';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { tool } from 'pocket-agent';
import { afterEach, expect, test, vi } from 'vitest';
import { type Received, Webhook } from '../fixtures/webhook.ts';
import { clientOf, message, questionsOf, send, World } from '../fixtures/world.ts';

const world = new World();
afterEach(async () => {
  vi.useRealTimers();
  await world.close();
});

const isDone = ({ body }: Received) => JSON.stringify(body).includes('TASK_STATE_COMPLETED');
const statesIn = (hook: Webhook) =>
  hook.received.map(({ body }) => Object(body.task).status.state.replace('TASK_STATE_', ''));

async function webhook(): Promise<Webhook> {
  return world.keep(await new Webhook().start());
}

/** Serves an agent that signs, and returns what its webhook gets. */
async function notified(config: object = {}) {
  const hook = await webhook();
  const pushNotifications = { allowHosts: [hook.host], retryDelayMs: 1 };
  const { url } = await world.serve(world.agent(['x']), {
    signing: { keys: [generateSigningKey()] },
    pushNotifications,
  });
  const taskPushNotificationConfig = { url: `http://${hook.host}/hook`, ...config };
  await send(await clientOf(url), message('hello', {}, { taskPushNotificationConfig }));
  await hook.until(isDone);
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: SigningKey[] };
  const { headers, text } = hook.received.at(-1) as Received;
  const signature = String(headers['x-a2a-notification-signature']);
  return { hook, url, keys, headers, signature, body: text, audience: `http://${hook.host}` };
}

test('a notification is signed with the published key, for its body and its webhook', async () => {
  const { url, keys, signature, body, audience, headers } = await notified();
  expect(verifyNotification({ signature, body, keys, audience })).toBe(true);
  expect(headers.authorization).toBe(`Bearer ${signature}`);
  const { payload } = await jwtVerify(signature, createLocalJWKSet({ keys: keys as never }), { audience, issuer: url });
  expect(payload.jti).toEqual(expect.any(String));
  for (const wrong of [
    { body: `${body} ` },
    { audience: 'https://other.example' },
    { keys: [{ ...generateSigningKey(), kid: keys[0]?.kid ?? '' }] },
    { keys: [] },
    { signature: `${signature}x` },
    { signature: 'nonsense' },
    { signature: `${signature}.more` },
  ])
    expect(verifyNotification({ signature, body, keys, audience, ...wrong })).toBe(false);
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.now() + 600_000);
  expect(verifyNotification({ signature, body, keys, audience })).toBe(false);
});

test('credentials of the webhook stay in their header beside the signature', async () => {
  const authentication = { scheme: 'Bearer', credentials: 'a-credential' };
  const { keys, signature, body, audience, headers } = await notified({ authentication, token: 'a-token' });
  expect(headers).toMatchObject({ authorization: 'Bearer a-credential', 'x-a2a-notification-token': 'a-token' });
  expect(verifyNotification({ signature, body, keys, audience })).toBe(true);
});

test('without signing there is no signature', async () => {
  const hook = await webhook();
  const { url } = await world.serve(world.agent(['x']), { pushNotifications: { allowHosts: [hook.host] } });
  const config = { taskPushNotificationConfig: { url: `http://${hook.host}/` } };
  await send(await clientOf(url), message('hello', {}, config));
  await hook.until(isDone);
  expect(hook.received.at(-1)?.headers).not.toHaveProperty('x-a2a-notification-signature');
  expect(hook.received.at(-1)?.headers).not.toHaveProperty('authorization');
});

test('a webhook that is slow gets the latest states, and misses some of many in between', async () => {
  const hook = await webhook();
  const release = hook.hold();
  const rounds = 15;
  const erase = tool({ name: 'erase', description: 'Erases', run: () => 'erased' });
  const calls = Array.from({ length: rounds }, () => ({ toolCalls: [{ name: 'erase' }] }));
  const agent = world.agent([...calls, 'cleaned up'], { tools: [erase], access: { confirm: 'destructive' } });
  const client = await clientOf((await world.serve(agent, { pushNotifications: { allowHosts: [hook.host] } })).url);
  const config = { taskPushNotificationConfig: { url: `http://${hook.host}/` } };
  let task = await send(client, message('clean up', {}, config));
  for (let round = 0; round < rounds; round++)
    task = await send(client, message(`yes ${questionsOf(task)[0]}`, { taskId: task.id }));
  release();
  await hook.until(isDone);
  expect(statesIn(hook)).toHaveLength(11); // the first, which was on its way, and the last ten
  expect(statesIn(hook).at(-1)).toBe('COMPLETED');
});

test('a webhook that asks for time is called again after it', async () => {
  const hook = await webhook();
  hook.statuses.push(503);
  hook.retryAfter = '1';
  const { url } = await world.serve(world.agent(['x']), {
    pushNotifications: { allowHosts: [hook.host], retryDelayMs: 0 },
  });
  const config = { taskPushNotificationConfig: { url: `http://${hook.host}/` } };
  await send(await clientOf(url), message('hello', {}, config));
  await hook.until(isDone);
  const [first, second] = hook.received;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(900);
});
