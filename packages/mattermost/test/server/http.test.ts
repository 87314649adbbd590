// The server over HTTP: authentication, sessions, health checks.
import { request } from 'node:http';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type MattermostConfig, type RunningServer, startHttp } from '@pocket-agent/mattermost';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callTool, configFor, type Era, eras, newClient } from '../connect.ts';
import type { FakeMattermost } from '../fake/fake-mattermost.ts';
import { fakeForTest, memoryLog } from '../resources.ts';

const CLIENT_TOKEN = 'a-client-token-of-its-own';
const base = { MCP_TRANSPORT: 'http', MCP_PORT: '0' };
const staticMode = {
  ...base,
  MATTERMOST_HTTP_TOKEN: CLIENT_TOKEN,
  MATTERMOST_HTTP_TOKENS: 'reader=readers-token-0001',
};
const clientMode = { ...base, MATTERMOST_AUTH_MODE: 'client_token' };

interface Started {
  fake: FakeMattermost;
  server: RunningServer;
  logLines: string[];
}

async function start(environment: Record<string, string>, config: Partial<MattermostConfig> = {}): Promise<Started> {
  const fake = await fakeForTest();
  const { log, logLines } = memoryLog();
  const server = await startHttp(configFor(fake, { environment, config }), { log });
  onTestFinished(() => server.close());
  return { fake, server, logLines };
}

async function connectTo({ server }: Started, era: Era, token: string) {
  const client = newClient(era);
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** Status of a raw request that MCP clients would not send. */
function statusOf(url: string, headers: Record<string, string> = {}, method = 'POST'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? '{}' : undefined);
  });
}

test('an unavailable port is a configuration error', async () => {
  const fake = await fakeForTest();
  const port = Number(new URL(fake.url).port);
  await expect(startHttp(configFor(fake, { environment: staticMode, config: { port } }))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`Cannot listen on 127.0.0.1 port ${port}`),
  });
});

describe.each(eras)('in %s', (era) => {
  test('with a static token, clients with an HTTP token act as the account of the server', async () => {
    const started = await start(staticMode);
    const client = await connectTo(started, era, CLIENT_TOKEN);
    expect((await callTool(client, { name: 'get_me' })).data.username).toBe('alice');
    expect((await client.listTools()).tools).toHaveLength(53);
  });

  test('a client token can have a narrower profile', async () => {
    const started = await start(staticMode);
    const client = await connectTo(started, era, 'readers-token-0001');
    const { tools } = await client.listTools();
    expect(new Set(tools.map(({ _meta }) => _meta?.capability))).toEqual(new Set(['read']));
    const post = { channel_id: started.fake.channel('off-topic').id, message: 'x' };
    const refused = await callTool(client, { name: 'post_message', args: post });
    expect(refused).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^Refused: post_message .* profile reader/),
    });
    expect(started.fake.requests).toEqual([]);
  });

  test('an unknown tool is an error', async () => {
    const client = await connectTo(await start(staticMode), era, CLIENT_TOKEN);
    for (const name of ['get_mee', 'Zoë'])
      await expect(callTool(client, { name })).rejects.toThrow(`Tool ${name} not found`);
    expect((await callTool(client, { name: 'get_me' })).data.username).toBe('alice');
  });

  test('a client token cannot exceed the profile of the server', async () => {
    const started = await start({
      ...staticMode,
      MATTERMOST_PROFILE: 'reader',
      MATTERMOST_HTTP_TOKENS: 'admin=admins-token-00001',
    });
    const client = await connectTo(started, era, 'admins-token-00001');
    const { tools } = await client.listTools();
    expect(new Set(tools.map(({ _meta }) => _meta?.capability))).toEqual(new Set(['read']));
  });

  test('with client tokens, each client acts as itself and is verified once a minute', async () => {
    const started = await start(clientMode);
    for (const name of ['alice', 'bob']) {
      const client = await connectTo(started, era, started.fake.token(name));
      for (let time = 0; time < 3; time++) {
        expect(
          (await callTool(client, { name: 'get_team', args: { team_id: started.fake.team('main').id } })).isError,
        ).toBe(false);
      }
      expect((await callTool(client, { name: 'get_me' })).data.username).toBe(name);
    }
    const verifications = started.fake.requests.filter(({ path }) => path.endsWith('/users/me'));
    expect(verifications.map(({ user }) => user)).toEqual(['alice', 'alice', 'bob', 'bob']);
  });

  test('a token unknown to Mattermost is rejected', async () => {
    const started = await start(clientMode);
    await expect(connectTo(started, era, 'unknown-token')).rejects.toThrow();
  });
});

