// Operation: tokens of an external issuer, health, metrics, and an end that drops no call.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { Gateway, type GatewayOAuthOptions, openGatewayState } from '../src/index.ts';
import { atEnd, connect, namesOf, served, temporaryFolder, textOf } from './world.ts';

const readOnly = { readOnlyHint: true };

function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool('read', { annotations: readOnly }, () => text('a note'));
  server.registerTool('drop', {}, () => text('dropped'));
  return server;
}

const audience = 'https://gateway.example.com/mcp';

/** An issuer with one key: its metadata, its keys, and tokens. */
async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
  const stage = { hasKeys: true };
  const server = createServer((request, response) => {
    const metadata = { issuer, jwks_uri: `${issuer}/keys` };
    const known: Record<string, object | false> = {
      '/.well-known/oauth-authorization-server': metadata,
      '/keys': stage.hasKeys && { keys: [key] },
    };
    const body = known[request.url ?? ''];
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => new Promise((resolve) => server.close(resolve)));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const claims = { scope: 'openid notes:read', sub: 'ann@example.com' };
  const token = ({ sub, iss = issuer, aud = audience, exp = '1h', signer = privateKey, ...more }: Claims = {}) =>
    new SignJWT({ ...claims, ...more, ...(sub === undefined ? {} : { sub }) })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(iss)
      .setAudience(aud)
      .setExpirationTime(exp)
      .sign(signer);
  return { issuer, token, publicKey, stage };
}

interface Claims {
  sub?: string;
  scope?: string;
  iss?: string;
  aud?: string;
  exp?: string;
  signer?: CryptoKey;
}

describe('tokens of an external issuer', () => {
  const start = async () => {
    const issuer = await startIssuer();
    const oauth: GatewayOAuthOptions = {
      issuer: issuer.issuer,
      audience,
      scopes: { 'notes:all': { profile: 'admin' }, 'notes:read': { profile: 'reader', callsPerDay: 1 } },
    };
    const { url } = await served({ mcpServers: { notes: { server: notes } }, oauth });
    return { ...issuer, url };
  };

  test('are checked, and their scopes decide on the profile', async () => {
    const { url, token } = await start();
    const reader = await connect('SDK v1', url, await token());
    expect(await namesOf(reader)).toEqual(['notes__read']);
    expect(textOf(await reader.call('notes__read'))).toBe('a note');
    expect(textOf(await reader.call('notes__read'))).toContain('you have made 1 calls in this day');
    const admin = await connect('SDK v2 in 2026', url, await token({ sub: 'eve', scope: 'notes:read notes:all' }));
    expect(await namesOf(admin)).toEqual(['notes__drop', 'notes__read']);
  });

  test('that are forged, for another audience, of another issuer, expired or without a scope are refused', async () => {
    const { url, token, issuer, publicKey } = await start();
    const stranger = (await generateKeyPair('ES256')).privateKey;
    const shared = new TextEncoder().encode(JSON.stringify(await exportJWK(publicKey)));
    const claims = { sub: 'ann', scope: 'notes:all', iss: issuer, aud: audience };
    const hs = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'one' }).setExpirationTime('1h');
    const status = async (given: string) =>
      (await fetch(url, { method: 'POST', body: '{}', headers: { authorization: `Bearer ${given}` } })).status;
    expect(await status(await token())).not.toBe(401);
    const refused = {
      'another key': await token({ signer: stranger }),
      'another audience': await token({ aud: 'https://other.example.com/mcp' }),
      'another issuer': await token({ iss: 'https://evil.example.com' }),
      expired: await token({ exp: '-1m' }),
      'no signature': new UnsecuredJWT(claims).setExpirationTime('1h').encode(),
      'a shared secret': await hs.sign(shared),
      'an odd subject': await token({ sub: 'ann\nx: y' }),
      'no JWT': 'a.b.c',
    };
    for (const [why, given] of Object.entries(refused)) expect([why, await status(given)]).toEqual([why, 401]);
    expect(await status(await token({ scope: 'openid' }))).toBe(403);
  });

  test('are announced to clients: a refusal names the metadata, and these the issuer', async () => {
    const { url, issuer } = await start();
    const refused = await fetch(url, { method: 'POST', body: '{}' });
    const path = '/.well-known/oauth-protected-resource/mcp';
    expect(refused.headers.get('www-authenticate')).toContain(`resource_metadata="https://gateway.example.com${path}"`);
    const metadata = await (await fetch(new URL(path, url))).json();
    expect(metadata).toMatchObject({ resource: audience, authorization_servers: [issuer] });
  });

  test('keys that cannot be downloaded are not the fault of the token', async () => {
    const { url, token, stage } = await start();
    stage.hasKeys = false;
    const headers = { authorization: `Bearer ${await token({ scope: 'notes:all' })}` };
    expect((await fetch(url, { method: 'POST', headers })).status).toBe(503);
    stage.hasKeys = true;
    expect((await fetch(url, { method: 'POST', headers })).status).not.toBe(503);
  });

  test('an issuer that does not answer refuses its callers only', async () => {
    const oauth = { issuer: 'http://127.0.0.1:9', audience, scopes: { a: { profile: 'admin' } } };
    const { url, caller } = await served({ mcpServers: { notes: { server: notes } }, oauth });
    const jwt = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).sign(new Uint8Array(32));
    const response = await fetch(url, { method: 'POST', body: '{}', headers: { authorization: `Bearer ${jwt}` } });
    expect(response.status).toBe(503);
    const client = await connect('SDK v1', url, await caller('ann', { profile: 'reader' }));
    expect(await namesOf(client)).toEqual(['notes__read']);
  });

  test.each([
    [{ issuer: 'http://issuer.example.com' }, 'oauth.issuer must begin with https://'],
    [{ issuer: 'http://127.evil.example' }, 'oauth.issuer must begin with https://'],
    [{ audience: 'gateway' }, 'oauth.audience must be a URL'],
    [{ scopes: { a: { profile: 'auditor' } } }, 'There is no profile "auditor"'],
    [{ scopes: { a: { profile: 'reader', callsPerDay: 1 } } }, 'Limits of callers need state'],
    [
      { scopes: { a: { profile: 'suport' } } },
      'There is no profile "suport". Did you mean "support"? Available: reader, writer, manager, admin, support.',
    ],
  ])('options %j are refused', (more, words) => {
    const oauth = { issuer: 'https://issuer.example.com', audience, scopes: {}, ...more };
    expect(() => new Gateway({ oauth, profiles: { support: { capabilities: ['read'] } } })).toThrow(words);
  });
});

