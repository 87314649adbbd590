import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import dns from 'node:dns';
import { once } from 'node:events';
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable, Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type FetchOptions, type HttpFetch, makeFetch } from '../src/fetch/fetch.ts';

const servers: Server[] = [];
const silentServers: ReturnType<typeof createTcpServer>[] = [];
const fetches: HttpFetch[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  vi.restoreAllMocks();
  for (const server of silentServers.splice(0)) server.close();
  for (const fetch of fetches.splice(0)) fetch.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Takes connections and says nothing. */
async function serveSilence(): Promise<{ port: number; connected: Promise<Socket> }> {
  const { promise: connected, resolve } = Promise.withResolvers<Socket>();
  const server = createTcpServer((socket) => resolve(socket.on('error', () => {}).resume())).listen(0, '127.0.0.1');
  silentServers.push(server);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, connected };
}

/** Answers each request of a connection with the next piece; after the last one it says nothing. */
async function serveRaw(...pieces: readonly string[]): Promise<{ url: string; sockets: Socket[]; asked: string[] }> {
  const sockets: Socket[] = [];
  const asked: string[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    const left = [...pieces];
    socket.on('data', (data) => {
      asked.push(data.toString());
      const piece = left.shift();
      if (piece === CUT) socket.destroy();
      else socket.write(piece ?? '');
    });
  }).listen(0, '127.0.0.1');
  silentServers.push(server);
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets, asked };
}

const CUT = 'the connection ends';
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Writes as much as is taken. */
function writeEndlessly(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536);
  const write = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', write);
  write();
}

function open(options: FetchOptions = {}): HttpFetch {
  const fetch = makeFetch({ guard: 'none', ...options });
  fetches.push(fetch);
  return fetch;
}

/** The requests that this test sends. A closed one has freed its connection. */
function watchRequests(): ClientRequest[] {
  const requests: ClientRequest[] = [];
  const note = (message: unknown) => void requests.push((message as { request: ClientRequest }).request);
  subscribe('http.client.request.start', note);
  onTestFinished(() => void unsubscribe('http.client.request.start', note));
  return requests;
}

async function allClosed(requests: readonly ClientRequest[]): Promise<void> {
  await expect.poll(() => requests.every(({ closed }) => closed), { interval: 1 }).toBe(true);
}

/** Leaves connections idle until they count as possibly closed by their server, which takes 5 ms. */
const idle = () => sleep(10);

async function echo(request: IncomingMessage): Promise<string> {
  return JSON.stringify({ method: request.method, headers: request.headers, body: await text(request) });
}

const echoing: RequestListener = async (request, response) => response.end(await echo(request));

test('sends text, bytes, forms and streams as the built-in fetch does', async () => {
  const base = await serve(echoing);
  const fetch = open();
  const form = new FormData();
  form.set('file', new Blob(['content']), 'name.txt');
  const bytes = new TextEncoder().encode('bytes');
  const inMemory = [
    'plain',
    'ä',
    'ß€😀',
    '\ud800',
    bytes,
    bytes.buffer,
    new DataView(bytes.buffer, 1, 3),
    new URLSearchParams({ a: '1 2' }),
  ];
  const bodies = [...inMemory, new Blob(['blob'], { type: 'text/x' }), form];
  for (const body of bodies) {
    const ours = JSON.parse(await (await fetch(base, { method: 'POST', body })).text());
    const theirs = JSON.parse(await (await globalThis.fetch(base, { method: 'POST', body })).text());
    const type = (value: string | undefined) => value?.replace(/boundary=.*/, '');
    expect(type(ours.headers['content-type'])).toBe(type(theirs.headers['content-type']));
    const inside = (sent: { body: string }) => sent.body.replace(/-{4,}[\w-]+/g, '--');
    expect(inside(ours)).toBe(inside(theirs));
    if (body !== form) expect(ours.headers['content-length']).toBe(theirs.headers['content-length']);
  }
});

test.each([undefined, 'plain', 'größer'])('headers are the same bytes with every body: %j', async (body) => {
  const base = await serve(echoing);
  const init = { method: 'POST', headers: { 'x-name': 'Jürgen' }, ...(body === undefined ? {} : { body }) };
  const ours = await (await open()(base, init)).json();
  expect(ours).toMatchObject({ headers: { 'x-name': 'Jürgen' }, body: body ?? '' });
  expect(await (await globalThis.fetch(base, init)).json()).toMatchObject({ headers: { 'x-name': 'Jürgen' } });
});

