// Clients that send what the official SDK does not: trailing slashes, other content types, other versions.
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { startTckServer } from '../../../conformance/a2a-tck-server.ts';
import { silent } from '../../pocket-agent/test/helpers.ts';
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

describe('an answer of 5 MB reaches clients that accept lines of at most 4 MiB', () => {
  const answer = '😀äx'.repeat(1_250_000);
  const model = () => world.agent([answer], { limits: { timeoutMs: 600_000 } });

  test.each(bindings)('when it arrives while they watch (%s)', async (binding) => {
    const client = await clientOf((await world.serve(model())).url, { binding });
    const seen = await collect(client.sendMessageStream(message('go')));
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const texts = seen.flatMap(({ artifactUpdate: update }) => (update ? [update] : []));
    const whole = texts.reduce(
      (text, { artifact, append }) => (append ? text : '') + (artifact.parts[0]?.text ?? ''),
      '',
    );
    expect(whole === answer).toBe(true);
  });

  test('when it was there before they watch', async () => {
    const started = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<string>();
    const run = () => {
      started.resolve();
      return finished.promise;
    };
    const slow = tool({ name: 'slow', description: 'Lasts', annotations: { readOnlyHint: true }, run });
    const agent = world.agent([{ text: answer, toolCalls: [{ name: 'slow' }] }, 'done'], { tools: [slow] });
    const client = await clientOf((await world.serve(agent)).url);
    const { id } = await send(client, message('go', {}, { returnImmediately: true }));
    await started.promise;
    const watching = client.resubscribeTask({ id, tenant: '' });
    const first = await watching.next();
    expect(first.value?.payload?.$case).toBe('task');
    finished.resolve('ok');
    const texts = (await collect(watching)).map(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0]?.text ?? '');
    expect(texts.join('')).toBe(`${answer}done`);
  });
});

describe('a file that is too large for an event', () => {
  class Painter extends PocketAgent<object> {
    override async run() {
      const image = { type: 'image' as const, mimeType: 'image/png', data: 'A'.repeat(6_000_000) };
      return { content: [image], structuredContent: { rows: ['x'.repeat(5_000_000)] } };
    }
  }

  const painter = () =>
    world.keep(new Painter({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Painter' }, logger: silent }));

  test.each(bindings)('is named in the stream and can be read with the task (%s)', async (binding) => {
    const client = await clientOf((await world.serve(painter())).url, { binding });
    const seen = await collect(client.sendMessageStream(message('go')));
    const texts = seen.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts.map(({ text }) => text) ?? []);
    expect(texts).toEqual([
      '(image/png, 6000000 bytes: too large for a stream; get the task to read it)',
      expect.stringContaining('application/json, 50000'),
    ]);
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const id = seen.at(-1)?.statusUpdate?.taskId ?? '';
    const task = await client.getTask({ id, tenant: '' });
    expect(task.artifacts[0]?.parts.map(({ content }) => content?.$case)).toEqual(['raw', 'data']);
  });

  test.each(bindings)('is left out of the history in a stream (%s)', async (binding) => {
    const { url } = await world.serve(world.agent(['ok']), { maxBodyBytes: 8_000_000 });
    const client = await clientOf(url, { binding });
    const data = { rows: 'x'.repeat(5_000_000) };
    const seen = await collect(client.sendMessageStream(message([{ data, mediaType: 'application/json' }])));
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
  });
});
