import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { errorText } from '@pocket-agent/kit';
import { afterEach, expect, test } from 'vitest';
import { bearerTokens, type HttpServer, type McpHttpOptions, serveHttp } from '../src/mcp/mcp.ts';

let open: HttpServer | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

async function serve(options: McpHttpOptions = {}): Promise<string> {
  open = await serveHttp(() => {
    const server = new McpServer({ name: 'test', version: '1' });
    server.registerTool('hello', {}, async () => ({ content: [{ type: 'text', text: 'hello' }] }));
    return server;
  }, options);
  return open.url;
}

async function call(url: string, mode: 'auto' | 'legacy', token?: string): Promise<unknown> {
  const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode } });
  const authProvider = token ? { authProvider: { token: async () => token } } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), authProvider));
  try {
    const { content } = await client.callTool({ name: 'hello', arguments: {} });
    return [client.getProtocolEra(), content];
  } finally {
    await client.close();
  }
}

const hello = [{ type: 'text', text: 'hello' }];

test('answers clients of both eras on one address', async () => {
  const url = await serve();
  expect(await call(url, 'auto')).toEqual(['modern', hello]);
  expect(await call(url, 'legacy')).toEqual(['legacy', hello]);
});

test('idle connections are kept for longer than load balancers keep them', async () => {
  const { headers } = await fetch(await serve(), { method: 'POST', body: '{}' });
  expect(Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(60);
});

test('with tokens configured, a request needs one of them', async () => {
  const url = await serve({ authorize: bearerTokens([{ token: 'secret' }]) });
  expect(await call(url, 'auto', 'secret')).toEqual(['modern', hello]);
  expect((await fetch(url, { method: 'POST', body: '{}', headers: { authorization: 'Bearer secreT' } })).status).toBe(
    401,
  );
});

test('routes serve other paths, without a token but behind the host and origin checks', async () => {
  const url = await serve({
    authorize: bearerTokens([{ token: 'secret' }]),
    routes: ({ url: at }) => (new URL(at).pathname === '/health' ? new Response('alive') : undefined),
  });
  expect(await (await fetch(new URL('/health', url))).text()).toBe('alive');
  expect((await fetch(new URL('/other', url))).status).toBe(404);
  expect((await fetch(new URL('/health', url), { headers: { origin: 'https://evil.example' } })).status).toBe(403);
});

test('a page of an allowed origin may send a preflight request and read the response', async () => {
  const url = await serve({ allowedOrigins: ['app.example'] });
  const origin = 'https://app.example';
  const asked = await fetch(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'mcp-session-id' },
  });
  expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([204, 'mcp-session-id']);
  const answer = await fetch(url, { method: 'POST', body: 'no json', headers: { origin } });
  expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  expect(answer.headers.get('access-control-expose-headers')).toContain('mcp-session-id');
  const stranger = await fetch(url, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
  expect([stranger.status, stranger.headers.get('access-control-allow-origin')]).toEqual([403, null]);
});

test('a port in use is an error that names it', async () => {
  const { port } = new URL(await serve());
  const text = `Cannot listen on 127.0.0.1 port ${port}: the port is in use (EADDRINUSE). Choose another port; 0 takes one that is free.`;
  const served = serveHttp(() => new McpServer({ name: 'x', version: '1' }), { port: Number(port) });
  expect(errorText(await served.catch((error: unknown) => error))).toBe(text);
});

test.each(['80x', '8080', Number.NaN, 65_536, -1, 1.5])('an invalid port is refused: %s', async (port) => {
  const served = serveHttp(() => new McpServer({ name: 'x', version: '1' }), { port: port as number });
  const shown = typeof port === 'string' ? `"${port}", which is not a number` : port;
  await expect(served).rejects.toThrow(`port must be a whole number from 0 to 65535, got ${shown}.`);
});

async function refusalOf(response: Response): Promise<unknown> {
  const answer = (await response.json()) as { error?: { message?: unknown } };
  return [response.status, answer.error?.message];
}

test('the refusal of a host or an origin names the option that would allow it', async () => {
  const { port } = new URL(await serve({ host: '127.0.0.1', allowedHosts: ['agents.example'] }));
  expect(await refusalOf(await fetch(`http://127.0.0.1:${port}/mcp`))).toEqual([
    403,
    'Invalid Host: 127.0.0.1 (not in allowedHosts)',
  ]);
  await open?.close();
  expect(await refusalOf(await fetch(await serve(), { headers: { origin: 'https://evil.example' } }))).toEqual([
    403,
    'Invalid Origin: evil.example (not in allowedOrigins)',
  ]);
});

test('a request up to the size limit is accepted, and the refusal of a larger one names the option, in both eras', async () => {
  const size = 6_000_000;
  const url = await serve({ maxRequestBodySize: size });
  const post = (length: number, headers: object) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { filler: '' } } };
    message.params._meta.filler = 'x'.repeat(length - JSON.stringify(message).length);
    return fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify(message),
    });
  };
  for (const headers of [{}, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'ping' }]) {
    expect((await post(size, headers)).status).toBe(400); // read, and refused for what it lacks
    expect(await refusalOf(await post(size + 1, headers))).toEqual([
      413,
      `The request is larger than ${size} bytes, the maxRequestBodySize of this server`,
    ]);
  }
});

