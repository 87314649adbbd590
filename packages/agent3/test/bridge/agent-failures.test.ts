import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { CallErrorCode } from '../../src/base/calls.ts';
import { setUp } from '../fixtures/bridge-setup.ts';
import {
  cardOf,
  messageOf,
  openConnections,
  type Rpc,
  rpcServer,
  sendJson,
  serve,
  startStream,
  taskOf,
} from '../fixtures/local-server.ts';

type Fault = (rpc: Rpc, response: ServerResponse) => unknown;

const json = { 'content-type': 'application/json' };
const huge = 'a'.repeat(3_000_000);

const faults: [string, Fault, CallErrorCode][] = [
  ['a reset', (_rpc, response) => void response.socket?.resetAndDestroy(), 'UNREACHABLE'],
  [
    'a body that is cut off',
    (_rpc, response) => {
      response.writeHead(200, { ...json, 'content-length': '100' });
      response.write('{"jsonrpc"', () => response.socket?.destroy());
    },
    'UNREACHABLE',
  ],
  ['headers that never come', () => {}, 'TIMEOUT'],
  ['a body that never ends', (_rpc, response) => void response.writeHead(200, json).write('{'), 'TIMEOUT'],
  ['a server error', (_rpc, response) => void response.writeHead(500).end('oops'), 'AGENT_ERROR'],
  [
    'a bad gateway',
    (_rpc, response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>'),
    'AGENT_ERROR',
  ],
  [
    'a web page',
    (_rpc, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>'),
    'PROTOCOL',
  ],
  ['no content type', (_rpc, response) => void response.writeHead(200).end('{}'), 'PROTOCOL'],
  ['not found', (_rpc, response) => void response.writeHead(404).end(), 'PROTOCOL'],
  ['invalid JSON', (_rpc, response) => void response.writeHead(200, json).end('{"jsonrpc": '), 'PROTOCOL'],
  ['hundreds of thousands of values', () => ({ message: { parts: Array(250_001).fill(1) } }), 'PROTOCOL'],
  ['JSON other than JSON-RPC', (_rpc, response) => sendJson(response, ['hello']), 'PROTOCOL'],
  [
    'the answer to another question',
    (_rpc, response) => sendJson(response, { jsonrpc: '2.0', id: 'x', result: messageOf('hi') }),
    'PROTOCOL',
  ],
  ['neither task nor message', () => ({ hello: 'world' }), 'PROTOCOL'],
  ['a task without an id', () => ({ task: { status: { state: 'TASK_STATE_WORKING' } } }), 'PROTOCOL'],
  ['an unknown state', () => ({ task: taskOf('t', 'DREAMING') }), 'PROTOCOL'],
  ['parts that are no list', () => ({ message: { parts: 'hello' } }), 'PROTOCOL'],
  [
    'a wrong version',
    (rpc, response) => sendJson(response, { jsonrpc: '2.0', id: rpc.id, error: { code: -32009, message: 'no' } }),
    'PROTOCOL',
  ],
  [
    'an error of its own',
    (rpc, response) => sendJson(response, { jsonrpc: '2.0', id: rpc.id, error: { code: -32603, message: 'no' } }),
    'AGENT_ERROR',
  ],
  [
    'a kind of input it does not take',
    (rpc, response) => sendJson(response, { jsonrpc: '2.0', id: rpc.id, error: { code: -32005, message: 'no' } }),
    'INPUT_INVALID',
  ],
  ['more than may be read', () => messageOf(huge), 'TOO_LARGE'],
  [
    'a compression bomb',
    (_rpc, response) => void response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(huge)),
    'TOO_LARGE',
  ],
  [
    'invalid compression',
    (_rpc, response) => void response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('hello'),
    'PROTOCOL',
  ],
  [
    'a redirect',
    (_rpc, response) => void response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    'ADDRESS_REFUSED',
  ],
  ['a refusal of a caller without credentials', (_rpc, response) => void response.writeHead(401).end(), 'AUTH_MISSING'],
];

test.each(faults)('%s gives the right error in time and leaves no connection open', async (_case, fault, code) => {
  const url = await rpcServer(fault);
  const network = { allowHosts: ['127.0.0.1'], maxBytes: 1_000_000 };
  const { say, directory, bridge } = setUp({ card: cardOf(url) }, { network });
  const timeout = code === 'TIMEOUT' ? 150 : 5000;
  const started = performance.now();
  const response = await say('hello', { metadata: { timeout, retries: 0 } });
  expect(performance.now() - started).toBeLessThan(timeout + 10_000);
  expect(response).toMatchObject({ success: false, errorCode: code });
  expect(response.error).toMatch(/^Agent "Echo": [a-z]/);
  expect(response.error).not.toContain('127.0.0.1');
  expect(directory.records).toMatchObject([{ success: false, errorCode: code }]);
  bridge.close();
  await expect.poll(openConnections).toBe(0);
});

const streamFaults: [string, Fault, CallErrorCode][] = [
  [
    'no event at all',
    (rpc, response) => {
      startStream(response, rpc.id);
      response.end();
    },
    'UNREACHABLE',
  ],
  [
    'silence',
    (rpc, response) => {
      startStream(response, rpc.id);
      response.flushHeaders();
    },
    'TIMEOUT',
  ],
  [
    'events that are no JSON',
    (rpc, response) => {
      startStream(response, rpc.id);
      response.end('data: hello\n\n');
    },
    'PROTOCOL',
  ],
  [
    'the updates of another task',
    (rpc, response) => {
      const send = startStream(response, rpc.id);
      send({ task: taskOf('t1', 'WORKING') });
      send({ task: taskOf('t2', 'COMPLETED') });
      response.end();
    },
    'PROTOCOL',
  ],
  [
    'no end of chunks',
    (rpc, response) => {
      const send = startStream(response, rpc.id);
      send({ task: taskOf('t1', 'WORKING') });
      const artifact = { artifactId: 'a', parts: [{ text: 'a'.repeat(10_000) }] };
      const timer = setInterval(() => send({ artifactUpdate: { taskId: 't1', artifact, append: true } }), 0);
      response.on('close', () => clearInterval(timer));
    },
    'TOO_LARGE',
  ],
];

test.each(streamFaults)(
  'a stream with %s is the right error, in time, and nothing stays open',
  async (_case, fault, code) => {
    const url = await rpcServer(fault);
    const network = { allowHosts: ['127.0.0.1'], maxBytes: 1_000_000 };
    const { say, bridge } = setUp({ card: cardOf(url, { capabilities: { streaming: true } }) }, { network });
    const timeout = code === 'TIMEOUT' ? 150 : 5000;
    const response = await say('hello', { metadata: { timeout, retries: 0 } });
    expect(response).toMatchObject({ success: false, errorCode: code });
    if (code === 'TOO_LARGE') expect(response.task).toMatchObject({ state: 'working' });
    bridge.close();
    await expect.poll(openConnections).toBe(0);
  },
);

test('a completed task with a too large answer is not reported as working', async () => {
  const artifact = { artifactId: 'a', parts: [{ text: 'a'.repeat(2_000_000) }] };
  const url = await rpcServer((rpc, response) => {
    const done = { ...taskOf('t1', 'COMPLETED'), artifacts: [artifact] };
    if (rpc.method === 'GetTask') return sendJson(response, { jsonrpc: '2.0', id: rpc.id, result: done });
    const send = startStream(response, rpc.id);
    send({ task: taskOf('t1', 'WORKING') });
    send({ artifactUpdate: { taskId: 't1', artifact, append: false } });
    send({ statusUpdate: { taskId: 't1', status: { state: 'TASK_STATE_COMPLETED' } } });
    response.end();
  });
  const network = { allowHosts: ['127.0.0.1'], maxBytes: 1_000_000 };
  const { say, directory, bridge } = setUp({ card: cardOf(url, { capabilities: { streaming: true } }) }, { network });
  const response = await say('hello', { metadata: { timeout: 60_000, retries: 0 } });
  expect(response).toMatchObject({ success: false, errorCode: 'TOO_LARGE' });
  expect(response.task).toBeUndefined();
  expect(response.error).not.toContain('goes on');
  expect(directory.records).toMatchObject([{ state: 'completed' }]);
  bridge.close();
  await expect.poll(openConnections).toBe(0);
});

test('an unreachable agent is retried and reported', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const { say } = setUp({ card: cardOf(url) });
  const response = await say('hello', { metadata: { retries: 2 } });
  expect(response).toMatchObject({ errorCode: 'UNREACHABLE', metadata: { retryCount: 2 } });
  expect(response.error).toBe('Agent "Echo": it cannot be reached (ECONNREFUSED). Try again later, or another agent.');
});

