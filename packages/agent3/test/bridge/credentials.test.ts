import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Credential } from '../../src/base/agents.ts';
import type { CallProgress } from '../../src/base/calls.ts';
import { me, setUp } from '../fixtures/bridge-setup.ts';
import {
  cardOf,
  type Json,
  messageOf,
  rpcServer,
  sendJson,
  serve,
  startStream,
  taskOf,
} from '../fixtures/local-server.ts';

const SECRET = 'planted/secret+123';

const key = (location: string, name = 'X-Key') => ({ k: { apiKeySecurityScheme: { location, name } } });
const http = (scheme: string) => ({ k: { httpAuthSecurityScheme: { scheme } } });
const requires = [{ schemes: { k: {} } }];

/** Echoes everything it was sent. */
async function startEcho(security: Json) {
  const seen: { headers: IncomingHttpHeaders; url: string }[] = [];
  const url = await rpcServer((_rpc, response, request) => {
    seen.push({ headers: request.headers, url: request.url ?? '' });
    if (request.headers['x-refuse']) response.writeHead(403).end();
    const all = { headers: request.headers, url: request.url };
    const parts = [
      { text: JSON.stringify(all) },
      { data: all },
      { raw: Buffer.from(JSON.stringify(all)).toString('base64') },
      { url: `https://example.com/?x=${encodeURIComponent(SECRET)}` },
    ];
    return { message: { messageId: 'm', role: 'ROLE_AGENT', parts } };
  });
  return { seen, url, card: cardOf(url, security) };
}

const basic = Buffer.from(`user:${SECRET}`).toString('base64');

test.each<[string, Json, Credential, (request: { headers: IncomingHttpHeaders; url: string }) => unknown, string]>([
  [
    'a bearer token',
    { securitySchemes: http('Bearer') },
    { type: 'bearer', token: SECRET },
    ({ headers }) => headers.authorization,
    `Bearer ${SECRET}`,
  ],
  [
    'a password',
    { securitySchemes: http('basic') },
    { type: 'basic', username: 'user', password: SECRET },
    ({ headers }) => headers.authorization,
    `Basic ${basic}`,
  ],
  [
    'a key in a header',
    { securitySchemes: key('header') },
    { type: 'apiKey', key: SECRET },
    ({ headers }) => headers['x-key'],
    SECRET,
  ],
  [
    'a key in the address',
    { securitySchemes: key('query') },
    { type: 'apiKey', key: SECRET },
    ({ url }) => new URL(url, 'http://a').searchParams.get('X-Key'),
    SECRET,
  ],
  [
    'a key in a cookie',
    { securitySchemes: key('cookie') },
    { type: 'apiKey', key: SECRET },
    ({ headers }) => headers.cookie,
    `X-Key=${SECRET}`,
  ],
  [
    'a key for a card of 0.3',
    { securitySchemes: { k: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    { type: 'apiKey', key: SECRET },
    ({ headers }) => headers['x-key'],
    SECRET,
  ],
  [
    'a token for a card the SDK garbled',
    { securitySchemes: { k: { scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'bearer' } } } } },
    { type: 'bearer', token: SECRET },
    ({ headers }) => headers.authorization,
    `Bearer ${SECRET}`,
  ],
])(
  '%s is sent where the card requires it, and is not returned',
  async (_case, security, credential, read, expected) => {
    const { card, seen } = await startEcho({ ...security, securityRequirements: requires });
    const { say, directory, logged } = setUp({ card, credentials: [credential] });
    const response = await say('hello');
    expect(response.success).toBe(true);
    expect(seen.map(read)).toEqual([expected]);
    expect(response.result?.text).toContain('[secret removed]');
    const everything = JSON.stringify([response, directory.records]) + logged();
    for (const form of [SECRET, basic, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64')])
      expect(everything).not.toContain(form);
    expect(response.result?.files?.[0]).toEqual({ mediaType: 'application/octet-stream' });
  },
);

test('the first satisfiable alternative is used, with all its schemes', async () => {
  const securitySchemes = {
    ...http('bearer'),
    key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } },
    cert: { mtlsSecurityScheme: {} },
  };
  const securityRequirements = [{ schemes: { cert: {} } }, { schemes: { k: {}, key: {} } }, { schemes: { k: {} } }];
  const { card, seen } = await startEcho({ securitySchemes, securityRequirements });
  const credentials: Credential[] = [
    { type: 'bearer', token: 'token-1' },
    { type: 'apiKey', key: 'key-1', scheme: 'key' },
  ];
  const { say } = setUp({ card, credentials });
  expect((await say('hello')).success).toBe(true);
  expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer token-1', 'x-key': 'key-1' });
});

