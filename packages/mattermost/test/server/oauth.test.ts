// The auth mode oauth_proxy: the official client logs in at Mattermost through our OAuth server.
import { readConfig, startHttp } from '@pocket-agent/mattermost';
import { describe, expect, onTestFinished, test } from 'vitest';
import { callTool, eras } from '../connect.ts';
import { until } from '../until.ts';
import {
  authorizeUrl,
  Browser,
  CALLBACK,
  call,
  listTools,
  logIn,
  obtainCode,
  pkce,
  register,
  token,
  world,
} from './oauth-client.ts';

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
