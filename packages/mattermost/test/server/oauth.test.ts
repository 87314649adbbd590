// The auth mode oauth_proxy: the official client logs in at Mattermost through our OAuth server; attacks fail.
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { type RunningServer, readConfig, startHttp } from '@pocket-agent/mattermost';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callTool, type Era, eras, newClient } from '../connect.ts';
import type { FakeMattermost, FakeOptions } from '../fake/fake-mattermost.ts';
import { fakeForTest, memoryLog } from '../resources.ts';
import { until } from '../until.ts';

const CALLBACK = 'http://localhost:7777/callback';

interface World {
  fake: FakeMattermost;
  server: RunningServer;
  /** The public URL, which is the issuer. */
  origin: string;
  logLines: string[];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function world(environment: Record<string, string> = {}, fakeOptions: FakeOptions = {}): Promise<World> {
  const fake = await fakeForTest(fakeOptions);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const { clientId, clientSecret } = fake.oauthApp;
  fake.oauthApp.redirectUris = [`${origin}/oauth/callback/mm`];
  const config = readConfig({
    MATTERMOST_URL: fake.url,
    MATTERMOST_AUTH_MODE: 'oauth_proxy',
    MATTERMOST_OAUTH_CLIENT_ID: clientId,
    ...(clientSecret ? { MATTERMOST_OAUTH_CLIENT_SECRET: clientSecret } : { MATTERMOST_OAUTH_CLIENT_TYPE: 'public' }),
    MATTERMOST_OAUTH_MCP_PUBLIC_URL: origin,
    MCP_TRANSPORT: 'http',
    MCP_PORT: String(port),
    ...environment,
  });
  const { log, logLines } = memoryLog();
  const server = await startHttp({ ...config, backoffMs: 2 }, { log });
  onTestFinished(() => server.close());
  return { fake, server, origin, logLines };
}

/** A browser that keeps cookies, follows redirects and stops at the callback of the program. */
class Browser {
  readonly cookies = new Map<string, string>();

  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie ? { cookie } : {}), ...Object.fromEntries(new Headers(init.headers)) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split('=') ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }

  /** Follows redirects until a page or the callback. */
  async follow(start: string, init?: RequestInit): Promise<{ page?: string; status: number; back?: URL }> {
    let response = await this.open(start, init);
    for (;;) {
      const location = response.headers.get('location');
      if (location === null) return { page: await response.text(), status: response.status };
      if (location.startsWith(CALLBACK)) return { back: new URL(location), status: response.status };
      response = await this.open(location);
    }
  }

  /** Submits the consent page. */
  answer(origin: string, page: string, choice = 'allow', headers: Record<string, string> = { origin }) {
    const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
    return this.follow(`${origin}/oauth/consent`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ request, choice }).toString(),
    });
  }
}

/** The OAuth provider of an MCP client, with the user in front of it. */
class Person implements OAuthClientProvider {
  readonly browser = new Browser();
  readonly origin: string;
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { client_name: 'Test <b>client</b>', redirect_uris: [CALLBACK] };
  logins = 0;
  lastState = '';
  callback: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  constructor(origin: string) {
    this.origin = origin;
  }

  state() {
    this.lastState = randomBytes(8).toString('hex');
    return this.lastState;
  }

  clientInformation() {
    return this.#client;
  }

  saveClientInformation(client: OAuthClientInformationMixed) {
    this.#client = client;
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(tokens: OAuthTokens) {
    this.#tokens = tokens;
  }

  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }

  codeVerifier() {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovery = state;
  }

  discoveryState() {
    return this.#discovery;
  }

  async redirectToAuthorization(url: URL) {
    this.logins++;
    let step = await this.browser.follow(url.href);
    if (step.page?.includes('name="request"')) step = await this.browser.answer(this.origin, step.page);
    this.callback = step.back;
  }
}

async function logIn({ server, origin }: World, era: Era = '2026'): Promise<{ person: Person; client: Client }> {
  const person = new Person(origin);
  const url = new URL(server.url);
  const first = new StreamableHTTPClientTransport(url, { authProvider: person });
  const client = newClient(era);
  onTestFinished(() => client.close());
  await expect(client.connect(first)).rejects.toBeInstanceOf(UnauthorizedError);
  expect(person.callback?.searchParams.get('state')).toBe(person.lastState);
  await first.finishAuth(person.callback?.searchParams ?? new URLSearchParams());
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: person }));
  return { person, client };
}

interface Body {
  client_id: string;
  access_token: string;
  refresh_token: string;
  error?: string;
}

async function answerOf(response: Response): Promise<{ status: number; body: Body }> {
  return { status: response.status, body: (await response.json()) as Body };
}