test('takes a Request, and header pairs in any form', async () => {
  const base = await serve(echoing);
  const request = new Request(base, { method: 'PUT', body: 'x', headers: { 'x-one': '1' } });
  const answer = await (await open()(request)).json();
  expect(answer).toMatchObject({ method: 'PUT', body: 'x', headers: { 'x-one': '1' } });
  const init = { headers: { 'X-Token': ' abc\r\n', 'X-Both': 'a', 'x-both': 'b' } };
  expect(await (await open()(base, init)).json()).toMatchObject({ headers: { 'x-token': 'abc', 'x-both': 'a, b' } });
  await expect(open()(base, { headers: { 'x-bad': 'a\nb' } })).rejects.toThrow(TypeError);
});

test('sequential calls use one connection', async () => {
  const ports = new Set<number | undefined>();
  const base = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('ok');
  });
  const fetch = open();
  for (let count = 0; count < 20; count++) await (await fetch(base)).text();
  expect(ports.size).toBe(1);
});

test('close ends a pending connection, and its call fails', async () => {
  const { port, connected } = await serveSilence();
  const fetch = open();
  const waiting = fetch(`https://127.0.0.1:${port}`);
  const gone = once(await connected, 'close');
  fetch.close();
  await expect(waiting).rejects.toThrow('fetch failed');
  await gone;
});

test('after close the next call connects again', async () => {
  const base = await serve(echoing);
  const fetch = open();
  await fetch(base);
  fetch.close();
  expect((await fetch(base)).status).toBe(200);
});