test('a body without a length is counted while it arrives', async () => {
  const url = await serve({ maxRequestBodySize: 1_000 });
  const body = new Blob(['x'.repeat(2_000)]).stream();
  const answer = await fetch(url, { method: 'POST', body, duplex: 'half' });
  expect(await refusalOf(answer)).toEqual([413, expect.stringContaining('must not exceed 1000 bytes')]);
});

test.each([
  ['values', `[${'{},'.repeat(100_000)}{}]`, 'The body is JSON that exceeds the limit of 100000 values'],
  ['levels', `${'['.repeat(1_001)}${']'.repeat(1_001)}`, 'that exceeds the limit of 1000 nested levels'],
  ['messages in a batch', undefined, 'that exceeds the limit of 100 parts'],
])('a request is refused for the number of its %s', async (_what, data, text) => {
  const url = await serve();
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const body = data
    ? `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"data":${data}}}`
    : `[${`${ping},`.repeat(101)}${ping}]`;
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect(await refusalOf(answer)).toEqual([413, expect.stringContaining(text)]);
});

test('an invalid size limit is refused before the server listens', async () => {
  await expect(serve({ maxRequestBodySize: 0 })).rejects.toThrow('maxRequestBodySize');
});

test('a body that is not JSON is refused', async () => {
  const url = await serve();
  const post = (type: string) => fetch(url, { method: 'POST', body: '{', headers: { 'content-type': type } });
  expect(await refusalOf(await post('application/json'))).toEqual([
    400,
    'Parse error: the request body is not valid JSON',
  ]);
  expect((await post('text/plain')).status).toBeGreaterThanOrEqual(400);
});

function send(url: string, message: object, headers: Record<string, string> = {}): Promise<Response> {
  const accept = 'application/json, text/event-stream';
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: JSON.stringify(message),
  });
}

const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};

/** The header that names the session that was begun. */
async function beginSession(url: string, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const begun = await send(url, initialize, headers);
  await begun.text();
  return { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
}

test('a session can be used only with the token that started it', async () => {
  const url = await serve({ authorize: bearerTokens([{ token: 'one' }, { token: 'two' }]) });
  const [one, two] = [{ authorization: 'Bearer one' }, { authorization: 'Bearer two' }];
  const session = await beginSession(url, one);
  expect((await send(url, ping, { ...session, ...two })).status).toBe(404);
  expect((await send(url, ping, { ...session, ...one })).status).toBe(200);
});

test('a client that starts many sessions ends its own, not those of other clients', async () => {
  const authorize = bearerTokens([{ token: 'one' }, { token: 'two' }]);
  const url = await serve({ authorize, maxSessions: 3 });
  const [one, two] = [{ authorization: 'Bearer one' }, { authorization: 'Bearer two' }];
  const quiet = await beginSession(url, one);
  const busy = [];
  for (let count = 0; count < 5; count++) busy.push(await beginSession(url, two));
  expect((await send(url, ping, { ...quiet, ...one })).status).toBe(200);
  const statuses = await Promise.all(
    busy.map(async (session) => (await send(url, ping, { ...session, ...two })).status),
  );
  expect(statuses).toEqual([404, 404, 404, 200, 200]);
  const another = await beginSession(url, one);
  expect((await send(url, ping, { ...another, ...one })).status).toBe(200);
  expect((await send(url, ping, { ...quiet, ...one })).status).toBe(200);
});

test('a client with all sessions in use loses sessions to clients with fewer, until both have the same number', async () => {
  const authorize = bearerTokens([{ token: 'one' }, { token: 'two' }]);
  const url = await serve({ authorize, maxSessions: 4 });
  const [one, two] = [{ authorization: 'Bearer one' }, { authorization: 'Bearer two' }];
  const use = async (headers: Record<string, string>) => {
    const { status } = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } });
    expect(status).toBe(200); // an event stream that stays open
  };
  for (let count = 0; count < 4; count++) await use({ ...one, ...(await beginSession(url, one)) });
  expect((await send(url, initialize, one)).status).toBe(503);
  for (let count = 0; count < 2; count++) await use({ ...two, ...(await beginSession(url, two)) });
  expect((await send(url, initialize, two)).status).toBe(503);
  expect((await send(url, initialize, one)).status).toBe(503);
});

test('a request that starts no session ends none, and no server object is made for it', async () => {
  let made = 0;
  const factory = () => {
    made++;
    return new McpServer({ name: 'test', version: '1' });
  };
  open = await serveHttp(factory, { maxSessions: 1 });
  const { url } = open;
  const session = await beginSession(url);
  const without = async (method: string, headers: Record<string, string> = {}) =>
    refusalOf(await fetch(url, { method, headers }));
  const notInitialized = [400, 'Bad Request: Server not initialized'];
  expect(await without('GET', { accept: 'text/event-stream' })).toEqual(notInitialized);
  expect(await without('GET')).toEqual([406, 'Not Acceptable: Client must accept text/event-stream']);
  expect(await without('DELETE')).toEqual(notInitialized);
  expect(await without('PUT')).toEqual([405, 'Method not allowed.']);
  expect(await refusalOf(await send(url, ping))).toEqual(notInitialized);
  expect(await refusalOf(await send(url, [initialize, ping]))).toEqual([
    400,
    'Invalid Request: Only one initialization request is allowed',
  ]);
  expect((await send(url, initialize, { 'content-type': 'text/plain' })).status).toBe(415);
  expect([(await send(url, ping, session)).status, made]).toEqual([200, 1]);
  const next = await beginSession(url);
  expect([(await send(url, ping, session)).status, (await send(url, ping, next)).status]).toEqual([404, 200]);
});
