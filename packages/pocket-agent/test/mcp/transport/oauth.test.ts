// OAuth for remote servers: a person logs in once, tokens live in a private file and are renewed.
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileOAuthOptions, fileOAuth, type McpServerEntry, type PocketAgentClientOptions } from 'pocket-agent';
import { expect, test } from 'vitest';
import { type ProtectedHost, startProtectedHost } from '../../fixtures/servers/authorization-server.ts';
import { folder, open, type TestClient, testClient, textOfResult } from '../../fixtures/world.ts';

interface World {
  host: ProtectedHost;
  file: string;
  /** Login pages a person was shown. */
  pages: URL[];
  connect(options?: Partial<FileOAuthOptions>, more?: More): TestClient;
}

type More = Partial<Extract<McpServerEntry, { url: string }>> & Pick<PocketAgentClientOptions, 'elicitationHandler'>;

async function world(): Promise<World> {
  const host = await open(startProtectedHost());
  const file = join(folder(), 'deep', 'tokens.json');
  const pages: URL[] = [];
  return {
    host,
    file,
    pages,
    connect: (options = {}, { elicitationHandler, ...entry } = {}) => {
      const auth = fileOAuth({
        file,
        redirectUrl: 'http://localhost:7777/callback',
        authorize: (url) => {
          pages.push(url);
          return host.logIn(url);
        },
        ...options,
      });
      const mcpConfig = { mcpServers: { it: { url: host.url, auth, ...entry } } };
      return testClient({ mcpConfig, ...(elicitationHandler ? { elicitationHandler } : {}) });
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

test('the next client uses the stored tokens, without a login or a registration', async () => {
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

test('an expired token is renewed in the middle of a session, without a login', async () => {
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

test('revoked tokens lead to a new login in the middle of a session', async () => {
  const { host, pages, connect } = await world();
  const { client, statuses } = connect();
  await client.listTools();
  host.revokeAll();
  expect(textOfResult(await client.callTool('meta', {}))).toContain('progressToken');
  expect(pages).toHaveLength(2);
  expect(statuses).toEqual(['it: connected']);
});

test('a call that has asked the user something is not repeated after a login', async () => {
  const { host, pages, connect } = await world();
  let asked = 0;
  const { client } = connect(undefined, {
    elicitationHandler: () => {
      if (++asked === 1) host.revokeAll();
      return { action: 'accept', content: { name: 'Ada' } };
    },
  });
  await expect(client.callTool('ask', {})).rejects.toMatchObject({
    code: 'TOOL_OUTCOME_UNKNOWN',
    message:
      'MCP server "it" required a login while "ask" ran. It may or may not have taken effect; check before you try again.',
  });
  expect([asked, pages.length]).toEqual([1, 1]);
  expect(textOfResult(await client.callTool('ask', {}))).toBe('hello Ada');
  expect([asked, pages.length]).toEqual([2, 2]);
});

test('a call that has asked the user something continues with a renewed token', async () => {
  const { host, connect } = await world();
  const asked: string[] = [];
  const { client } = connect(undefined, {
    elicitationHandler: ({ message }) => {
      asked.push(message);
      host.expireTokens();
      return { action: 'accept', content: { name: 'Ada' } };
    },
  });
  expect(textOfResult(await client.callTool('ask', {}))).toBe('hello Ada');
  expect(asked).toEqual(['Your name?']);
});

test('the credentials of a registered client are not sent to another authorization server', async () => {
  const { host, file, connect } = await world();
  const clientInformation = { client_id: 'mine', client_secret: 'hush' };
  const first = connect({ clientInformation });
  await first.client.listTools();
  expect(host.registrations).toEqual([]);
  const other = await open(startProtectedHost());
  host.revokeAll();
  host.leaveTokensTo(other);
  const mismatch = `credentials are bound to "${new URL(host.url).origin}"`;
  await expect(first.client.callTool('echo', { text: 'a' })).rejects.toThrow(mismatch);
  await first.client.close();
  const second = connect({ clientInformation: { ...clientInformation, client_secret: 'hush, hush' } });
  expect(await second.client.listTools()).toEqual([]);
  expect(second.reasons.join()).toContain(mismatch);
  expect([other.grants, other.registrations]).toEqual([[], []]);
  expect(JSON.parse(readFileSync(file, 'utf8')).client).toMatchObject({ client_id: 'mine' });
});

test.each(['http', 'sse'] as const)(
  'the headers of an entry are not sent to the authorization server (%s)',
  async (type) => {
    const { host, connect } = await world();
    const other = await open(startProtectedHost());
    host.leaveTokensTo(other);
    const url = host.url.replace('//', '//me:hush@');
    await connect({}, { type, url, headers: { 'X-Api-Key': 'secret' } }).client.listTools();
    expect(other.grants).toEqual(['authorization_code']);
    expect(JSON.stringify(other.seen)).not.toMatch(/secret|Basic/);
    for (const { headers } of host.seen) expect(headers).toMatchObject({ 'x-api-key': 'secret' });
  },
);

test.each([
  ['run out are renewed once', 'expireTokens', 1],
  ['been taken back lead to one login', 'revokeAll', 2],
] as const)('tokens that have %s for all calls in progress, which then go through', async (_what, happens, logins) => {
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

test('two clients that share a login renew its tokens once', async () => {
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

test('a login that returns a wrong state is refused', async () => {
  const { host, connect } = await world();
  const { client, reasons } = connect({
    authorize: async (url) => {
      const back = await host.logIn(url);
      back.searchParams.set('state', 'forged');
      return back;
    },
  });
  expect(await client.listTools()).toEqual([]);
  expect(reasons).toEqual(['The login returned a "state" that does not belong to it, so it was refused.']);
  expect(host.grants).toEqual([]);
});

test('a refused login is reported, not repeated', async () => {
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

test('a login may take longer than connectTimeoutMs', async () => {
  const { host, connect } = await world();
  const authorize = async (url: URL) => {
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    return host.logIn(url);
  };
  const { client } = connect({ authorize }, { connectTimeoutMs: 1_000 });
  expect(textOfResult(await client.callTool('echo', { text: 'slowly' }))).toBe('slowly');
});

test('an unreadable token file is reported with its path, and not changed', async () => {
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

test.each(['http', 'sse'] as const)(
  'a public server cannot send us to a private address for its login (%s)',
  async (type) => {
    const { connect } = await world();
    const inner = await open(startProtectedHost());
    const metadata = new URL('/.well-known/oauth-protected-resource', inner.url);
    const asked: string[] = [];
    const challenge = { 'www-authenticate': `Bearer resource_metadata="${metadata}"` };
    // stands for the internet: no request leaves this machine
    const fetchThere = async (to: string | URL, init?: RequestInit) => {
      asked.push(String(to));
      return new URL(to).hostname === '1.1.1.1'
        ? new Response(null, { status: 401, headers: challenge })
        : fetch(to, init);
    };
    const { client, reasons } = connect({}, { type, url: 'https://1.1.1.1/mcp', fetch: fetchThere });
    expect(await client.listTools()).toEqual([]);
    expect(reasons.join()).toContain('Could not reach MCP server "it"');
    expect(inner.seen).toEqual([]);
    expect(asked.filter((url) => !url.startsWith('https://1.1.1.1/'))).toEqual([]);
  },
);
