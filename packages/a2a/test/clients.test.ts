// Clients that send what the official SDK does not: trailing slashes, other content types, other versions.
import { afterEach, describe, expect, test } from 'vitest';
import { startTckServer } from '../../../conformance/a2a-tck-server.ts';
import { answerOf, bindings, clientOf, collect, message, rawRequest, rpc, send, World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

describe.each(bindings)('a client that ends every path with a slash (%s)', (binding) => {
  test('can read the card, send, stream and read tasks', async () => {
    const { url } = await world.serve(world.agent(['first', 'second']), {}, { token: 'secret' });
    const client = await clientOf(url, { binding, token: 'secret', trailingSlash: true });
    const task = await send(client, message('hello'));
    expect(answerOf(task)).toBe('first');
    const seen = await collect(client.sendMessageStream(message('again')));
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(await client.getTask({ id: task.id, tenant: '' }))).toBe('first');
  });
});

test('a trailing slash is ignored under the path of a mounted server, too', async () => {
  const server = world.agent(['found']).asA2aServer({ url: 'https://example.com/helper/' });
  for (const path of ['/helper/a2a/rest/message:send/', '/a2a/rest/message:send/']) {
    const response = await server.fetch(
      new Request(`https://example.com${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }),
      }),
    );
    expect(response.status).toBe(200);
  }
});

const sent = { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } };

function post(url: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${url}/a2a/rest/message:send`, { method: 'POST', headers, body: JSON.stringify(sent) });
}

describe('over REST', () => {
  test('a body of another content type is refused with 415, and so is a part', async () => {
    const { url } = await world.serve(world.agent(['x']));
    expect((await post(url, { 'content-type': 'text/plain', 'a2a-version': '1.0' })).status).toBe(415);
    const part = { raw: 'AA==', mediaType: 'application/zip' };
    const response = await fetch(`${url}/a2a/rest/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: { ...sent.message, parts: [part] } }),
    });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('application/zip') } });
  });
});

test('an unknown version is refused, also by the server for the compatibility kit', async () => {
  const kit = world.keep(await startTckServer());
  for (const { url } of [await world.serve(world.agent(['x'])), kit]) {
    const answer = await rpc(url, 'SendMessage', sent, { 'a2a-version': '99.0' });
    expect(answer.error).toMatchObject({ code: -32_009, message: expect.stringContaining('99.0') });
    const overRest = await post(url, { 'content-type': 'application/json', 'a2a-version': '99.0' });
    expect(overRest.status).toBe(400);
  }
});

test('the card has fields of 0.3 for clients that do not name a version, unless only 1.0 is offered', async () => {
  const cardOf = async (url: string, headers = {}) =>
    Object.keys((await (await fetch(url, { headers })).json()) as object);
  const both = await world.serve(world.agent([]));
  const supportedInterfaces = [{ url: both.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  const modern = await world.serve(world.agent([]), { card: { supportedInterfaces } });
  expect(await cardOf(both.cardUrl)).toEqual(expect.arrayContaining(['url', 'protocolVersion']));
  expect(await cardOf(both.cardUrl, { 'a2a-version': '1.0' })).not.toContain('url');
  expect(await cardOf(modern.cardUrl)).not.toContain('url');
});

describe('malformed params get an A2A error, not the text of a TypeError:', () => {
  test.each([
    ['0.3', 'tasks/pushNotificationConfig/set', { taskId: 't1' }],
    ['0.3', 'tasks/pushNotificationConfig/set', { taskId: 't1', pushNotificationConfig: null }],
    ['0.3', 'message/send', { message: { messageId: 'a', role: 'user', parts: [{ kind: 'file' }] } }],
    ['0.3', 'message/stream', { message: { messageId: 'a', role: 'user', parts: [{ kind: 'file' }] } }],
    ['1.0', 'SendMessage', { message: { messageId: 'a', role: 'ROLE_USER', parts: [null] } }],
    ['1.0', 'SendStreamingMessage', { message: { messageId: 'a', role: 'ROLE_USER', parts: [null] } }],
  ])('%s %s %j', async (version, method, params) => {
    const { url } = await world.serve(world.agent([]));
    const { error } = await rpc(url, method, params, { 'a2a-version': version });
    expect(error?.message).toBe('The params are malformed.');
    expect([-32_600, -32_602]).toContain(error?.code);
  });
});

test.each([
  [{ method: 'TRACE' }, 405],
  [{ headers: { host: 'a b' } }, 400],
  [{ headers: { host: '127.0.0.1:x' } }, 400],
])('an unreadable request is refused: %j', async (given, status) => {
  const agent = world.agent([]);
  const { url } = await world.serve(agent);
  const mcp = await world.keep(agent.asMcpServer()).listen();
  for (const server of [url, mcp.url]) expect((await rawRequest(server, given)).status).toBe(status);
});
