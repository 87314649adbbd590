import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { stat } from 'node:fs';
import { type ClientRequest, createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';
import { selfSigned } from '../../mattermost/test/fake/self-signed.ts';
import { type FetchOptions, type HttpFetch, makeFetch } from '../src/fetch/fetch.ts';

const endings: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const end of endings.splice(0).reverse()) await end();
});

function open(options: FetchOptions = {}): HttpFetch {
  const fetch = makeFetch({ guard: 'none', ...options });
  endings.push(async () => fetch.close());
  return fetch;
}

const servers: Server[] = [];

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Tells by the ports of its callers how many connections they made. */
async function serve(listener: RequestListener): Promise<{ url: string; ports: Set<number | undefined> }> {
  const ports = new Set<number | undefined>();
  const server = createServer((request, response) => {
    ports.add(request.socket.remotePort);
    listener(request, response);
  });
  server.keepAliveTimeout = 60_000;
  return { url: `http://127.0.0.1:${await listening(server)}`, ports };
}

const sockets: Socket[] = [];

async function serveRaw(listener: (socket: Socket) => void): Promise<{ url: string }> {
  const server = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    listener(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Answers every request with the number of its connection. */
function serveNumbers(): Promise<{ url: string }> {
  return serveRaw((socket) => {
    const number = sockets.length;
    socket.on('data', () => socket.write(answer(String(number))));
  });
}

function answer(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Leaves connections idle until they count as possibly closed by their server, which takes 5 ms. */
const idle = () => sleep(10);

async function read(fetch: HttpFetch, url: string, init?: RequestInit): Promise<string> {
  return (await fetch(url, init)).text();
}

test('data that a server sends on an idle connection is not the answer to the next request', async () => {
  const { url } = await serveNumbers();
  const fetch = open();
  expect(await read(fetch, url)).toBe('1');
  const gone = sockets[0] && once(sockets[0], 'close');
  sockets[0]?.write(answer('poison'));
  await gone;
  expect(await read(fetch, url, { method: 'POST', body: 'x' })).toBe('2');
});

test('an idle connection is closed when its server sends data', async () => {
  const { url } = await serveNumbers();
  await read(open(), url);
  const since = performance.now();
  const gone = sockets[0] && once(sockets[0], 'close');
  sockets[0]?.write('more');
  await gone;
  expect(performance.now() - since).toBeLessThan(20_000); // unused, it would stay open for 30 s
});

/** Calls back right after an event of this kind, before other input is read. */
const moments: Record<string, (then: () => void) => void> = {
  'a timer': (then) => void setTimeout(then, 1),
  'a file': (then) => stat('.', then),
};
const whole = answer('poison');

/** The answer to a call made right after something happened to the idle connection of the previous call. */
async function answeredAfter(moment: string, happen: (socket: Socket) => void): Promise<string> {
  const { url } = await serveNumbers();
  const fetch = open();
  expect(await read(fetch, url)).toBe('1');
  await idle();
  return new Promise((resolve) =>
    moments[moment]?.(() => {
      if (sockets[0]) happen(sockets[0]);
      resolve(read(fetch, url, { method: 'POST', body: 'x' }));
    }),
  );
}

test.each(Object.keys(moments).flatMap((moment) => [whole, whole.slice(0, 20)].map((said) => [moment, said] as const)))(
  'data that arrives just before a request, after %s, is not its answer: %j',
  async (moment, said) => {
    // lies unread while the call takes the connection
    expect(await answeredAfter(moment, (socket) => socket.write(said))).toBe('2');
  },
);

test.each(Object.keys(moments))(
  'a connection that its server closes just before a request, after %s, is not used',
  async (moment) => {
    expect(await answeredAfter(moment, (socket) => socket.destroy())).toBe('2');
  },
);

test('a request that emits close twice does not free its connection twice', async () => {
  const { url, ports } = await serve((_request, response) => response.end('ok'));
  const fetch = open();
  const requests: ClientRequest[] = [];
  const note = (message: unknown) => void requests.push((message as { request: ClientRequest }).request);
  subscribe('http.client.request.start', note);
  await read(fetch, url);
  unsubscribe('http.client.request.start', note);
  requests[0]?.emit('close');
  expect(await Promise.all([read(fetch, url), read(fetch, url)])).toEqual(['ok', 'ok']);
  expect(ports.size).toBe(2);
});

test.each([
  ['413 No', 'refuse'],
  ['307 There\r\nlocation: /there', 'refuse'],
  ['303 There\r\nlocation: /there', 'follow'],
] as const)('a request that is answered with %j before it is sent whole (%s) is aborted', async (status, redirects) => {
  const gone = Promise.withResolvers<void>();
  const { url } = await serveRaw((socket) => {
    const [head = '', body = ''] = sockets.length === 1 ? [status, 'in between'] : ['200 OK', 'there'];
    socket.once('close', gone.resolve);
    socket.once('data', () => {
      socket.pause();
      socket.write(answer(body).replace('200 OK', head));
    });
  });
  const ended = Promise.withResolvers<void>();
  const body = Readable.from(endless(ended.resolve)) as unknown as ReadableStream;
  const call = open({ redirects })(url, { method: 'POST', body });
  if (status.startsWith('307')) await expect(call).rejects.toMatchObject({ code: 'REDIRECT' });
  else expect(await (await call).text()).toBe(redirects === 'follow' ? 'there' : 'in between');
  await ended.promise;
  sockets[0]?.resume(); // hears of the end only when it reads
  await gone.promise;
});

test('a request body that fails before it is sent fails the call', async () => {
  const { url } = await serveNumbers();
  const fetch = open();
  await read(fetch, url);
  await idle();
  const body = new ReadableStream({ start: (controller) => controller.error(new Error('no more')) });
  const init: RequestInit = { method: 'POST', body };
  await expect(fetch(url, init)).rejects.toMatchObject({ message: 'fetch failed', cause: { message: 'no more' } });
});

function* endless(onEnd: () => void): Generator<Buffer> {
  try {
    for (;;) yield Buffer.alloc(65_536);
  } finally {
    onEnd();
  }
}

test.each([
  ['timeout=2', 3],
  ['timeout=60', 1],
  ['max=5', 1],
])('with keep-alive "%s" three calls open %i connections', async (hint, count) => {
  const { url, ports } = await serve((_request, response) => response.setHeader('Keep-Alive', hint).end('ok'));
  const fetch = open();
  for (let calls = 0; calls < 3; calls++) await read(fetch, url);
  expect(ports.size).toBe(count);
});

test('an idle connection is closed before its server does so, and one in use is not', async () => {
  let waitMs = 0;
  let hint = 'timeout=60';
  const { url, ports } = await serve((_request, response) => {
    response.setHeader('keep-alive', hint);
    setTimeout(() => response.end('ok'), waitMs);
  });
  const gone = Promise.withResolvers<void>();
  servers.at(-1)?.once('connection', (socket) => socket.once('close', gone.resolve));
  const fetch = open();
  await read(fetch, url);
  hint = 'timeout=3';
  await read(fetch, url);
  waitMs = 1_200;
  await read(fetch, url);
  waitMs = 0;
  const since = performance.now();
  await read(fetch, url);
  expect(ports.size).toBe(1);
  await gone.promise; // after one second: two seconds before the time that the server announced
  expect(performance.now() - since).toBeLessThan(3_000);
});

test('a request with connection: close gets a new connection', async () => {
  const { url, ports } = await serve((request, response) => response.end(request.headers.connection));
  const fetch = open();
  for (let calls = 0; calls < 2; calls++)
    expect(await read(fetch, url, { headers: { connection: 'close' } })).toBe('close');
  expect(ports.size).toBe(2);
});

test('the connection of a request with connection: close is not reused, even if the server would keep it', async () => {
  const { url } = await serveNumbers();
  const fetch = open();
  const headers = { connection: 'close' };
  const numbers = [await read(fetch, url, { headers }), await read(fetch, url, { headers })];
  expect(new Set(numbers).size).toBe(2);
});

test('parallel calls have connections of their own, which are reused', async () => {
  const waiting: ServerResponse[] = [];
  const { url, ports } = await serve((_request, response) => {
    if (waiting.push(response) === 3) for (const each of waiting.splice(0)) each.end('ok');
  });
  const fetch = open();
  for (let rounds = 0; rounds < 3; rounds++) await Promise.all([1, 2, 3].map(() => read(fetch, url)));
  expect(ports.size).toBe(3);
});

test('the length of a request is sent with every method and body', async () => {
  const { url } = await serve(async (request, response) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    response.end(JSON.stringify([length ?? coding ?? null, await text(request)]));
  });
  const fetch = open();
  const sent = async (method: string, body?: RequestInit['body']) =>
    JSON.parse(await read(fetch, url, { method, ...(body === undefined ? {} : { body }) }));
  const stream = () => Readable.from(['in ', 'parts']) as unknown as ReadableStream;
  expect(await sent('GET')).toEqual([null, '']);
  expect(await sent('DELETE')).toEqual([null, '']);
  for (const method of ['POST', 'PUT', 'PATCH']) expect(await sent(method)).toEqual(['0', '']);
  for (const method of ['POST', 'DELETE']) {
    expect(await sent(method, 'text')).toEqual(['4', 'text']);
    expect(await sent(method, stream())).toEqual(['chunked', 'in parts']);
  }
});

test('an idle connection does not keep the process alive', async () => {
  const { url } = await serve((_request, response) => response.setHeader('keep-alive', 'timeout=60').end('ok'));
  const program = `
    import { makeFetch } from ${JSON.stringify(new URL('../src/fetch/fetch.ts', import.meta.url))};
    console.log(await (await makeFetch({ guard: 'none' })(${JSON.stringify(url)})).text());`;
  const args = ['-C', 'pocket-agent/source', '--input-type=module', '--eval', program];
  const child = spawn(process.execPath, args, { timeout: 20_000 * Number(process.env.TEST_PATIENCE) });
  expect(await text(child.stdout)).toBe('ok\n');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('over TLS certificates are checked, connections kept and sessions resumed', async () => {
  const { key, cert } = selfSigned();
  const resumed: boolean[] = [];
  const ports = new Set<number | undefined>();
  const server = createSecureServer({ key, cert }, ({ socket }, response) => {
    ports.add(socket.remotePort);
    if (socket instanceof TLSSocket) resumed.push(socket.isSessionReused());
    response.end('ok');
  });
  const port = await listening(server);
  const url = `https://localhost:${port}`;
  await expect(read(open(), url)).rejects.toMatchObject({ cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  expect(await read(open({ tls: { rejectUnauthorized: false } }), url)).toBe('ok');
  const fetch = open({ tls: { ca: cert } });
  for (const address of [url, url, `https://127.0.0.1:${port}`]) expect(await read(fetch, address)).toBe('ok');
  expect(ports.size).toBe(3);
  resumed.length = 0;
  server.closeAllConnections();
  await idle();
  expect(await read(fetch, url)).toBe('ok');
  expect(resumed).toEqual([true]);
});

test('over TLS an idle connection is reused, however fast the answer arrives', async () => {
  const { key, cert } = selfSigned();
  const server = new Worker(SECURE_SERVER, { eval: true, workerData: { key, cert } });
  endings.push(() => server.terminate());
  const [port] = await once(server, 'message');
  const fetch = open({ tls: { ca: cert } });
  const ports = new Set<string>();
  for (let calls = 0; calls < 12; calls++) {
    await idle();
    ports.add(await read(fetch, `https://localhost:${port}`, { method: 'POST', body: 'x' }));
    const until = performance.now() + 4;
    while (performance.now() < until); // the next timer finds the answer of a quick server
  }
  expect(ports.size).toBe(1);
});

/** Answers with the port of its caller, from another thread. */
const SECURE_SERVER = `
  const { createServer } = require('node:https');
  const { parentPort, workerData } = require('node:worker_threads');
  const server = createServer(workerData, (request, response) => response.end(String(request.socket.remotePort)));
  server.keepAliveTimeout = 60_000;
  server.listen(0, 'localhost', () => parentPort.postMessage(server.address().port));`;