test('without the required credentials an agent is not called', async () => {
  const { card, seen } = await startEcho({ securitySchemes: http('bearer'), securityRequirements: requires });
  const { say } = setUp({ card, credentials: [{ type: 'basic', username: 'u', password: SECRET }] });
  const response = await say('hello');
  expect(response).toMatchObject({ errorCode: 'AUTH_MISSING', error: expect.stringContaining('it requires k,') });
  expect(seen).toEqual([]);
});

test.each<[string, Credential, string]>([
  ['a bearer token', { type: 'bearer', token: SECRET }, `Bearer ${SECRET}`],
  ['a password', { type: 'basic', username: 'user', password: SECRET }, `Basic ${basic}`],
])('%s is sent for a card without schemes', async (_case, credential, header) => {
  const { card, seen } = await startEcho({});
  const { say } = setUp({ card, credentials: [credential] });
  const response = await say('hello');
  expect(response.success).toBe(true);
  expect(seen[0]?.headers.authorization).toBe(header);
  expect(JSON.stringify(response)).not.toContain(SECRET);
});

test.each<[string, Json, Credential[], string]>([
  [
    'none are registered',
    {},
    [],
    'none are registered. Register the agent with credentials: agent3 register URL --token -',
  ],
  [
    'the card has no place for a key',
    {},
    [{ type: 'apiKey', key: SECRET }],
    'not sent: its card does not say where an API key goes',
  ],
  [
    'they are for another host',
    {},
    [{ type: 'bearer', token: SECRET, host: 'other.example.com' }],
    'not sent: they are not registered for the host 127.0.0.1',
  ],
  [
    'they fit no scheme of the card',
    { securitySchemes: key('header') },
    [{ type: 'bearer', token: SECRET }],
    'not sent: they do not match any scheme in its card',
  ],
  [
    'an OAuth client has no token address',
    {},
    [{ type: 'oauth2', clientId: 'me', clientSecret: SECRET }],
    'register the OAuth client with a tokenUrl',
  ],
])('a 401 says what is missing: %s', async (_case, security, credentials, words) => {
  const url = await rpcServer((_rpc, response) => void response.writeHead(401).end());
  const { say } = setUp({ card: cardOf(url, security), credentials });
  expect(await say('hello')).toMatchObject({ errorCode: 'AUTH_MISSING', error: expect.stringContaining(words) });
});

test.each([
  ['the host they name', { host: 'other.example.com' }, undefined],
  ['the host of the card', {}, 'https://cards.example.com/agent-card.json'],
])('credentials go only to %s, whatever the card says', async (_case, more, cardUrl) => {
  const { card, seen } = await startEcho({ securitySchemes: http('bearer'), securityRequirements: requires });
  const { say } = setUp({ card, cardUrl, credentials: [{ type: 'bearer', token: SECRET, ...more }] });
  expect(await say('hello')).toMatchObject({
    errorCode: 'AUTH_MISSING',
    error: expect.stringContaining('Credentials for other hosts are not sent'),
  });
  expect(seen).toEqual([]);
});

test('credentials are not sent over plain http, except to allowed hosts', async () => {
  const card = cardOf('http://agent.example.com', { securitySchemes: http('bearer'), securityRequirements: requires });
  const { say } = setUp({ card, credentials: [{ type: 'bearer', token: SECRET }] });
  expect(await say('hello')).toMatchObject({ errorCode: 'ADDRESS_REFUSED' });
});

test('credentials with invalid header characters are reported without showing them', async () => {
  const { card } = await startEcho({ securitySchemes: http('bearer'), securityRequirements: requires });
  const { say, logged } = setUp({ card, credentials: [{ type: 'bearer', token: `${SECRET}\n` }] });
  const response = await say('hello');
  expect(response).toMatchObject({
    errorCode: 'AUTH_MISSING',
    error: expect.stringContaining('HTTP headers cannot hold'),
  });
  expect(JSON.stringify(response) + logged()).not.toContain(SECRET);
});

