import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import { type FetchOptions, type HttpFetch, makeFetch } from '../src/fetch.ts';

const servers: Server[] = [];
const silentServers: ReturnType<typeof createTcpServer>[] = [];
const fetches: HttpFetch[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
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

function open(options: FetchOptions = {}): HttpFetch {
  const fetch = makeFetch({ guard: 'none', ...options });
  fetches.push(fetch);
  return fetch;
}

async function echo(request: IncomingMessage): Promise<string> {
  return JSON.stringify({ method: request.method, headers: request.headers, body: await text(request) });
}

const echoing: RequestListener = async (request, response) => response.end(await echo(request));

test('sends text, bytes, forms and streams as the built-in fetch does', async () => {
  const base = await serve(echoing);
  const fetch = open();
  const form = new FormData();
  form.set('file', new Blob(['content']), 'name.txt');
  const bodies = ['plain', new TextEncoder().encode('bytes'), new URLSearchParams({ a: '1 2' }), form];
  for (const body of bodies) {
    const ours = JSON.parse(await (await fetch(base, { method: 'POST', body })).text());
    const theirs = JSON.parse(await (await globalThis.fetch(base, { method: 'POST', body })).text());
    const type = (value: string | undefined) => value?.replace(/boundary=.*/, '');
    expect(type(ours.headers['content-type'])).toBe(type(theirs.headers['content-type']));
    const inside = (sent: { body: string }) => sent.body.replace(/-{4,}[\w-]+/g, '--');
    expect(inside(ours)).toBe(inside(theirs));
  }
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

test('uses one connection for calls that follow each other', async () => {
  const ports = new Set<number | undefined>();
  const base = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('ok');
  });
  const fetch = open();
  for (let count = 0; count < 20; count++) await (await fetch(base)).text();
  expect(ports.size).toBe(1);
});

test('a connection to wait for ends with close, and the call with an error', async () => {
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

test('goes through the proxy of the environment where Node does, and never where addresses are checked', async () => {
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

test('a body read slowly arrives whole although its connection has ended', async () => {
  const base = await serve((_request, response) => {
    response.writeHead(200, { connection: 'close' });
    response.write('one');
    setTimeout(() => response.end('two'), 10);
  });
  const pieces: string[] = [];
  for await (const piece of (await open()(base)).body ?? []) {
    pieces.push(Buffer.from(piece).toString());
    await sleep(30);
  }
  expect(pieces.join('')).toBe('onetwo');
});

test('time limit and abort hold after a redirect', async () => {
  const base = await serve((request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/silent' }).end();
  });
  const fetch = open({ redirects: 'follow', timeoutMs: 100 });
  await expect(fetch(base)).rejects.toMatchObject({ code: 'TIMEOUT' });
  const signal = AbortSignal.timeout(100);
  await expect(open({ redirects: 'follow' })(base, { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('an address that is changed after the call is not the one that is fetched', async () => {
  const url = new URL(await serve((_request, response) => response.end('first')));
  const other = await serve((_request, response) => response.end('second'));
  const asked = url.href;
  const waiting = open()(url);
  url.port = new URL(other).port;
  const response = await waiting;
  expect([response.url, await response.text()]).toEqual([asked, 'first']);
});

test('refuses private addresses, also behind a name, and says so', async () => {
  const base = await serve(echoing);
  const { port } = new URL(base);
  const fetch = open({ guard: 'public' });
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433', '169.254.1.1'])
    await expect(fetch(`http://${host}:${port}`)).rejects.toMatchObject({ code: 'PRIVATE_ADDRESS' });
});

test('hosts that are allowed may be private, with or without a port', async () => {
  const base = await serve(echoing);
  const { host, port } = new URL(base);
  expect((await open({ guard: 'public', allowHosts: ['127.0.0.1'] })(base)).status).toBe(200);
  expect((await open({ guard: 'public', allowHosts: [host] })(base)).status).toBe(200);
  await expect(open({ guard: 'public', allowHosts: [`127.0.0.1:1${port}`] })(base)).rejects.toThrow(/private/);
});

test('a redirect is refused, or followed without secrets for another origin', async () => {
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

test('redirects in a circle end', async () => {
  const base = await serve((_request, response) => response.writeHead(307, { location: '/' }).end());
  await expect(open({ redirects: 'follow' })(base)).rejects.toThrow(/more than 5 times/);
});

test('decompresses, and bounds what comes out of a small body', async () => {
  const body = gzipSync(Buffer.alloc(10_000_000, 'a'));
  const base = await serve((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(body));
  expect((await (await open()(base)).text()).length).toBe(10_000_000);
  await expect((await open({ maxBytes: 100_000 })(base)).text()).rejects.toMatchObject({ code: 'TOO_LARGE' });
});

test('a compressed body that is broken or cut off is an error', async () => {
  const body = gzipSync(Buffer.alloc(100_000, 'a'));
  for (const sent of [body.subarray(0, 50), Buffer.from('no gzip at all')]) {
    const base = await serve((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(sent));
    await expect((await open()(base)).text()).rejects.toThrow('terminated');
  }
});

test('a body in an encoding that was not asked for comes as it was sent', async () => {
  const base = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'constructor' }).end('as it is'),
  );
  const response = await open()(base);
  expect([response.headers.get('content-encoding'), await response.text()]).toEqual(['constructor', 'as it is']);
});

test('the time limit holds for headers and for a body that never ends', async () => {
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

test('a connection cut off in the body is an error, not a short answer', async () => {
  const base = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.socket?.destroy());
  });
  await expect((await open()(base)).text()).rejects.toThrow(TypeError);
});

test('a body to send that fails ends the call', async () => {
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

test('early hints are not the answer, and headers may hold any bytes', async () => {
  const base = await serve((_request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' });
    response.socket?.write('HTTP/1.1 200 OK\r\nx-name: grüße ✓\r\ncontent-length: 2\r\n\r\nok');
  });
  const response = await open()(base);
  expect([response.status, await response.text()]).toEqual([200, 'ok']);
  expect(Buffer.from(response.headers.get('x-name') ?? '', 'latin1').toString()).toBe('grüße ✓');
});

test('a server that is not there gives the error of fetch, with the cause', async () => {
  const base = await serve(echoing);
  const [server] = servers.splice(0);
  server?.close();
  await expect(open()(base)).rejects.toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
});

test('a body nobody wants is let go when it is cancelled', async () => {
  const gone = Promise.withResolvers<void>();
  const base = await serve((_request, response) => {
    response.on('close', gone.resolve);
    response.writeHead(200).write('a');
  });
  await (await open()(base)).body?.cancel();
  await gone.promise;
});

test('answers without a body have none, and their connection is used again', async () => {
  const base = await serve((_request, response) => response.writeHead(204).end());
  const fetch = open();
  const response = await fetch(base, { method: 'DELETE' });
  expect([response.status, response.body]).toEqual([204, null]);
  const head = await fetch(base, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([204, '']);
});

test('only http and https, and no credentials in the address', async () => {
  const fetch = open();
  await expect(fetch('file:///etc/passwd')).rejects.toMatchObject({ code: 'SCHEME' });
  await expect(fetch('http://name:word@127.0.0.1')).rejects.toThrow('credentials');
});

test('a reader that is slow slows the sender down', async () => {
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

test('a reader that begins late gets every piece once, and no empty ones', async () => {
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

test('a small body that nobody reads yet does not keep its connection, and can still be read', async () => {
  const ports = new Set<number | undefined>();
  const url = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('read late');
  });
  const fetch = open({ maxConnections: 1 });
  const first = await fetch(url);
  const second = await fetch(url);
  await fetch(url);
  expect(ports.size).toBe(1);
  expect(await first.text()).toBe('read late');
  expect(await new Response(second.body).text()).toBe('read late');
});
