// OAuth for remote servers: a person logs in once, tokens live in a private file and are renewed.
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileOAuthOptions, fileOAuth } from 'pocket-agent';
import { expect, test } from 'vitest';
import { type ProtectedHost, startProtectedHost } from './fixtures/authorization-server.ts';
import { folder, open, testClient, textOfResult } from './fixtures/world.ts';

interface World {
  host: ProtectedHost;
  file: string;
  /** Login pages a person was shown. */
  pages: URL[];
  connect(options?: Partial<FileOAuthOptions> & { connectTimeoutMs?: number }): ReturnType<typeof testClient>;
}

async function world(): Promise<World> {
  const host = await open(startProtectedHost());
  const file = join(folder(), 'deep', 'tokens.json');
  const pages: URL[] = [];
  return {
    host,
    file,
    pages,
    connect: ({ connectTimeoutMs = 30_000, ...options } = {}) => {
      const auth = fileOAuth({
        file,
        redirectUrl: 'http://localhost:7777/callback',
        authorize: (url) => {
          pages.push(url);
          return host.logIn(url);
        },
        ...options,
      });
      return testClient({ mcpConfig: { mcpServers: { it: { url: host.url, auth, connectTimeoutMs } } } });
    },
  };
}

test('a person logs in once; the tokens are kept in a file of mode 0600', async () => {
  const { host, file, pages, connect } = await world();
  const { client } = connect({ clientName: 'My Agent', scope: 'tools' });
  expect(textOfResult(await client.callTool('echo', { text: 'let me in' }))).toBe('let me in');
  expect(pages).toHaveLength(1);
  expect(Object.fromEntries(pages[0]?.searchParams ?? [])).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: 'http://localhost:7777/callback',
    scope: 'tools',
  });
  expect(host.registrations).toMatchObject([{ client_name: 'My Agent', token_endpoint_auth_method: 'none' }]);
  expect(host.grants).toEqual(['authorization_code']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, 'utf8')).tokens.access_token).toEqual(expect.any(String));
});

test('tokens are used by the next client, without a login or a registration', async () => {
  const { host, pages, connect } = await world();
  const first = connect();
  await first.client.listTools();
  await first.client.close();
  const second = connect();
  expect(textOfResult(await second.client.callTool('echo', { text: 'again' }))).toBe('again');
  expect(pages).toHaveLength(1);
  expect(host.registrations).toHaveLength(1);
  expect(host.grants).toEqual(['authorization_code']);
});

test('a token that has run out is renewed in the middle of a session, without a login', async () => {
  const { host, file, pages, connect } = await world();
  const { client } = connect();
  await client.listTools();
  chmodSync(file, 0o644);
  host.expireTokens();
  expect(textOfResult(await client.callTool('echo', { text: 'renewed' }))).toBe('renewed');
  expect(pages).toHaveLength(1);
  expect(host.grants).toEqual(['authorization_code', 'refresh_token']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('tokens that were taken back lead to a new login in the middle of a session', async () => {
  const { host, pages, connect } = await world();
  const { client, statuses } = connect();
  await client.listTools();
  host.revokeAll();
  expect(textOfResult(await client.callTool('meta', {}))).toContain('progressToken');
  expect(pages).toHaveLength(2);
  expect(statuses).toEqual(['it: connected']);
});

test.each([
  ['run out are renewed once', 'expireTokens', 1],
  ['been taken back lead to one login', 'revokeAll', 2],
] as const)('tokens that have %s for all calls under way, which then go through', async (_what, happens, logins) => {
  const { host, pages, connect } = await world();
  const { client, statuses } = connect({
    authorize: async (url) => {
      pages.push(url);
      await new Promise((resolve) => setTimeout(resolve, 30)); // others are refused while a person logs in
      return host.logIn(url);
    },
  });
  await client.listTools();
  host[happens]();
  const calls = Array.from({ length: 4 }, (_, index) => client.callTool('echo', { text: `${index}` }));
  expect((await Promise.all(calls)).map(textOfResult)).toEqual(['0', '1', '2', '3']);
  expect(pages).toHaveLength(logins);
  expect(host.grants.filter((grant) => grant === 'refresh_token')).toHaveLength(1);
  expect(statuses).toEqual(['it: connected']);
});

test('two clients with one login renew its tokens once', async () => {
  const { host, file, pages } = await world();
  const auth = fileOAuth({
    file,
    redirectUrl: 'http://localhost:7777/callback',
    authorize: (url) => {
      pages.push(url);
      return host.logIn(url);
    },
  });
  const clients = [1, 2].map(() => testClient({ mcpConfig: { mcpServers: { it: { url: host.url, auth } } } }).client);
  await Promise.all(clients.map((client) => client.listTools()));
  host.expireTokens();
  const calls = clients.map((client) => client.callTool('echo', { text: 'both' }));
  expect((await Promise.all(calls)).map(textOfResult)).toEqual(['both', 'both']);
  expect(pages).toHaveLength(1);
});

test('a login that comes back with a foreign state is refused', async () => {
  const { host, connect } = await world();
  const { client, reasons } = connect({
    authorize: async (url) => {
      const back = await host.logIn(url);
      back.searchParams.set('state', 'forged');
      return back;
    },
  });
  expect(await client.listTools()).toEqual([]);
  expect(reasons).toEqual(['The login came back with a foreign "state"; it is not trusted.']);
  expect(host.grants).toEqual([]);
});

test('a login that was refused is reported, not repeated', async () => {
  const { host, pages, connect } = await world();
  const { client, reasons } = connect({
    authorize: async (url) => {
      pages.push(url);
      const state = url.searchParams.get('state') ?? '';
      return new URL(`http://localhost:7777/callback?error=access_denied&state=${state}`);
    },
  });
  expect(await client.listTools()).toEqual([]);
  expect(reasons.join()).toContain('access_denied');
  expect(pages).toHaveLength(1);
  expect(host.grants).toEqual([]);
});

test('a person may take longer to log in than a server may take to answer', async () => {
  const { host, connect } = await world();
  const { client } = connect({
    connectTimeoutMs: 1_000,
    authorize: async (url) => {
      await new Promise((resolve) => setTimeout(resolve, 1_300));
      return host.logIn(url);
    },
  });
  expect(textOfResult(await client.callTool('echo', { text: 'slowly' }))).toBe('slowly');
});

test('a token file that cannot be read is named, and left as it is', async () => {
  const { file, connect } = await world();
  const first = connect();
  await first.client.listTools();
  await first.client.close();
  writeFileSync(file, 'not json');
  const { client, reasons } = connect();
  expect(await client.listTools()).toEqual([]);
  expect(reasons.join()).toContain(`The token file ${file} cannot be read; repair or delete it.`);
  expect(readFileSync(file, 'utf8')).toBe('not json');
});
