import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { afterEach, expect, test } from 'vitest';
import { bearerTokens, type HttpServer, type McpHttpOptions, serveHttp } from '../src/mcp.ts';

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

test('only those with a token get in, when there are tokens', async () => {
  const url = await serve({ authorize: bearerTokens([{ token: 'secret' }]) });
  expect(await call(url, 'auto', 'secret')).toEqual(['modern', hello]);
  expect((await fetch(url, { method: 'POST', body: '{}', headers: { authorization: 'Bearer secreT' } })).status).toBe(
    401,
  );
});

test('other paths are for whoever serves them, without a token but behind the guard', async () => {
  const url = await serve({
    authorize: bearerTokens([{ token: 'secret' }]),
    routes: ({ url: at }) => (new URL(at).pathname === '/health' ? new Response('alive') : undefined),
  });
  expect(await (await fetch(new URL('/health', url))).text()).toBe('alive');
  expect((await fetch(new URL('/other', url))).status).toBe(404);
  expect((await fetch(new URL('/health', url), { headers: { origin: 'https://evil.example' } })).status).toBe(403);
});

test('a page of an allowed origin may ask before it sends, and read what it gets', async () => {
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

test('a port that is taken is an error that names it', async () => {
  const { port } = new URL(await serve());
  await expect(serveHttp(() => new McpServer({ name: 'x', version: '1' }), { port: Number(port) })).rejects.toThrow(
    `Cannot listen on 127.0.0.1 port ${port}`,
  );
});