test.each([
  ['an address on this machine', 'http://127.0.0.1:1/'],
  ['a name for one', 'http://localhost:1/'],
  ['the address of a cloud for its machines', 'http://169.254.169.254/latest'],
  ['another form of it', 'http://[::ffff:127.0.0.1]:1/'],
  ['no web address', 'file:///etc/passwd'],
])('%s is refused', async (_case, url) => {
  const { say } = setUp({ card: cardOf(url) }, { network: {} });
  const response = await say('hello', { metadata: { retries: 0 } });
  expect(response).toMatchObject({ errorCode: 'ADDRESS_REFUSED' });
});

test('429 is retried after Retry-After, with the same message id', async () => {
  const ids: string[] = [];
  const times: number[] = [];
  const url = await rpcServer(({ params }, response) => {
    ids.push(params.message?.messageId ?? '');
    times.push(performance.now());
    if (ids.length > 1) return messageOf('now');
    response.writeHead(429, { 'retry-after': '1' }).end();
    return undefined;
  });
  const { say, directory } = setUp({ card: cardOf(url) });
  const response = await say('hello');
  expect(response).toMatchObject({ success: true, result: { text: 'now' }, metadata: { retryCount: 1 } });
  expect(new Set(ids).size).toBe(1);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(995);
  expect(directory.records).toHaveLength(1);
});