async function register(origin: string, metadata: object = { redirect_uris: [CALLBACK] }) {
  const response = await fetch(`${origin}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  });
  return answerOf(response);
}

const pkce = () => {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
};

function authorizeUrl(origin: string, parameters: Record<string, string>): string {
  const usual = { response_type: 'code', redirect_uri: CALLBACK, code_challenge_method: 'S256', state: 'abc' };
  return `${origin}/authorize?${new URLSearchParams({ ...usual, ...parameters })}`;
}

async function token(origin: string, fields: Record<string, string>) {
  const response = await fetch(`${origin}/token`, { method: 'POST', body: new URLSearchParams(fields) });
  return answerOf(response);
}

/** An authorization code with everything needed to redeem it. */
async function obtainCode({ origin }: World, registered?: string) {
  const clientId = registered ?? (await register(origin)).body.client_id;
  const { verifier, challenge } = pkce();
  const browser = new Browser();
  const { page = '' } = await browser.follow(authorizeUrl(origin, { client_id: clientId, code_challenge: challenge }));
  const { back } = await browser.answer(origin, page);
  const code = back?.searchParams.get('code') ?? '';
  return {
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_verifier: verifier,
  };
}

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

function call(server: RunningServer, bearer?: string, { session = '', message = listTools } = {}) {
  return fetch(server.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(session === '' ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
    },
    body: JSON.stringify(message),
  });
}

describe.each(eras)('a client of the %s protocol', (era) => {
  test('discovers the login and acts as the user who logged in', async () => {
    const place = await world();
    const { person, client } = await logIn(place, era);
    const me = await callTool(client, { name: 'get_me' });
    expect(me.data).toMatchObject({ username: 'alice' });
    expect(person.logins).toBe(1);
    const login = place.fake.requests.find(({ path }) => path === '/oauth/authorize');
    expect(login?.query).not.toHaveProperty('resource');
    expect(login?.query).toMatchObject({ code_challenge_method: 'S256' });
  });

  test('is notified of the channels of the user who logged in', async () => {
    const place = await world();
    const { fake } = place;
    const { client } = await logIn(place, era);
    const updates: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params.uri));
    const uri = `mattermost://channel/${fake.channel('private-room').id}`;
    if (era === '2026') await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
    await until(() => fake.socketCount).toBe(1);
    fake.say('bob', 'private-room', 'for the two of us');
    await until(() => updates).toContain(uri);
  });

  test('refreshes its tokens without the user', async () => {
    const place = await world({}, { oauthApp: { expiresIn: 1 } });
    const { person, client } = await logIn(place, era);
    const before = person.tokens()?.access_token;
    await until(() => call(place.server, before).then(({ status }) => status)).toBe(401);
    place.fake.oauthApp.expiresIn = 3600;
    expect((await callTool(client, { name: 'get_me' })).data).toMatchObject({ username: 'alice' });
    expect(person.tokens()?.access_token).not.toBe(before);
    expect(person.logins).toBe(1);
  });
});

test('a public Mattermost application needs no secret and issues no refresh token', async () => {
  const place = await world(
    { MATTERMOST_OAUTH_JWT_SIGNING_KEY: 'a long enough key'.replaceAll(' ', '-').padEnd(40, 'x') },
    { oauthApp: { clientSecret: '' } },
  );
  const { person, client } = await logIn(place);
  expect((await callTool(client, { name: 'get_me' })).data).toMatchObject({ username: 'alice' });
  expect(person.tokens()).not.toHaveProperty('refresh_token');
});

test('a request without a token gets a challenge with the metadata URL', async () => {
  const { server, origin } = await world();
  const refused = await call(server);
  expect(refused.status).toBe(401);
  const url = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? '';
  expect(url).toBe(`${origin}/.well-known/oauth-protected-resource/mcp`);
  const resource = await (await fetch(url)).json();
  expect(resource).toMatchObject({ resource: `${origin}/mcp`, authorization_servers: [origin] });
  const issuer = await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json();
  expect(issuer).toMatchObject({ issuer: origin, code_challenge_methods_supported: ['S256'] });
});

test('Mattermost tokens and secrets are never exposed', async () => {
  const place = await world();
  const { person, client } = await logIn(place);
  await callTool(client, { name: 'get_me' });
  const { fake, logLines } = place;
  const shown = JSON.stringify([person.tokens(), person.clientInformation(), person.callback, logLines]);
  const secrets = [...fake.world.tokens.keys(), fake.oauthApp.clientSecret];
  for (const secret of secrets) {
    expect(shown).not.toContain(secret);
    expect(Buffer.from(person.tokens()?.access_token ?? '', 'base64url').toString('latin1')).not.toContain(secret);
  }
  expect(JSON.stringify(logLines)).not.toContain(person.tokens()?.access_token);
});