test('a session cannot be used by another account', async () => {
  const started = await start(clientMode);
  const { server, fake } = started;
  const headers = (name: string, session?: string) => ({
    authorization: `Bearer ${fake.token(name)}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
    ...(session ? { 'mcp-session-id': session } : {}),
  });
  const send = (name: string, body: object, session?: string) =>
    fetch(server.url, {
      method: 'POST',
      headers: headers(name, session),
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const opened = await send('alice', { id: 1, method: 'initialize', params });
  const session = opened.headers.get('mcp-session-id') ?? '';
  await opened.text();
  await (await send('alice', { method: 'notifications/initialized' }, session)).text();
  const answer = await send('bob', { id: 2, method: 'tools/call', params: { name: 'get_me', arguments: {} } }, session);
  const text = await answer.text();
  expect(text).not.toContain('alice');
});

test.each([
  ['no token', {}],
  ['a wrong token', { authorization: 'Bearer wrong' }],
  ['another scheme', { authorization: `Basic ${CLIENT_TOKEN}` }],
])('%s is rejected with a challenge', async (_, headers) => {
  const { server, logLines } = await start(staticMode);
  const response = await fetch(server.url, { method: 'POST', headers, body: '{}' });
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
  const [line = '', ...more] = logLines;
  expect(JSON.parse(line)).toMatchObject({
    level: 'authorization' in headers ? 'warning' : 'info',
    message: 'login_refused',
    status: 401,
  });
  expect(more).toEqual([]);
  expect(line).not.toMatch(/wrong|a-client-token/);
});

test.each([
  ['is away', (fake: FakeMattermost) => fake.close()],
  [
    'answers with errors',
    async (fake: FakeMattermost) => void fake.fail({ path: /users\/me/, status: 500, times: 99 }),
  ],
  [
    'is replaced by a proxy',
    async (fake: FakeMattermost) => void fake.fail({ path: /users\/me/, status: 404, body: '' }),
  ],
  ['limits the rate', async (fake: FakeMattermost) => void fake.fail({ path: /users\/me/, status: 429, times: 99 })],
])('when Mattermost %s, the response is not 401', async (_, spoil) => {
  const { server, fake } = await start(clientMode);
  const headers = { authorization: `Bearer ${fake.token('alice')}` };
  await spoil(fake);
  const response = await fetch(server.url, { method: 'POST', headers, body: '{}' });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('5');
});

test('a foreign Host or Origin is rejected first', async () => {
  const { server } = await start(staticMode);
  const authorization = `Bearer ${CLIENT_TOKEN}`;
  expect(await statusOf(server.url, { authorization, host: 'evil.example' })).toBe(403);
  expect(await statusOf(server.url, { authorization, origin: 'https://evil.example' })).toBe(403);
});

test('/health reports the process, /ready the connection to Mattermost; neither needs a token', async () => {
  const { server, fake } = await start(staticMode);
  const ask = async (path: string) => {
    const response = await fetch(new URL(path, server.url));
    const { status } = (await response.json()) as { status: string };
    return [response.status, status];
  };
  expect(await ask('/health')).toEqual([200, 'healthy']);
  expect(await ask('/ready')).toEqual([200, 'ready']);
  expect(fake.requests.map(({ path, user }) => [path, user])).toEqual([
    ['/api/v4/system/ping', undefined],
    ['/api/v4/users/me', 'alice'],
  ]);
  await fake.close();
  await expect.poll(() => ask('/ready')).toEqual([503, 'mattermost unreachable']);
  expect(await ask('/health')).toEqual([200, 'healthy']);
  expect(await statusOf(String(new URL('/elsewhere', server.url)), {}, 'GET')).toBe(404);
});

test('60 concurrent calls over HTTP all succeed', async () => {
  const started = await start(staticMode);
  const client = await connectTo(started, '2026', CLIENT_TOKEN);
  const team_id = started.fake.team('main').id;
  const calls = Array.from({ length: 60 }, () => callTool(client, { name: 'get_team', args: { team_id } }));
  const answers = await Promise.all(calls);
  expect(answers.filter(({ isError }) => isError)).toEqual([]);
  expect(started.fake.maxInFlight).toBeLessThanOrEqual(20);
});

test('the log contains no token, and only plain request ids of clients', async () => {
  const started = await start(clientMode);
  const token = started.fake.token('alice');
  for (const id of ['trace-1', 'evil{"injected": 1}']) {
    const client = newClient('2026');
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': id };
    await client.connect(new StreamableHTTPClientTransport(new URL(started.server.url), { requestInit: { headers } }));
    await callTool(client, { name: 'get_post', args: { post_id: started.fake.post('plan').id } });
    await client.close();
  }
  const text = started.logLines.join('');
  expect(text).toContain('"request_id":"trace-1"');
  expect(text).not.toContain('injected');
  expect(text).not.toContain(token);
});