test('an abort does not wait for a connection', async () => {
  const { port, connected } = await serveSilence();
  const controller = new AbortController();
  const waiting = open()(`https://127.0.0.1:${port}`, { signal: controller.signal });
  await connected;
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test('uses the proxy of the environment when Node does, but never when addresses are checked', async () => {
  const base = await serve(echoing);
  const asked: (string | undefined)[] = [];
  const proxy = await serve((request, response) => {
    asked.push(request.url);
    response.end('by proxy');
  });
  vi.stubEnv('http_proxy', proxy);
  vi.stubEnv('no_proxy', '');
  expect((await open()(base)).status).toBe(200);
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  expect((await open({ guard: 'public', allowHosts: ['127.0.0.1'] })(base)).status).toBe(200);
  expect(asked).toEqual([]);
  expect(await (await open()('http://behind.example/')).text()).toBe('by proxy');
  expect(asked).toEqual(['http://behind.example/']);
});

test('a body that is read slowly arrives whole although its connection has ended', async () => {
  let end = () => {};
  const base = await serve((_request, response) => {
    response.writeHead(200, { connection: 'close' });
    response.write('one');
    end = () => response.end('two');
  });
  const requests = watchRequests();
  const pieces: string[] = [];
  for await (const piece of (await open()(base)).body ?? []) {
    pieces.push(Buffer.from(piece).toString());
    end();
    await allClosed(requests);
  }
  expect(pieces.join('')).toBe('onetwo');
});

test('timeout and abort also apply after a redirect', async () => {
  const base = await serve((request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/silent' }).end();
  });
  const fetch = open({ redirects: 'follow', timeoutMs: 100 });
  await expect(fetch(base)).rejects.toMatchObject({ code: 'TIMEOUT' });
  const signal = AbortSignal.timeout(100);
  await expect(open({ redirects: 'follow' })(base, { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('changing a URL object after the call does not change the request', async () => {
  const url = new URL(await serve((_request, response) => response.end('first')));
  const other = await serve((_request, response) => response.end('second'));
  const asked = url.href;
  const waiting = open()(url);
  url.port = new URL(other).port;
  const response = await waiting;
  expect([response.url, await response.text()]).toEqual([asked, 'first']);
});

test('alternating calls to several URLs, also after redirects, reach the right one', async () => {
  const base = await serve((request, response) => {
    if (request.url === '/moved') response.writeHead(307, { location: '/there' });
    response.end(request.url);
  });
  const fetch = open({ redirects: 'follow' });
  const url = new URL('/one', base);
  const reached: string[] = [];
  const call = async (input: string | URL) => reached.push(await (await fetch(input)).text());
  for (const path of ['/one', '/one?a=1', '/moved', '/one', '/moved']) await call(base + path);
  await call(url);
  url.pathname = '/two';
  await call(url);
  expect(reached).toEqual(['/one', '/one?a=1', '/there', '/one', '/there', '/one', '/two']);
});

test('refuses private addresses, also those that a name resolves to', async () => {
  const base = await serve(echoing);
  const { port } = new URL(base);
  const fetch = open({ guard: 'public' });
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433', '169.254.1.1'])
    await expect(fetch(`http://${host}:${port}`)).rejects.toMatchObject({ code: 'PRIVATE_ADDRESS' });
});

test('a name is looked up once, so that its second address is never connected to', async () => {
  const base = await serve(echoing);
  const cancelled = new AbortController();
  let lookups = 0;
  const rebinding = (_name: string, _options: object, done: (error: null, found: object[]) => void) => {
    const address = lookups++ === 0 ? '192.0.2.1' : '127.0.0.1'; // no machine has the first one
    done(null, [{ address, family: 4 }]);
    setTimeout(() => cancelled.abort(), 300);
  };
  vi.spyOn(dns, 'lookup').mockImplementation(rebinding as typeof dns.lookup);
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  const { port } = new URL(base);
  await expect(
    open({ guard: 'public' })(`http://rebinding.example:${port}`, { signal: cancelled.signal }),
  ).rejects.toThrow();
  expect(lookups).toBe(1);
});

const notCalled = new Error('it would be called');

/** Only checks the address: the signal is aborted before anything is sent. */
function judged(host: string): Promise<Response> {
  return open({ guard: 'public' })(`http://${host}`, { signal: AbortSignal.abort(notCalled) });
}

test.each([
  '168.63.129.16',
  '[::ffff:168.63.129.16]',
  '[::8.8.8.8]',
  '[::ffff:0:8.8.8.8]',
  '[64:ff9b::8.8.8.8]',
  '[64:ff9b:1::8.8.8.8]',
  '[2001::1]',
  '[2001:0:ffff:ffff::1]',
  '[2002:808:808::1]',
])('refuses %s, which is reserved by a cloud or contains another address', async (host) => {
  await expect(judged(host)).rejects.toMatchObject({ code: 'PRIVATE_ADDRESS' });
});

test.each(['168.63.129.17', '[::ffff:8.8.8.8]', '[2001:1::1]', '[2001:4860:4860::8888]', '[2003::1]'])(
  'accepts the public address %s',
  async (host) => {
    await expect(judged(host)).rejects.toBe(notCalled);
  },
);

test('allowed hosts may be private, with or without a port', async () => {
  const base = await serve(echoing);
  const { host, port } = new URL(base);
  expect((await open({ guard: 'public', allowHosts: ['127.0.0.1'] })(base)).status).toBe(200);
  expect((await open({ guard: 'public', allowHosts: [host] })(base)).status).toBe(200);
  await expect(open({ guard: 'public', allowHosts: [`127.0.0.1:1${port}`] })(base)).rejects.toThrow(/private/);
});

test('a redirect is refused, or followed without sending secrets to another origin', async () => {
  const target = await serve(echoing);
  const base = await serve((_request, response) => response.writeHead(302, { location: target }).end());
  await expect(open()(base)).rejects.toMatchObject({ code: 'REDIRECT' });
  const init = {
    method: 'POST',
    body: 'x',
    headers: { authorization: 'Bearer secret', 'X-Api-Key': 'secret', Accept: 'a/b' },
  };
  const answer = await (await open({ redirects: 'follow' })(base, init)).text();
  expect(JSON.parse(answer)).toMatchObject({ method: 'GET', body: '', headers: { accept: 'a/b' } });
  expect(answer).not.toContain('secret');
  const manual = await open({ redirects: 'follow' })(base, { ...init, redirect: 'manual' });
  expect([manual.status, manual.headers.get('location')]).toEqual([302, target]);
});

test('a redirect to a private address is refused like the first address', async () => {
  const target = await serve(echoing);
  const base = await serve((_request, response) => response.writeHead(302, { location: target }).end());
  const fetch = open({ guard: 'public', allowHosts: [new URL(base).host], redirects: 'follow' });
  await expect(fetch(base)).rejects.toMatchObject({ code: 'PRIVATE_ADDRESS' });
});

test('a redirect loop ends', async () => {
  const base = await serve((_request, response) => response.writeHead(307, { location: '/' }).end());
  await expect(open({ redirects: 'follow' })(base)).rejects.toThrow(/more than 5 times/);
});

test('decompresses, and limits the decompressed size', async () => {
  const body = gzipSync(Buffer.alloc(10_000_000, 'a'));
  const base = await serve((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(body));
  expect((await (await open()(base)).text()).length).toBe(10_000_000);
  await expect((await open({ maxBytes: 100_000 })(base)).text()).rejects.toMatchObject({ code: 'TOO_LARGE' });
});

describe('a small body that expands to a large one', () => {
  const expanded = 16_000_000;
  const between = gzipSync(Buffer.alloc(expanded), { level: 0 }); // so that both decoders have much to do
  const body = brotliCompressSync(between, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

  /** A response, the decoders of its body, and how many bytes they have produced. */
  async function get(options: FetchOptions, signal?: AbortSignal) {
    const push = vi.spyOn(Readable.prototype, 'push');
    const decoding = () =>
      push.mock.calls.flatMap(([chunk], index) => {
        const step = push.mock.contexts[index];
        return step instanceof Transform ? [{ step, size: chunk?.length ?? 0 }] : [];
      });
    const base = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip, br' }).end(body),
    );
    const response = await open(options)(base, signal ? { signal } : {});
    return {
      response,
      steps: () => new Set(decoding().map(({ step }) => step)),
      size: () => decoding().reduce((sum, { size }) => sum + size, 0),
    };
  }

  type Got = Awaited<ReturnType<typeof get>>;

  async function decodingStarts({ steps }: Got): Promise<void> {
    while (steps().size < 2) await new Promise((resolve) => setImmediate(resolve));
  }

  async function expectStopped({ steps, size }: Got): Promise<void> {
    await expect.poll(() => [...steps()].map(({ destroyed }) => destroyed)).toEqual([true, true]);
    expect(size()).toBeLessThan(expanded / 10);
  }

  test('is decoded only up to its limit', async () => {
    const got = await get({ maxBytes: 100_000 });
    await expect(got.response.text()).rejects.toMatchObject({ code: 'TOO_LARGE' });
    await expectStopped(got);
  });

  test('is decoded no further after its time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const got = await get({ timeoutMs: 1_000 });
    await decodingStarts(got);
    vi.advanceTimersByTime(1_000);
    vi.useRealTimers();
    await expect(got.response.text()).rejects.toMatchObject({ code: 'TIMEOUT' });
    await expectStopped(got);
  });

  test('is decoded no further after an abort', async () => {
    const controller = new AbortController();
    const got = await get({}, controller.signal);
    await decodingStarts(got);
    controller.abort(new Error('enough'));
    await expect(got.response.text()).rejects.toThrow('enough');
    await expectStopped(got);
  });

  test('is decoded no further when it is cancelled', async () => {
    const got = await get({});
    await decodingStarts(got);
    await got.response.body?.cancel();
    await expectStopped(got);
  });
});

test('a compressed body that is broken or cut off is an error', async () => {
  const body = gzipSync(Buffer.alloc(100_000, 'a'));
  for (const sent of [body.subarray(0, 50), Buffer.from('no gzip at all')]) {
    const base = await serve((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(sent));
    await expect((await open()(base)).text()).rejects.toThrow('terminated');
  }
});

test('a body in an unknown encoding is passed on unchanged', async () => {
  const base = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'constructor' }).end('as it is'),
  );
  const response = await open()(base);
  expect([response.headers.get('content-encoding'), await response.text()]).toEqual(['constructor', 'as it is']);
});

test('the timeout applies to the headers and to a body that never ends', async () => {
  const silent = await serve(() => {});
  await expect(open({ timeoutMs: 50 })(silent)).rejects.toMatchObject({ code: 'TIMEOUT' });
  const endless = await serve((_request, response) => void response.writeHead(200).write('a'));
  const response = await open({ timeoutMs: 100 })(endless);
  await expect(response.text()).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test('an abort ends the call with its reason, before the answer and in the middle of it', async () => {
  const reason = new Error('enough');
  const silent = await serve(() => {});
  const early = new AbortController();
  const waiting = open()(silent, { signal: early.signal });
  early.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  const gone = Promise.withResolvers<void>();
  const endless = await serve((_request, response) => {
    response.on('close', gone.resolve);
    response.writeHead(200).write('a');
  });
  const late = new AbortController();
  const body = (await open()(endless, { signal: late.signal })).text();
  late.abort(reason);
  await expect(body).rejects.toBe(reason);
  await gone.promise;
});

test('a connection that breaks in the body is an error, not a short answer', async () => {
  const base = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.socket?.destroy());
  });
  await expect((await open()(base)).text()).rejects.toThrow(TypeError);
});

test('a request body that fails ends the call', async () => {
  const base = await serve(echoing);
  const failing = Readable.from(
    (function* () {
      yield 'begun';
      throw new Error('the disk is gone');
    })(),
  );
  const body = Readable.toWeb(failing) as unknown as RequestInit['body'];
  await expect(open()(base, { method: 'POST', body })).rejects.toMatchObject({
    message: 'fetch failed',
    cause: { message: 'the disk is gone' },
  });
});

test('early hints are not the answer, and headers may contain any bytes', async () => {
  const base = await serve((_request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' });
    response.socket?.write('HTTP/1.1 200 OK\r\nx-name: grüße ✓\r\ncontent-length: 2\r\n\r\nok');
  });
  const response = await open()(base);
  expect([response.status, await response.text()]).toEqual([200, 'ok']);
  expect(Buffer.from(response.headers.get('x-name') ?? '', 'latin1').toString()).toBe('grüße ✓');
});

test('an unreachable server gives the error of fetch, with the cause', async () => {
  const base = await serve(echoing);
  const [server] = servers.splice(0);
  server?.close();
  await expect(open()(base)).rejects.toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
});

test('cancelling a body closes its connection', async () => {
  const gone = Promise.withResolvers<void>();
  const base = await serve((_request, response) => {
    response.on('close', gone.resolve);
    response.writeHead(200).write('a');
  });
  await (await open()(base)).body?.cancel();
  await gone.promise;
});

test('responses without a body have a null body, and their connection is reused', async () => {
  const base = await serve((_request, response) => response.writeHead(204).end());
  const fetch = open();
  const response = await fetch(base, { method: 'DELETE' });
  expect([response.status, response.body]).toEqual([204, null]);
  const head = await fetch(base, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([204, '']);
});

test('refuses other schemes than http and https, and credentials in the URL', async () => {
  const fetch = open();
  await expect(fetch('file:///etc/passwd')).rejects.toMatchObject({ code: 'SCHEME' });
  await expect(fetch('http://name:word@127.0.0.1')).rejects.toThrow('credentials');
});

test('a slow reader slows down the sender', async () => {
  let written = 0;
  const base = await serve((_request, response) => {
    response.writeHead(200);
    const chunk = Buffer.alloc(65_536);
    const write = () => {
      while (written < 100_000_000 && response.write(chunk)) written += chunk.length;
      if (written >= 100_000_000) response.end();
    };
    response.on('drain', write);
    write();
  });
  const response = await open()(base);
  const socket = connect(Number(new URL(base).port), '127.0.0.1'); // time enough for the sender to fill what it can
  await once(socket, 'connect');
  socket.destroy();
  expect(written).toBeLessThan(50_000_000);
  await response.body?.cancel();
});

test('an answer is a Response, however it is read', async () => {
  const url = await serve((_request, response) => {
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.writeHead(201, 'Made', { 'content-type': 'application/json' }).end('\uFEFF{"text":"grüße"}');
  });
  const get = async () => open()(url);
  const response = await get();
  expect(response).toBeInstanceOf(Response);
  expect(response).toMatchObject({ ok: true, status: 201, statusText: 'Made', url: `${url}/`, bodyUsed: false });
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  expect(await response.json()).toEqual({ text: 'grüße' });
  expect(response.bodyUsed).toBe(true);
  await expect(response.text()).rejects.toThrow(TypeError);
  expect(await (await get()).text()).toBe('{"text":"grüße"}');
  const bytes = new TextEncoder().encode('\uFEFF{"text":"grüße"}');
  expect(await (await get()).bytes()).toEqual(bytes);
  expect(new Uint8Array(await (await get()).arrayBuffer())).toEqual(bytes);
  expect(await (await get()).blob()).toMatchObject({ size: bytes.length, type: 'application/json' });
  const twice = await get();
  expect(await Promise.all([twice.clone().json(), twice.json()])).toEqual([{ text: 'grüße' }, { text: 'grüße' }]);
  const streamed = await get();
  expect(streamed.body).toBe(streamed.body);
  expect(await new Response(streamed.body).json()).toEqual({ text: 'grüße' });
  expect(streamed.bodyUsed).toBe(true);
});

test.each([600, 999])('an answer with the status %i can be read in every way', async (status) => {
  const form = 'a=1';
  const type = 'content-type: application/x-www-form-urlencoded';
  const { url } = await serveRaw(`HTTP/1.1 ${status} Odd\r\n${type}\r\ncontent-length: ${form.length}\r\n\r\n${form}`);
  const get = async () => open()(url);
  expect(await new Response((await get()).body).text()).toBe(form);
  expect(await (await (await get()).blob()).text()).toBe(form);
  expect([...(await (await get()).formData())]).toEqual([['a', '1']]);
  const response = await get();
  const copy = response.clone();
  expect(copy).toMatchObject({ ok: false, status, statusText: 'Odd', url: `${url}/`, redirected: false });
  expect([...copy.headers]).toEqual([...response.headers]);
  expect(await Promise.all([copy.clone().text(), copy.text(), response.text()])).toEqual([form, form, form]);
});

test('a late reader gets every chunk once, and no empty ones', async () => {
  const sent = Promise.withResolvers<void>();
  const base = await serve(async (_request, response) => {
    response.writeHead(200, { 'content-length': 'onetwothreefour'.length });
    for (const piece of ['one', 'two', 'three']) {
      response.write(piece);
      await sleep(10);
    }
    sent.resolve();
    await sleep(10);
    response.end('four');
  });
  const body = (await open()(base)).body ?? new ReadableStream();
  await sent.promise;
  const pieces: string[] = [];
  for await (const piece of body) {
    pieces.push(Buffer.from(piece).toString());
    expect(pieces).not.toContain('');
  }
  expect(pieces.join('')).toBe('onetwothreefour');
});

test('small chunks are merged, so that a body in many of them takes little memory', async () => {
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const { url } = await serveRaw(`${head}${'1\r\nx\r\n'.repeat(20_000)}0\r\n\r\n`);
  const body = (await open()(url)).body ?? new ReadableStream();
  const sizes: number[] = [];
  for await (const piece of body) sizes.push(piece.length);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(20_000);
  expect(sizes.length).toBeLessThan(1_000);
});

test('a small unread body frees its connection, and can still be read', async () => {
  const ports = new Set<number | undefined>();
  const url = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('read late');
  });
  const requests = watchRequests();
  const fetch = open();
  const first = await fetch(url);
  await allClosed(requests);
  const second = await fetch(url);
  await allClosed(requests);
  await fetch(url);
  expect(ports.size).toBe(1);
  expect(await first.text()).toBe('read late');
  expect(await new Response(second.body).text()).toBe('read late');
});

test('a server that switches protocols fails the call', async () => {
  const { url } = await serveRaw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
  await expect(open({ timeoutMs: 60_000 })(url)).rejects.toMatchObject({
    message: 'fetch failed',
    cause: { message: 'The connection was closed without an answer' },
  });
});

test.each([150_000, 200_000, 250_000])('after an abort, an unread body of %i bytes cannot be read', async (size) => {
  const finished = Promise.withResolvers<void>();
  const base = await serve((_request, response) => response.end(Buffer.alloc(size, 'a'), finished.resolve));
  const reason = new Error('enough');
  const requests = watchRequests();
  for (const read of ['text', 'bytes', 'blob'] as const) {
    const controller = new AbortController();
    const response = await open()(base, { signal: controller.signal });
    await finished.promise;
    await expect.poll(() => requests.at(-1)?.socket?.bytesRead, { interval: 1 }).toBeGreaterThan(64 * 1_024); // read ahead
    controller.abort(reason);
    await new Promise(setImmediate);
    await expect(response[read]()).rejects.toBe(reason);
  }
});

test('the timeout applies to an unread body', async () => {
  const base = await serve((_request, response) => response.end(Buffer.alloc(200_000, 'a')));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const response = await open({ timeoutMs: 300 })(base);
  vi.advanceTimersByTime(300);
  await expect(response.text()).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['never ends', writeEndlessly],
  ['stops in the middle', (response) => response.write('moved')],
])('the body of a redirect that %s is not read to its end', async (_what, write) => {
  const gone = Promise.withResolvers<void>();
  const base = await serve((request, response) => {
    if (request.url !== '/') return void response.end('arrived');
    response.on('close', gone.resolve);
    response.writeHead(302, { location: '/there' });
    write(response);
  });
  expect(await (await open({ redirects: 'follow' })(base)).text()).toBe('arrived');
  await gone.promise;
  await expect(open()(base)).rejects.toMatchObject({ code: 'REDIRECT' });
});

test('the connections of redirects with small bodies are reused', async () => {
  const ports = new Set<number | undefined>();
  const base = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    if (request.url === '/') response.writeHead(302, { location: '/there' });
    response.end('moved');
  });
  const fetch = open({ redirects: 'follow' });
  for (let count = 0; count < 3; count++) await (await fetch(base)).text();
  expect(ports.size).toBeLessThanOrEqual(2);
});

test.each<[string, number]>([
  ['GET', 2],
  ['HEAD', 2],
  ['POST', 1],
])('%s is sent at most %i times when kept connections break', async (method, times) => {
  const { url, asked } = await serveRaw(method === 'HEAD' ? OK.replace(/ok$/, '') : OK, CUT);
  const requests = watchRequests();
  for (const kept of [1, 3]) {
    const fetch = open();
    const call = async () => (await fetch(url, { method })).text();
    await Promise.all(Array.from({ length: kept }, call));
    await allClosed(requests); // a HEAD is answered before its connection is free
    const before = asked.length;
    const outcome = await call().then(
      () => 'answered',
      (error) => error.cause.code,
    );
    expect(outcome).toBe(kept < times ? 'answered' : 'ECONNRESET');
    expect(asked.length - before).toBe(times);
  }
});

test('a request is not written to an idle connection that its server has closed', async () => {
  const { url, sockets, asked } = await serveRaw(OK, OK);
  const fetch = open();
  const call = async () => (await fetch(url, { method: 'POST', body: 'x' })).text();
  await call();
  await idle();
  sockets[0]?.destroy();
  expect(await call()).toBe('ok');
  expect([asked.length, sockets.length]).toEqual([2, 2]);
});

test('close ends a pending request on a kept connection, which is not repeated', async () => {
  const { url, asked } = await serveRaw(OK);
  const fetch = open();
  await (await fetch(url)).text();
  const waiting = fetch(url);
  const refused = expect(waiting).rejects.toThrow('fetch failed');
  await expect.poll(() => asked).toHaveLength(2);
  fetch.close();
  await refused;
  expect(asked).toHaveLength(2);
});

test('an abort at the same moment as the answer wins', async () => {
  const base = await serve((_request, response) => response.end('whole'));
  const controller = new AbortController();
  const reason = new Error('enough');
  const abort = () => process.nextTick(() => controller.abort(reason)); // before the caller continues after its await
  subscribe('http.client.response.finish', abort);
  try {
    await expect(open()(base, { signal: controller.signal })).rejects.toBe(reason);
  } finally {
    unsubscribe('http.client.response.finish', abort);
  }
});

test('an abort while an idle connection is checked sends nothing', async () => {
  const { url, sockets, asked } = await serveRaw(OK, OK);
  const fetch = open();
  await (await fetch(url)).text();
  await idle();
  const controller = new AbortController();
  const waiting = fetch(url, { method: 'POST', signal: controller.signal });
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  expect(await (await fetch(url)).text()).toBe('ok');
  expect([asked.length, sockets.length]).toEqual([2, 1]);
});

test.each<[string, (response: Response) => void]>([
  ['only the status was used', () => {}],
  ['its stream is not read', (response) => void response.body],
])('the connection of a large unread body is closed after a while: %s', async (_why, touch) => {
  const gone = Promise.withResolvers<void>();
  let isGone = false;
  gone.promise.then(() => {
    isGone = true;
  });
  const base = await serve(
    (_request, response) => void response.on('close', gone.resolve).end(Buffer.alloc(50_000_000)),
  );
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const response = await open()(base);
  touch(response);
  while (!isGone) {
    vi.advanceTimersByTime(30_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect(response.text()).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test('a reader of a large body may take a long time', async () => {
  const base = await serve((_request, response) => response.end(Buffer.alloc(1_000_000)));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let size = 0;
  for await (const piece of (await open()(base)).body ?? []) {
    size += piece.length;
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(60_000);
  }
  expect(size).toBe(1_000_000);
});

test('a reader that has taken one chunk may take a long time for the rest', async () => {
  const base = await serve((_request, response) => response.end(Buffer.alloc(1_000_000)));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const response = await open()(base);
  await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(0);
  const reader = response.body?.getReader() ?? expect.fail('there is no body');
  let size = (await reader.read()).value?.length ?? 0;
  vi.advanceTimersByTime(60_000);
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) size += piece.value.length;
  expect(size).toBe(1_000_000);
});

test('redirect: error is respected, and followed redirects are reported', async () => {
  const base = await serve((request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/there' });
    response.end();
  });
  const fetch = open({ redirects: 'follow' });
  await expect(fetch(base, { redirect: 'error' })).rejects.toMatchObject({ code: 'REDIRECT' });
  await expect(fetch(new Request(base, { redirect: 'error' }))).rejects.toMatchObject({ code: 'REDIRECT' });
  expect(await fetch(base)).toMatchObject({ redirected: true, url: `${base}/there` });
  expect(await fetch(`${base}/there`)).toMatchObject({ redirected: false });
});

test.each<[string, Uint8Array, string]>([
  ['gzip', new Uint8Array(), ''],
  ['br', new Uint8Array(), ''],
  ['gzip, br', new Uint8Array(), ''],
  ['gzip, br', brotliCompressSync(gzipSync('twice')), 'twice'],
  ['GZIP ,x-gzip', gzipSync(gzipSync('twice')), 'twice'],
  ['deflate', deflateSync('once'), 'once'],
])('a body in %s is decoded', async (encoding, body, expected) => {
  const base = await serve((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));
  const response = await open()(base);
  expect([await response.text(), response.headers.get('content-encoding')]).toEqual([expected, null]);
});

test('encodings in two headers, in any case, are undone in reverse', async () => {
  const base = await serve((_request, response) => {
    response.writeHead(200, ['Content-Encoding', 'gzip', 'CONTENT-ENCODING', 'br']);
    response.end(brotliCompressSync(gzipSync('twice')));
  });
  expect(await (await open()(base)).text()).toBe('twice');
});

test.each([3, 1_000])('a body in %i encodings is refused', async (count) => {
  const encoding = Array(count).fill('gzip').join();
  const base = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': encoding }).end(gzipSync(gzipSync(gzipSync('bomb')))),
  );
  const response = await open()(base);
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toMatchObject({
    message: 'terminated',
    cause: { message: 'The answer has more than 2 encodings' },
  });
});

test('the length of a body does not depend on the given headers, and deflate is not requested', async () => {
  const base = await serve(echoing);
  const headers = { 'Content-Length': '3', 'Transfer-Encoding': 'gzip' };
  const fetch = open();
  const send = async (init: RequestInit) => JSON.parse(await (await fetch(base, { ...init, headers })).text());
  const stream = await send({ method: 'POST', body: new Blob(['longer']).stream() });
  expect(stream).toMatchObject({ body: 'longer', headers: { 'transfer-encoding': 'chunked' } });
  expect(stream.headers).not.toHaveProperty('content-length');
  const text = await send({ method: 'POST', body: 'longer' });
  expect(text).toMatchObject({ body: 'longer', headers: { 'content-length': '6' } });
  expect(text.headers).not.toHaveProperty('transfer-encoding');
  const none = await send({});
  expect(none.headers).not.toHaveProperty('content-length');
  expect(none.headers['accept-encoding']).toBe('gzip, br');
});