test('a card cannot name a reserved header for its API key', async () => {
  const { card, seen } = await startEcho({
    securitySchemes: key('header', 'Content-Length'),
    securityRequirements: requires,
  });
  const { say } = setUp({ card, credentials: [{ type: 'apiKey', key: SECRET }] });
  expect(await say('hello')).toMatchObject({ errorCode: 'PROTOCOL' });
  expect(seen).toEqual([]);
});

interface TokenServer {
  url: string;
  requests: { authorization?: string; body: string }[];
}

async function startTokens(answer: (count: number) => [number, unknown]): Promise<TokenServer> {
  const requests: TokenServer['requests'] = [];
  const url = await serve(async (request, response) => {
    requests.push({ authorization: request.headers.authorization, body: await text(request) });
    const [status, body] = answer(requests.length);
    sendJson(response, body, status);
  });
  return { url, requests };
}

function oauth(tokenUrl: string): Json {
  const flows = { clientCredentials: { tokenUrl, scopes: {} } };
  const securityRequirements = [{ schemes: { k: { list: ['pizza'] } } }];
  return { securitySchemes: { k: { oauth2SecurityScheme: { flows } } }, securityRequirements };
}

const client = { type: 'oauth2', clientId: 'me', clientSecret: SECRET } as const;

test('a token is fetched once for all calls, and again after it was refused', async () => {
  const tokens = await startTokens((count) => [200, { access_token: `token-${count}`, expires_in: 3600 }]);
  let refused = '';
  const url = await rpcServer((_rpc, response, request) => {
    if (request.headers.authorization !== refused) return messageOf(String(request.headers.authorization));
    response.writeHead(401).end();
    return undefined;
  });
  const { say } = setUp({
    card: cardOf(url, oauth('http://evil.example.com/')),
    credentials: [{ ...client, tokenUrl: tokens.url }],
  });
  const responses = await Promise.all(Array.from({ length: 20 }, () => say('hello')));
  expect(responses.every(({ success }) => success)).toBe(true);
  expect(tokens.requests).toEqual([
    {
      authorization: `Basic ${Buffer.from(`me:${encodeURIComponent(SECRET)}`).toString('base64')}`,
      body: 'grant_type=client_credentials&scope=pizza',
    },
  ]);
  refused = 'Bearer token-1';
  const renewed = await say('hello');
  expect(renewed).toMatchObject({
    success: true,
    result: { text: 'Bearer [secret removed]' },
    metadata: { retryCount: 0 },
  });
  expect(tokens.requests).toHaveLength(2);
});

test('a token is renewed before it expires', async () => {
  const tokens = await startTokens((count) => [
    200,
    { access_token: `token-${count}`, expires_in: count === 1 ? 0.05 : 3600 },
  ]);
  const url = await rpcServer(() => messageOf('hi'));
  const { say } = setUp({ card: cardOf(url, oauth('')), credentials: [{ ...client, tokenUrl: tokens.url }] });
  await say('hello');
  await expect.poll(async () => (await say('hello')).success && tokens.requests.length).toBe(2);
  await say('hello');
  expect(tokens.requests).toHaveLength(2);
});

test('the client secret is not sent to a token URL that only the card names', async () => {
  const tokens = await startTokens(() => [200, { access_token: 'token' }]);
  const url = await rpcServer(() => messageOf('hi'));
  const { say } = setUp({ card: cardOf(url, oauth(tokens.url)), credentials: [client] });
  expect(await say('hello')).toMatchObject({ errorCode: 'AUTH_MISSING', error: expect.stringContaining('tokenUrl') });
  expect(tokens.requests).toEqual([]);
});

test.each([
  ['a refusal', [400, { error: 'invalid_client', error_description: SECRET }], /invalid_client/],
  ['nonsense', [200, { hello: SECRET }], /no token in the answer/],
] as const)(
  '%s of the token server is reported without a secret, and the next call tries again',
  async (_case, answer, text) => {
    const tokens = await startTokens(() => [...answer]);
    const url = await rpcServer(() => messageOf('hi'));
    const { say, logged } = setUp({ card: cardOf(url, oauth('')), credentials: [{ ...client, tokenUrl: tokens.url }] });
    const response = await say('hello');
    expect(response).toMatchObject({ errorCode: 'AUTH_FAILED', error: expect.stringMatching(text) });
    await say('hello');
    expect(tokens.requests).toHaveLength(2);
    expect(JSON.stringify(response) + logged()).not.toContain(SECRET);
  },
);