test('a user can deny access here and at Mattermost', async () => {
  const { fake, origin } = await world();
  const { body: client } = await register(origin);
  const url = authorizeUrl(origin, { client_id: client.client_id, code_challenge: pkce().challenge });
  const browser = new Browser();
  const { page = '' } = await browser.follow(url);
  const here = await browser.answer(origin, page, 'deny');
  expect(Object.fromEntries(here.back?.searchParams ?? [])).toMatchObject({ error: 'access_denied', state: 'abc' });
  fake.oauthApp.denies = true;
  const other = new Browser();
  const there = await other.answer(origin, (await other.follow(url)).page ?? '');
  expect(there.back?.searchParams.get('error')).toBe('access_denied');
});

test('the consent page names the client, escaped, and loads no external resources', async () => {
  const { origin } = await world();
  const { body: client } = await register(origin, {
    redirect_uris: [CALLBACK],
    client_name: '<script>alert(1)</script>',
  });
  const response = await new Browser().open(
    authorizeUrl(origin, { client_id: client.client_id, code_challenge: pkce().challenge }),
  );
  const page = await response.text();
  expect(page).toContain('&#60;script&#62;');
  expect(page).not.toMatch(/<script|src=|url\(/i);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(response.headers.get('x-frame-options')).toBe('DENY');
});

test('without the consent page the login goes straight to Mattermost', async () => {
  const { origin } = await world({ MATTERMOST_OAUTH_REQUIRE_CONSENT: 'false' });
  const { body: client } = await register(origin);
  const url = authorizeUrl(origin, { client_id: client.client_id, code_challenge: pkce().challenge });
  const { back } = await new Browser().follow(url);
  expect(back?.searchParams.get('code')).toMatch(/^.{43}$/);
  expect(back?.searchParams.get('iss')).toBe(origin);
});

test('a revoked login ends here and at Mattermost', async () => {
  const place = await world();
  const { origin, server } = place;
  const fields = await obtainCode(place);
  const { body: tokens } = await token(origin, fields);
  expect((await call(server, tokens.access_token)).status).not.toBe(401);
  const body = new URLSearchParams({ token: tokens.refresh_token, client_id: fields.client_id });
  expect((await fetch(`${origin}/revoke`, { method: 'POST', body })).status).toBe(200);
  expect((await call(server, tokens.access_token)).status).toBe(401);
  expect(place.fake.requests.at(-1)).toMatchObject({ path: '/api/v4/users/logout', user: 'alice' });
  const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: fields.client_id };
  expect(await token(origin, renewal)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test('an outage of Mattermost is a 503, a rejected token a 401', async () => {
  const place = await world();
  const { fake, origin, server } = place;
  const first = await obtainCode(place);
  const { body: tokens } = await token(origin, first);
  const outage = fake.fail({ path: /users\/me/, status: 500, times: 100 });
  expect((await call(server, tokens.access_token)).status).toBe(503);
  outage.cancel();
  const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: first.client_id };
  const atLogin = fake.fail({ path: /oauth\/access_token/, reset: 'before', times: 100 });
  expect((await token(origin, renewal)).status).toBe(503);
  atLogin.cancel();
  const { body: renewed } = await token(origin, renewal);
  const [, last = ''] = [...fake.world.tokens.keys()].slice(-2);
  fake.revoke(last);
  expect((await call(server, renewed.access_token)).status).toBe(401);
});

test('concurrent refreshes get the same response, because Mattermost accepts a refresh token once', async () => {
  const place = await world();
  const fields = await obtainCode(place);
  const { body: tokens } = await token(place.origin, fields);
  const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: fields.client_id };
  const [one, other] = await Promise.all([token(place.origin, renewal), token(place.origin, renewal)]);
  expect(one.status).toBe(200);
  expect(other.body).toEqual(one.body);
});

test('a session belongs to its user: other users of the same program cannot use it, a refreshed token can', async () => {
  const place = await world();
  const { origin, server, fake } = place;
  const first = await obtainCode(place);
  const client_id = first.client_id;
  const { body: alice } = await token(origin, first);
  fake.oauthApp.user = 'bob';
  const { body: bob } = await token(origin, await obtainCode(place, client_id));
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const message = { ...listTools, method: 'initialize', params };
  const opened = await call(server, alice.access_token, { message });
  const session = opened.headers.get('mcp-session-id') ?? '';
  await opened.text();
  const renewal = { grant_type: 'refresh_token', refresh_token: alice.refresh_token, client_id };
  const { body: renewed } = await token(origin, renewal);
  expect((await call(server, bob.access_token, { session })).status).toBe(404);
  expect((await call(server, renewed.access_token, { session })).status).toBe(200);
});

test('a restarted server still accepts clients and logins', async () => {
  const place = await world();
  const fields = await obtainCode(place);
  const { body: tokens } = await token(place.origin, fields);
  const config = readConfig({
    MATTERMOST_URL: place.fake.url,
    MATTERMOST_AUTH_MODE: 'oauth_proxy',
    MATTERMOST_OAUTH_CLIENT_ID: place.fake.oauthApp.clientId,
    MATTERMOST_OAUTH_CLIENT_SECRET: place.fake.oauthApp.clientSecret,
    MATTERMOST_OAUTH_MCP_PUBLIC_URL: place.origin,
    MATTERMOST_LOG_LEVEL: 'silent',
    MCP_TRANSPORT: 'http',
    MCP_PORT: '0',
  });
  const again = await startHttp(config);
  onTestFinished(() => again.close());
  expect((await call(again, tokens.access_token)).status).not.toBe(401);
  const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: fields.client_id };
  expect((await token(new URL(again.url).origin, renewal)).status).toBe(200);
});

