// Attacks on the OAuth server of oauth_proxy fail.
import { expect, test } from 'vitest';
import { authorizeUrl, Browser, call, obtainCode, pkce, register, token, world } from './oauth-client.ts';

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
  expect(await token(origin, { ...(await obtainCode(place)), code_verifier: pkce().verifier })).toMatchObject(invalid);
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
  const wrong = [altered, `${tokens.access_token}=`, tokens.refresh_token, fields.client_id, fake.token('alice'), 'x'];
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