test('a retry beyond the deadline is not attempted, but reported', async () => {
  const url = await rpcServer((_rpc, response) => void response.writeHead(429, { 'retry-after': '60' }).end());
  const { say } = setUp({ card: cardOf(url) });
  const response = await say('hello', { metadata: { timeout: 10_000 } });
  expect(response).toMatchObject({
    errorCode: 'RATE_LIMITED',
    metadata: { retryAfter: 60, retryCount: 0, statusCode: 429 },
  });
});

test.each([
  [429, 'RATE_LIMITED'],
  [503, 'AGENT_ERROR'],
])('%i without Retry-After is retried as often as allowed', async (status, errorCode) => {
  let count = 0;
  const url = await rpcServer((_rpc, response) => {
    count++;
    response.writeHead(status).end();
  });
  const { say } = setUp({ card: cardOf(url) });
  const response = await say('hello', { metadata: { retries: 3 } });
  expect(response).toMatchObject({ errorCode, metadata: { retryCount: 3, statusCode: status } });
  expect(count).toBe(4);
});

test.each([
  ['is not sent again', false, 1],
  ['is sent again to an agent that is idempotent, under the same id', true, 2],
])('a message with an unknown outcome %s', async (_case, idempotent, tries) => {
  const ids: string[] = [];
  const url = await rpcServer(({ params }, response) => {
    ids.push(params.message?.messageId ?? '');
    if (ids.length > 1) return messageOf('again');
    response.socket?.destroy();
    return undefined;
  });
  const { say } = setUp({ card: cardOf(url), idempotent });
  const response = await say('hello');
  expect(response.success).toBe(idempotent);
  if (!idempotent) expect(response.error).toContain('It is unknown whether it has done anything.');
  expect(ids).toHaveLength(tries);
  expect(new Set(ids).size).toBe(1);
});

test('an agent that does not support declared streaming is called without it', async () => {
  const methods: string[] = [];
  const url = await rpcServer(({ id, method }, response) => {
    methods.push(method);
    if (method === 'SendMessage') return messageOf('whole');
    sendJson(response, { jsonrpc: '2.0', id, error: { code: -32004, message: 'no streams' } });
    return undefined;
  });
  const { say } = setUp({ card: cardOf(url, { capabilities: { streaming: true } }) });
  expect(await say('hello')).toMatchObject({ success: true, result: { text: 'whole' }, metadata: { retryCount: 0 } });
  expect(methods).toEqual(['SendStreamingMessage', 'SendMessage']);
});

test('events are read in any chunks and with any line breaks, and an endless line in linear time', async () => {
  const url = await rpcServer(async ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const result = JSON.stringify({ jsonrpc: '2.0', id, result: messageOf(`ü${'a'.repeat(8_000_000)}`) });
    const bytes = Buffer.from(`: hello\r\nevent: message\r\ndata:${result}\r\nid: 1\r\n\r\n`);
    for (const byte of bytes.subarray(0, 200)) {
      response.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end(bytes.subarray(200));
  });
  const { say } = setUp({ card: cardOf(url, { capabilities: { streaming: true } }) });
  const { result } = await say('hello');
  expect(result?.text.slice(0, 3)).toBe('üaa');
  expect(result?.truncated).toBe(true);
});

test('a changed card is used', async () => {
  const old = await rpcServer(() => messageOf('old'));
  const current = await rpcServer(() => messageOf('new'));
  const { say, directory } = setUp({ card: cardOf(old) });
  expect((await say('hello')).result?.text).toBe('old');
  directory.add('echo', { card: cardOf(current) });
  expect((await say('hello')).result?.text).toBe('new');
});

test('a server that never answers ends with the deadline', async () => {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const { say } = setUp({ card: cardOf(`http://127.0.0.1:${port}`) });
  expect(await say('hello', { metadata: { timeout: 100 } })).toMatchObject({ errorCode: 'TIMEOUT' });
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('a large error page does not become the error text', async () => {
  const url = await serve((_request, response) => void response.writeHead(500).end(`secret-page ${huge}`));
  const { say } = setUp({ card: cardOf(`${url}/?key=planted-key`) });
  const response = await say('hello');
  expect(response.error?.length).toBeLessThan(300);
  expect(JSON.stringify(response)).not.toMatch(/secret-page|planted-key/);
});