describe('attacks', () => {
  test.each([
    'https://evil.example/callback',
    'http://localhost:80@evil.example/',
    'http://localhost.evil.example:7777/callback',
    'http://localhost:7777/callback#fragment',
    'javascript:alert(1)//localhost:7777',
    'http://evil.example/?http://localhost:7777',
    'HTTP://LOCALHOST:7777\\@evil.example/callback',
    'not an address',
  ])('no client can register %s', async (uri) => {
    const { origin } = await world();
    expect(await register(origin, { redirect_uris: [uri] })).toMatchObject({
      status: 400,
      body: { error: 'invalid_redirect_uri' },
    });
  });

  test('patterns allow exactly what they name', async () => {
    const allowed = ['https://*.example.com/oauth/*/done', 'cursor://anysphere.cursor-mcp/oauth/*', 'https://one.test'];
    const { origin } = await world({ MATTERMOST_OAUTH_ALLOWED_REDIRECT_URIS: JSON.stringify(allowed) });
    const status = async (uri: string) => (await register(origin, { redirect_uris: [uri] })).status;
    expect(await status('https://app.example.com/oauth/x/done')).toBe(201);
    expect(await status('cursor://anysphere.cursor-mcp/oauth/callback')).toBe(201);
    expect(await status('https://one.test/anything?x=1')).toBe(201);
    expect(await status('https://example.com.evil.test/oauth/x/done')).toBe(400);
    expect(await status('https://evilexample.com/oauth/x/done')).toBe(400);
    expect(await status('https://app.example.com/oauth/../x/done')).toBe(400);
    expect(await status('https://one.test:8443/')).toBe(400);
    expect(await status('http://one.test/')).toBe(400);
  });

  test('overly broad redirect patterns are rejected at startup', async () => {
    for (const pattern of ['*', 'https://*', 'https://*.com', 'javascript://localhost']) {
      await expect(world({ MATTERMOST_OAUTH_ALLOWED_REDIRECT_URIS: JSON.stringify([pattern]) })).rejects.toThrow(
        'ALLOWED_REDIRECT_URIS',
      );
    }
  });

  test('a wrong redirect_uri or client is reported on a page, never by a redirect', async () => {
    const { origin } = await world();
    const { body: client } = await register(origin);
    const { challenge } = pkce();
    const bad: Record<string, string>[] = [
      { client_id: client.client_id, redirect_uri: 'http://localhost:7777/other', code_challenge: challenge },
      { client_id: client.client_id, redirect_uri: 'https://evil.example/', code_challenge: challenge },
      { client_id: 'forged', code_challenge: challenge },
    ];
    for (const parameters of bad) {
      const response = await new Browser().open(authorizeUrl(origin, parameters));
      expect(response.status).toBe(400);
      expect(response.headers.get('location')).toBeNull();
    }
    const twice = `${authorizeUrl(origin, { client_id: client.client_id })}&redirect_uri=https://evil.example/`;
    expect((await new Browser().open(twice)).status).toBe(400);
  });

  test('loopback redirects may use another port', async () => {
    const { origin } = await world();
    const { body: client } = await register(origin);
    const redirect_uri = 'http://localhost:9999/callback';
    const url = authorizeUrl(origin, { client_id: client.client_id, redirect_uri, code_challenge: pkce().challenge });
    expect((await new Browser().open(url)).status).toBe(200);
  });

  test('PKCE with S256 is required', async () => {
    const { origin } = await world();
    const { body: client } = await register(origin);
    const error = async (parameters: Record<string, string>) => {
      const { back } = await new Browser().follow(authorizeUrl(origin, { client_id: client.client_id, ...parameters }));
      return back?.searchParams.get('error');
    };
    expect(await error({})).toBe('invalid_request');
    expect(await error({ code_challenge: pkce().challenge, code_challenge_method: 'plain' })).toBe('invalid_request');
    expect(await error({ code_challenge: pkce().challenge, resource: 'https://elsewhere.example' })).toBe(
      'invalid_target',
    );
  });

  test('a code works once, with its client, redirect_uri and verifier', async () => {
    const place = await world();
    const { origin } = place;
    const invalid = { status: 400, body: { error: 'invalid_grant' } };
    const { body: other } = await register(origin);
    expect(await token(origin, { ...(await obtainCode(place)), client_id: other.client_id })).toMatchObject(invalid);
    expect(await token(origin, { ...(await obtainCode(place)), code_verifier: pkce().verifier })).toMatchObject(
      invalid,
    );
    expect(
      await token(origin, { ...(await obtainCode(place)), redirect_uri: 'http://localhost:1/callback' }),
    ).toMatchObject(invalid);
    expect(await token(origin, { ...(await obtainCode(place)), client_id: 'forged' })).toMatchObject({ status: 401 });
  });

  test('reusing a code revokes its tokens', async () => {
    const place = await world();
    const fields = await obtainCode(place);
    const { body: tokens } = await token(place.origin, fields);
    expect((await call(place.server, tokens.access_token)).status).not.toBe(401);
    expect(await token(place.origin, fields)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await call(place.server, tokens.access_token)).status).toBe(401);
  });

  test('forged, altered and swapped tokens are rejected', async () => {
    const place = await world();
    const { origin, server, fake } = place;
    const fields = await obtainCode(place);
    const { body: tokens } = await token(origin, fields);
    const altered = `${tokens.access_token.slice(0, -2)}${tokens.access_token.endsWith('AA') ? 'BB' : 'AA'}`;
    const wrong = [
      altered,
      `${tokens.access_token}=`,
      tokens.refresh_token,
      fields.client_id,
      fake.token('alice'),
      'x',
    ];
    for (const bearer of wrong) expect((await call(server, bearer)).status).toBe(401);
    const renewal = { grant_type: 'refresh_token', refresh_token: tokens.access_token, client_id: fields.client_id };
    expect((await token(origin, renewal)).body).toMatchObject({ error: 'invalid_grant' });
    const { body: other } = await register(origin);
    const stolen = { ...renewal, refresh_token: tokens.refresh_token, client_id: other.client_id };
    expect((await token(origin, stolen)).body).toMatchObject({ error: 'invalid_grant' });
  });

  test('consent counts only from the browser and origin of its page', async () => {
    const { origin } = await world();
    const { body: client } = await register(origin);
    const url = authorizeUrl(origin, { client_id: client.client_id, code_challenge: pkce().challenge });
    const victim = new Browser();
    const { page = '' } = await victim.follow(url);
    const attacker = new Browser();
    await attacker.follow(url);
    expect((await attacker.answer(origin, page)).status).toBe(400);
    const elsewhere = await victim.answer(origin, page, 'allow', { origin: 'https://evil.example' });
    expect(elsewhere.back).toBeUndefined();
    expect(elsewhere.status).toBe(403);
    const local = await victim.answer(origin, page, 'allow', { origin: 'http://localhost:1' });
    expect(local.status).toBe(400);
    expect((await victim.answer(origin, page)).back?.searchParams.get('code')).toBeTruthy();
  });

  test('a callback without consent, from another browser or repeated is rejected', async () => {
    const { fake, origin } = await world();
    const { body: client } = await register(origin);
    const url = authorizeUrl(origin, { client_id: client.client_id, code_challenge: pkce().challenge });
    const browser = new Browser();
    const { page = '' } = await browser.follow(url);
    const state = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const callback = `${origin}/oauth/callback/mm?code=x&state=${state}`;
    expect((await browser.open(callback)).status).toBe(400);
    expect((await new Browser().open(callback)).status).toBe(400);
    expect(fake.requests.filter(({ path }) => path === '/oauth/access_token')).toEqual([]);
    expect((await browser.answer(origin, page)).back?.searchParams.get('code')).toBeTruthy();
    expect((await browser.open(callback)).status).toBe(400);
  });
});
