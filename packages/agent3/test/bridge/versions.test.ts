import { expect, test } from 'vitest';
import { me, setUp } from '../fixtures/bridge-setup.ts';
import { cardOf } from '../fixtures/local-server.ts';
import { startOldAgent, startRestAgent } from '../fixtures/old-agent.ts';

test('a broken stream of a 0.3 agent is resumed', async () => {
  const { card, asked, bodies, versions } = await startOldAgent();
  const { say } = setUp({ card });
  const response = await say('hello');
  expect(response).toMatchObject({
    success: true,
    result: {
      text: 'old but good',
      data: [{ age: 3 }],
      files: [{ name: 'hi.txt', mediaType: 'text/plain', base64: 'aGk=' }],
    },
  });
  expect(asked).toEqual(['message/stream', 'tasks/get', 'tasks/resubscribe']);
  expect(bodies[0]).toMatchObject({
    message: { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hello' }] },
    configuration: { blocking: true },
  });
  expect(versions).toEqual(['0.3', '0.3', '0.3']);
});

test.each([
  ['1.0', '/base/acme', { message: { role: 'ROLE_USER', parts: [{ text: 'hello' }] }, tenant: 'acme' }],
  ['0.3', '/base/v1', { message: { role: 'ROLE_USER', content: [{ text: 'hello' }] } }],
] as const)('REST in %s: address, tenant and JSON form', async (version, base, body) => {
  const { card, asked, bodies, versions } = await startRestAgent(version);
  const { say } = setUp({ card });
  const response = await say('hello');
  expect(response).toMatchObject({ success: true, result: { text: 'rested', data: [{ ok: true }] } });
  const look = `GET ${base}/tasks/task%2F1?historyLength=0`;
  expect(asked).toEqual([`POST ${base}/message:send`, look, look]);
  expect(bodies[0]).toMatchObject(body);
  expect(new Set(versions)).toEqual(new Set([version]));
});

test('a task is canceled over REST', async () => {
  const { card, asked } = await startRestAgent('0.3');
  const { say, bridge } = setUp({ card });
  const started = await say('hello', { mode: 'start' });
  expect(started).toMatchObject({ success: true, task: { state: 'working' } });
  const taskHandle = started.task?.taskHandle ?? '';
  const canceled = await bridge.task({ action: 'cancel', taskHandle }, me);
  expect(canceled).toMatchObject({ task: { taskHandle, state: 'canceled' } });
  expect(asked.at(-1)).toBe('POST /base/v1/tasks/task%2F1:cancel');
});

test.each([
  ['no interface', []],
  ['only gRPC', [{ url: 'example.com:1', protocolBinding: 'GRPC', protocolVersion: '1.0' }]],
  ['a version to come', [{ url: 'http://127.0.0.1:1', protocolBinding: 'JSONRPC', protocolVersion: '2.0' }]],
  [
    'a password in its address',
    [{ url: 'http://a:b@127.0.0.1:1', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  ],
  ['an invalid URL', [{ url: 'here', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]],
])('a card with %s is refused before anything is sent', async (_case, supportedInterfaces) => {
  const { say } = setUp({ card: cardOf('', { supportedInterfaces }) });
  const response = await say('hello');
  expect(response).toMatchObject({ success: false, errorCode: 'PROTOCOL', metadata: { retryCount: 0 } });
  expect(response.error).toMatch(/^Agent "Echo": its card offers no supported interface/);
  expect(response.receipt).toBeUndefined();
});

test('a required unknown extension ends the call before anything is sent', async () => {
  const capabilities = { extensions: [{ uri: 'urn:example:unknown', required: true }] };
  const { say } = setUp({ card: cardOf('http://127.0.0.1:1', { capabilities }) });
  expect(await say('hello')).toMatchObject({ errorCode: 'PROTOCOL', error: expect.stringContaining('extension') });
});
