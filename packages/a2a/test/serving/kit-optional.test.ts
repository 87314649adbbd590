// What the official compatibility kit checks beyond the basic operations, of our server and of the server for the kit: webhooks,
// history, caching of cards, and unknown fields. The ids in the titles are those of the kit.
import { verifyCard } from '@pocket-agent/a2a/client';
import { afterEach, describe, expect, test } from 'vitest';
import { startTckServer } from '../../../../conformance/a2a-tck-server.ts';
import { Webhook } from '../fixtures/webhook.ts';
import { World } from '../fixtures/world.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are plain JSON that tests look into
type Answer = any;

const world = new World();
afterEach(() => world.close());

const servers = {
  'a served agent': async () => {
    const pushNotifications = { allowHosts: ['127.0.0.1'] };
    return (await world.serve(world.agent(Array(5).fill('done')), { pushNotifications })).url;
  },
  'the server for the kit': async () => world.keep(await startTckServer({ waitMs: 1 })).url,
};
/** JSON-RPC and REST: the operation, and the status and body of its answer. */
const bindings = {
  'JSON-RPC': (url: string) => async (method: string, params: Record<string, unknown>) => {
    const { result, error } = (await request(`${url}/a2a/jsonrpc`, 'POST', { jsonrpc: '2.0', id: 1, method, params }))
      .body;
    return error ? { isError: true, body: error } : { isError: false, body: result };
  },
  REST:
    (url: string) =>
    async (method: string, { taskId, id, ...params }: Record<string, unknown>) => {
      const hooks = `/tasks/${taskId}/pushNotificationConfigs`;
      const [verb, path, body] = {
        SendMessage: ['POST', '/message:send', params],
        GetTask: ['GET', `/tasks/${id}?historyLength=${params.historyLength ?? ''}`],
        CreateTaskPushNotificationConfig: ['POST', hooks, { ...params, id }],
        GetTaskPushNotificationConfig: ['GET', `${hooks}/${id}`],
        ListTaskPushNotificationConfigs: ['GET', hooks],
        DeleteTaskPushNotificationConfig: ['DELETE', `${hooks}/${id}`],
      }[method] as [string, string, object?];
      const { status, body: answer } = await request(`${url}/a2a/rest${path}`, verb, body);
      return { isError: status >= 400, body: answer };
    },
};

async function request(url: string, method: string, body?: object): Promise<{ status: number; body: Answer }> {
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  const response = await fetch(url, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const messageOf = (more: object = {}) => ({
  messageId: `tck-complete-task-${crypto.randomUUID()}`,
  role: 'ROLE_USER',
  parts: [{ text: 'hello' }],
  ...more,
});

const cases = Object.entries(servers).flatMap(([server, start]) =>
  Object.entries(bindings).map(([binding, call]) => [server, binding, start, call] as const),
);

describe.each(cases)('%s over %s', (_server, _binding, start, call) => {
  test('keeps webhooks of a task until they are removed (PUSH-CREATE, -GET, -LIST, -DEL)', async () => {
    const ask = call(await start());
    const taskId = (await ask('SendMessage', { message: messageOf() })).body.task.id;
    const config = { taskId, id: 'hook-1', url: 'https://example.com/webhook' };
    expect(await ask('CreateTaskPushNotificationConfig', config)).toMatchObject({ body: { id: 'hook-1' } });
    expect((await ask('GetTaskPushNotificationConfig', { taskId, id: 'hook-1' })).body.url).toBe(config.url);
    expect((await ask('ListTaskPushNotificationConfigs', { taskId })).body.configs).toHaveLength(1);
    expect((await ask('GetTaskPushNotificationConfig', { taskId, id: 'other' })).isError).toBe(true);
    for (let times = 0; times < 2; times++)
      expect((await ask('DeleteTaskPushNotificationConfig', { taskId, id: 'hook-1' })).isError).toBe(false);
    expect((await ask('GetTaskPushNotificationConfig', { taskId, id: 'hook-1' })).isError).toBe(true);
  });

  test('delivers notifications in the form of a stream, with the credentials (PUSH-DELIVER)', async () => {
    const ask = call(await start());
    const hook = world.keep(await new Webhook().start());
    const taskPushNotificationConfig = {
      url: `http://${hook.host}/`,
      authentication: { scheme: 'Bearer', credentials: 'tck-token' },
    };
    await ask('SendMessage', { message: messageOf(), configuration: { taskPushNotificationConfig } });
    await hook.until(({ body }) => Object(body.task).status?.state === 'TASK_STATE_COMPLETED');
    for (const { headers, body } of hook.received) {
      expect(headers.authorization).toBe('Bearer tck-token');
      expect(Object.keys(body)).toEqual(['task']);
    }
  });

  test('keeps messages in order, and leaves them out when asked (CORE-HIST-001, -003 to -006, CORE-MULTI-002)', async () => {
    const ask = call(await start());
    const message = messageOf({ contextId: 'context-of-the-client' });
    const { task } = (await ask('SendMessage', { message })).body;
    expect(task.contextId).toBe('context-of-the-client');
    const { history } = (await ask('GetTask', { id: task.id })).body;
    expect(history[0]).toMatchObject({ messageId: message.messageId, parts: [{ text: 'hello' }] });
    expect((await ask('GetTask', { id: task.id, historyLength: 0 })).body.history ?? []).toEqual([]);
    const second = await ask('SendMessage', { message: messageOf(), configuration: { historyLength: 0 } });
    expect(second.body.task.history ?? []).toEqual([]);
  });

  test('ignores fields that it does not know, and makes up a context (DM-SERIAL-005, CORE-MULTI-001)', async () => {
    const ask = call(await start());
    const { body } = await ask('SendMessage', { message: messageOf({ unknown: { deep: [1] } }), more: true });
    expect(body.task).toMatchObject({ contextId: expect.any(String), status: { state: 'TASK_STATE_COMPLETED' } });
  });
});

test.each(Object.entries(servers))('the card of %s may be cached (CARD-CACHE-001, -002)', async (_server, start) => {
  const { headers } = await fetch(`${await start()}/.well-known/agent-card.json`);
  expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['public, max-age=300', expect.any(String)]);
});

test('the card of the server for the kit is signed (CARD-SIGN)', async () => {
  const url = await servers['the server for the kit']();
  const card = (await request(`${url}/.well-known/agent-card.json`, 'GET')).body;
  const { keys } = (await request(`${url}/.well-known/jwks.json`, 'GET')).body;
  expect(await verifyCard(card, async () => keys)).toBe('valid');
  const header = JSON.parse(Buffer.from(card.signatures[0].protected, 'base64url').toString());
  expect(header).toMatchObject({ alg: 'ES256', typ: 'JOSE', kid: keys[0].kid });
});