test('health and metrics tell of calls and servers, metrics only to the owner of their token', async () => {
  const { url, caller } = await served(
    { mcpServers: { notes: { server: notes }, broken: { url: 'http://127.0.0.1:9/mcp' } } },
    { metricsToken: 'for-prometheus' },
  );
  const client = await connect('SDK v1', url, await caller('ann', { profile: 'reader' }));
  await client.call('notes__read');
  await expect(client.call('notes__drop')).rejects.toThrow('not found');
  await expect(client.call('x"} 1\nevil 1')).rejects.toThrow('not found');
  const at = new URL('/metrics', url);
  expect((await fetch(at)).status).toBe(401);
  expect((await fetch(at, { headers: { authorization: 'Bearer guess' } })).status).toBe(401);
  const text = await (await fetch(at, { headers: { authorization: 'Bearer for-prometheus' } })).text();
  const samples = text.split('\n').filter((line) => !line.startsWith('#'));
  expect(samples).toEqual(
    expect.arrayContaining([
      'gateway_calls_total{server="notes",decision="allowed",outcome="done"} 1',
      'gateway_calls_total{server="notes",decision="refused",outcome="not run"} 1',
      'gateway_calls_total{server="unknown",decision="refused",outcome="not run"} 1',
      'gateway_calls_in_progress 0',
      'gateway_server_up{server="notes"} 1',
      'gateway_server_up{server="broken"} 0',
    ]),
  );
  expect(text).not.toContain('evil');
});

test('before it stops, the gateway finishes its calls and takes no new ones', async () => {
  const called = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const slow = () => {
    const server = new McpServer({ name: 'slow', version: '1.0.0' });
    server.registerTool('wait', { annotations: readOnly }, async () => {
      called.resolve();
      await finish.promise;
      return text('finished');
    });
    return server;
  };
  const { url, caller, gateway } = await served({ mcpServers: { slow: { server: slow } } });
  const client = await connect('SDK v1', url, await caller('ann', { profile: 'reader' }));
  const health = async () => (await fetch(new URL('/health', url))).status;
  expect(await health()).toBe(200);
  const waiting = client.call('slow__wait');
  await called.promise;
  const drained = gateway.drain(60_000);
  expect(await health()).toBe(503);
  expect(textOf(await client.call('slow__wait'))).toContain('The gateway is being stopped: this call was not made');
  finish.resolve();
  await drained;
  expect(textOf(await waiting)).toBe('finished');
});

test('two processes with one state count the calls of a caller together, and know the same tokens', async () => {
  const state = await openGatewayState(':memory:');
  atEnd(() => state.close());
  const [one, two] = [0, 1].map(() => served({ mcpServers: { notes: { server: notes } }, state }));
  const token = await state.addCaller('ann', { profile: 'reader', callsPerDay: 2 });
  const clients = await Promise.all([one, two].map(async (each) => connect('SDK v1', (await each)?.url ?? '', token)));
  const said: string[] = [];
  for (const client of [...clients, ...clients]) said.push(textOf(await client.call('notes__read')).slice(0, 12));
  expect(said).toEqual(['a note', 'a note', 'This call wa', 'This call wa']);
});

test('of a token only a hash is in the state, and the token is nowhere', async () => {
  const folder = await temporaryFolder();
  const state = await openGatewayState(join(folder, 'state.sqlite'));
  const token = await state.addCaller('ann', { profile: 'reader' });
  expect((await state.callerWith(token))?.name).toBe('ann');
  await state.close();
  const files = (await readdir(folder)).map((name) => readFileSync(join(folder, name), 'latin1'));
  expect(files.join('')).toContain(createHash('sha256').update(token).digest('hex'));
  expect(files.join('')).not.toContain(token.slice(4));
});