test('refused credentials have their own error code', async () => {
  const url = await rpcServer((_rpc, response) => void response.writeHead(403).end(SECRET));
  const card = cardOf(url, { securitySchemes: http('bearer'), securityRequirements: requires });
  const { say } = setUp({ card, credentials: [{ type: 'bearer', token: SECRET }] });
  const response = await say('hello');
  expect(response).toMatchObject({ errorCode: 'AUTH_FAILED', metadata: { statusCode: 403, retryCount: 0 } });
  expect(JSON.stringify(response)).not.toContain(SECRET);
});

/** An agent with credentials that streams the texts as chunks of artifacts, then ends its task. */
async function startStreaming(pieces: readonly { artifactId?: string; texts: string[]; append?: boolean }[]) {
  const url = await rpcServer(({ id }, response) => {
    const send = startStream(response, id);
    send({ task: taskOf('t1', 'WORKING') });
    for (const { artifactId = 'a', texts, append = true } of pieces) {
      const artifact = { artifactId, parts: texts.map((text) => ({ text })) };
      send({ artifactUpdate: { taskId: 't1', artifact, append } });
    }
    send({ statusUpdate: { taskId: 't1', status: { state: 'TASK_STATE_COMPLETED' } } });
    response.end();
  });
  const security = { securitySchemes: http('bearer'), securityRequirements: requires };
  return { card: cardOf(url, { capabilities: { streaming: true }, ...security }), credentials: [bearer] };
}

const bearer = { type: 'bearer', token: SECRET } as const;

async function piecesOf(listing: Awaited<ReturnType<typeof startStreaming>>): Promise<CallProgress[]> {
  const progress: CallProgress[] = [];
  const { bridge } = setUp(listing);
  const onProgress = (update: CallProgress) => void progress.push(update);
  expect((await bridge.call({ agentId: 'echo', message: 'hello' }, me, { onProgress })).success).toBe(true);
  expect(progress.at(-1)).toMatchObject({ state: 'completed', message: '' });
  return progress.filter(({ continues }) => continues !== undefined);
}

test('a secret echoed in pieces is removed from progress', async () => {
  const pieces = await piecesOf(
    await startStreaming([
      { texts: ['You sent planted/se'], append: false },
      { texts: ['cret'] },
      { texts: ['+1', '23. Then I '] },
      { texts: ['planted a tree, and p'] },
    ]),
  );
  expect(pieces.map(({ message }) => message)).toEqual([
    'You sent ',
    '[secret removed]. Then I ',
    'planted a tree, and ',
    'p',
  ]);
  expect(pieces.map(({ continues }) => continues)).toEqual([false, true, true, true]);
});

test('a secret echoed in alternating pieces of two artifacts is removed from progress', async () => {
  const pieces = await piecesOf(
    await startStreaming([
      { texts: ['one planted/'], append: false },
      { artifactId: 'b', texts: ['two planted/sec'], append: false },
      { texts: [`${'x'.repeat(5_000)}${SECRET.slice(0, 5)}`], append: false },
      { artifactId: 'b', texts: ['ret+123'] },
      { texts: [`${SECRET.slice(5)}!`] },
    ]),
  );
  expect(pieces).toMatchObject([
    { message: 'one ', continues: false },
    { message: 'two ', continues: false },
    { message: 'x'.repeat(2_000), continues: false },
    { message: '[secret removed]', continues: false },
    { message: '[secret removed]!', continues: false },
  ]);
});

test('truncation leaves no part of a secret', async () => {
  const filename = `${'x'.repeat(195)}${SECRET}`;
  const url = await rpcServer(({ id, params }, response) => {
    const error = { code: -32_000, message: `${'x'.repeat(290)}${SECRET}` };
    if (params.message?.parts[0]?.text === 'break') return sendJson(response, { jsonrpc: '2.0', id, error });
    const parts = [{ raw: 'aGk=', filename }, { text: `${'\u200b'.repeat(135)}${SECRET}` }];
    return { message: { messageId: 'm', parts } };
  });
  const card = cardOf(url, { securitySchemes: http('bearer'), securityRequirements: requires });
  const { say } = setUp({ card, credentials: [bearer] }, { limits: { bytes: 40 } });
  const broken = await say('break');
  expect(broken).toMatchObject({ errorCode: 'AGENT_ERROR' });
  const { result } = await say('hello');
  expect(result).toMatchObject({ text: '', truncated: true, files: [{ name: expect.stringMatching(/^x+\[/) }] });
  expect(JSON.stringify([broken, result])).not.toContain('plan');
});
