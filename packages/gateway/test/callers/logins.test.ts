// Who a caller is for the servers: a login for each; and lists that are longer than a page, on both sides.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { fileOAuth, functionTools, tool } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { startProtectedHost } from '../../../pocket-agent/test/fixtures/servers/authorization-server.ts';
import {
  Gateway,
  type GatewayListenOptions,
  type GatewayOptions,
  loginsIn,
  openGatewayState,
  removeLogins,
} from '../../src/index.ts';
import {
  type AnyClient,
  atEnd,
  clientV1,
  connect,
  expectLoginsOfKnownCallers,
  kinds,
  namesOf,
  served,
  temporaryFolder,
  textOf,
} from '../world.ts';

test('each caller has a login of their own at a server, and no call carries the token of another', async () => {
  const host = await startProtectedHost();
  atEnd(() => host.close());
  const logins = await temporaryFolder();
  const pages: string[] = [];
  const auth = ({ caller }: { caller: string | undefined }) =>
    fileOAuth({
      file: join(logins, `${caller}.json`),
      redirectUrl: 'http://localhost:7777/callback',
      authorize: (url) => {
        pages.push(`${caller}`);
        return host.logIn(url);
      },
    });
  const { url, caller } = await served({ mcpServers: { crm: { url: host.url, auth } } });
  const tokensOf = async (name: string) => {
    const from = host.seen.length;
    const client = await connect('SDK v1', url, await caller(name, { profile: 'admin' }));
    await expect.poll(() => namesOf(client)).toContain('crm__echo');
    await client.call('crm__echo', { text: 'hello' });
    return new Set(host.seen.slice(from).flatMap(({ headers }) => headers.authorization ?? []));
  };
  const [ann, bob] = [await tokensOf('ann'), await tokensOf('bob')];
  expect(pages).toEqual(['ann', 'bob']);
  expect(ann.size).toBeGreaterThan(0);
  expect([...ann].filter((token) => bob.has(token))).toEqual([]);
});

async function crmIsUp(url: string): Promise<string | undefined> {
  const response = await fetch(new URL('/metrics', url), { headers: { authorization: 'Bearer for-prometheus' } });
  return /gateway_server_up\{server="crm"\} (\d)/.exec(await response.text())?.[1];
}

interface LoginAnswer {
  status: number;
  url?: string;
  error?: string;
}

type Ask = (token: string, path: string, body?: object | 'DELETE') => Promise<LoginAnswer>;

function asker(gateway: string): Ask {
  return async (token, path, body) => {
    const headers = { authorization: `Bearer ${token}` };
    const sent = typeof body === 'object' ? { method: 'POST', body: JSON.stringify(body) } : body && { method: body };
    const response = await fetch(new URL(`/logins${path}`, gateway), { headers, ...sent });
    return { status: response.status, ...((await response.json()) as object) };
  };
}

describe('a server with logins', () => {
  const clock = functionTools([tool({ name: 'now', description: 'The time', capability: 'read', run: () => '12:00' })]);
  const loginKey = 'a key for the tests of this file only';

  async function world(options: GatewayOptions = {}, listen: GatewayListenOptions = {}) {
    const host = await startProtectedHost();
    atEnd(() => host.close());
    const mcpServers = { crm: { url: host.url, login: true } };
    const made = await served({ mcpServers, sources: { clock }, loginKey, ...options }, listen);
    const ask = asker(made.url);
    const logIn = async (token: string) => {
      const { url } = await ask(token, '/crm', {});
      return ask(token, '/crm', { redirected: (await host.logIn(new URL(String(url)))).href });
    };
    return { ...made, host, mcpServers, ask, logIn };
  }

  test('has its tools for the callers who have logged in, each with tokens of their own', async () => {
    const { host, url, caller, ask, logIn } = await world();
    const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'admin' })];
    const [annsClient, bobsClient] = [await connect('SDK v1', url, ann), await connect('SDK v2 in 2026', url, bob)];
    expect([await namesOf(annsClient), await namesOf(bobsClient)]).toEqual([['clock__now'], ['clock__now']]);
    // a page that no one asked for is not asked for at the authorization server either
    expect([host.registrations, host.seen]).toEqual([[], []]);
    expect(await ask(ann, '')).toMatchObject({ servers: [{ server: 'crm', loggedIn: false }] });

    expect(await logIn(ann)).toEqual({ status: 200, loggedIn: true });
    await expect.poll(() => namesOf(annsClient)).toContain('crm__echo');
    expect(textOf(await annsClient.call('crm__echo', { text: 'hello' }))).toBe('hello');
    expect(await namesOf(bobsClient)).toEqual(['clock__now']);
    expect(await ask(bob, '')).toMatchObject({ servers: [{ server: 'crm', loggedIn: false }] });

    await logIn(bob);
    await expect.poll(() => namesOf(bobsClient)).toContain('crm__echo');
    await bobsClient.call('crm__echo', { text: 'hello' });
    expect(host.registrations.length).toBe(1);
    expect(host.grants).toEqual(['authorization_code', 'authorization_code']);
    expect(await ask(ann, '/crm', {})).toEqual({ status: 200, loggedIn: true });
  });

  test('cannot be entered with the page, the answer or the name of another caller', async () => {
    const { host, caller, ask } = await world();
    const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'admin' })];
    const stranger = await caller('eve', { profile: 'admin', servers: ['clock'] });
    const { url } = await ask(ann, '/crm', {});
    const redirected = (await host.logIn(new URL(String(url)))).href;
    const none = 'No login is in progress: start it again.';
    expect(await ask(bob, '/crm', { redirected })).toEqual({ status: 400, error: none });
    await ask(bob, '/crm', {});
    expect(await ask(bob, '/crm', { redirected })).toMatchObject({ status: 400, error: /"state"/ });
    expect(await ask(stranger, '')).toMatchObject({ servers: [] });
    expect(await ask(stranger, '/crm', {})).toMatchObject({ status: 404 });
    expect((await ask('wrong', '/crm', {})).status).toBe(401);
    expect(await ask(ann, '/%', {})).toMatchObject({ status: 404 });
    expect(await ask(ann, '/crm', [])).toMatchObject({ status: 400, error: /^The body is/ });
    expect(await ask(ann, '/crm', { redirected: 'nothing' })).toMatchObject({ status: 400 });
    expect(await ask(ann, '/crm', { redirected })).toEqual({ status: 200, loggedIn: true });
    expect(await ask(bob, '')).toMatchObject({ servers: [{ loggedIn: false }] });
  });

  test('knows its callers after a restart, and renews their tokens; the state has only what its key can read', async () => {
    const file = join(await temporaryFolder(), 'state.sqlite');
    const state = await openGatewayState(file);
    atEnd(() => state.close());
    const { host, mcpServers, caller, logIn, gateway } = await world({ state });
    const ann = await caller('ann', { profile: 'admin' });
    await logIn(ann);
    await gateway.close();
    host.expireTokens();
    const next = await served({ mcpServers, loginKey, state });
    const client = await connect('SDK v2 in 2025', next.url, ann);
    await expect.poll(() => namesOf(client)).toContain('crm__echo');
    expect(host.grants).toEqual(['authorization_code', 'refresh_token']);
    const tokens = host.seen.flatMap(({ headers }) => headers.authorization?.replace('Bearer ', '') ?? []);
    const written = (await Promise.all([file, `${file}-wal`].map((path) => readFile(path).catch(() => '')))).join('');
    expect(written).toContain('gateway_logins');
    expect(tokens.filter((token) => written.includes(token))).toEqual([]);

    const other = await served({ mcpServers, loginKey: `another ${loginKey}`, state });
    const loginsAt = async ({ url }: { url: string }, token: string) =>
      (await fetch(new URL('/logins', url), { headers: { authorization: `Bearer ${token}` } })).json();
    expect(await loginsAt(next, ann)).toEqual({ servers: [{ server: 'crm', loggedIn: true }] });
    expect(await loginsAt(other, ann)).toEqual({ servers: [{ server: 'crm', loggedIn: false }] });
    await state.removeCaller('ann');
    const again = await state.addCaller('ann', { profile: 'admin' });
    expect(await loginsAt(next, again)).toEqual({ servers: [{ server: 'crm', loggedIn: false }] });
  });

  test('has no login for a new caller with the name of one who was removed during a renewal', async () => {
    const { host, url, state, caller, ask, logIn } = await world();
    const ann = await caller('ann', { profile: 'admin' });
    await logIn(ann);
    const client = await connect('SDK v2 in 2026', url, ann);
    await expect.poll(() => namesOf(client)).toContain('crm__echo');
    const held = Promise.withResolvers<void>();
    host.expireTokens();
    host.holdGrants(held.promise);
    const call = client.call('crm__echo', { text: 'hello' });
    await expect.poll(() => host.grants.at(-1)).toBe('refresh_token');
    await state.removeCaller('ann');
    const again = await caller('ann', { profile: 'admin' });
    held.resolve();
    await call;
    expect(await state.login({ caller: 'ann', server: `crm ${host.url}` })).toBeUndefined();
    expect(await ask(again, '')).toEqual({ status: 200, servers: [{ server: 'crm', loggedIn: false }] });
  });

  test('saves no login of a caller who was removed; callers of an issuer are unknown to the state', async () => {
    const state = await openGatewayState(':memory:');
    atEnd(() => state.close());
    await expectLoginsOfKnownCallers(state);
  });

  test('keeps the tokens that another process has renewed in the meantime', async () => {
    const { host, mcpServers, url, state, caller, ask, logIn } = await world();
    const other = await served({ mcpServers, loginKey, state });
    const ann = await caller('ann', { profile: 'admin' });
    await logIn(ann);
    const [here, there] = [await connect('SDK v1', url, ann), await connect('SDK v1', other.url, ann)];
    for (const client of [here, there]) await expect.poll(() => namesOf(client)).toContain('crm__echo');
    const hello = (client: AnyClient) => client.call('crm__echo', { text: 'hello' });
    const held = Promise.withResolvers<void>();
    host.expireTokens();
    host.holdGrants(held.promise);
    const late = hello(here);
    await expect.poll(() => host.grants.at(-1)).toBe('refresh_token');
    host.holdGrants(Promise.resolve());
    expect(textOf(await hello(there))).toBe('hello');
    expect(textOf(await hello(here))).toBe('hello'); // it has read the new tokens
    held.resolve();
    expect(textOf(await late)).toBe('hello');
    expect(await ask(ann, '')).toMatchObject({ servers: [{ loggedIn: true }] });
  });

  test('is finished at any process, for the caller who began it', async () => {
    const { host, mcpServers, url, state, caller, ask, logIn } = await world();
    const other = await served({ mcpServers, loginKey, state });
    const askOther = asker(other.url);
    const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'admin' })];
    const begun = await ask(ann, '/crm', {});
    // the page is the same wherever the caller asks for it again
    expect([await askOther(ann, '/crm', {}), await ask(ann, '/crm', {})]).toEqual([begun, begun]);
    const redirected = (await host.logIn(new URL(String(begun.url)))).href;
    expect(await askOther(bob, '/crm', { redirected })).toMatchObject({ status: 400, error: /^No login/ });
    expect(await askOther(ann, '/crm', { redirected })).toEqual({ status: 200, loggedIn: true });
    expect(await ask(ann, '/crm', { redirected })).toMatchObject({ status: 400, error: /^No login/ });
    for (const each of [url, other.url]) {
      const client = await connect('SDK v2 in 2026', each, ann);
      await expect.poll(() => namesOf(client)).toContain('crm__echo');
      expect(textOf(await client.call('crm__echo', { text: 'hello' }))).toBe('hello');
    }
    expect(await logIn(bob)).toEqual({ status: 200, loggedIn: true });
    expect(host.grants).toEqual(['authorization_code', 'authorization_code']);
    expect(host.registrations.length).toBe(1);
  });

  test('never takes the code to another authorization server than that of its page', async () => {
    const { host, mcpServers, state, caller, ask } = await world();
    const other = await served({ mcpServers, loginKey, state });
    const ann = await caller('ann', { profile: 'admin' });
    const { url } = await ask(ann, '/crm', {});
    const redirected = (await host.logIn(new URL(String(url)))).href;
    // the server now names another authorization server, which would get the code
    const sly = await startProtectedHost();
    atEnd(() => sly.close());
    host.leaveTokensTo(sly);
    expect((await asker(other.url)(ann, '/crm', { redirected })).error).toMatch(/^The login failed/);
    expect(sly.grants).toEqual([]);
    expect(await asker(other.url)(ann, '')).toMatchObject({ servers: [{ loggedIn: false }] });
  });

  test('is over when its caller logs out: the tools are gone at once, and other processes have no tokens either', async () => {
    const { host, mcpServers, url, state, caller, ask, logIn } = await world();
    const other = await served({ mcpServers, loginKey, state });
    const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'admin' })];
    await logIn(ann);
    await logIn(bob);
    const [here, there] = [await connect('SDK v1', url, ann), await connect('SDK v1', other.url, ann)];
    const bobs = await connect('SDK v1', url, bob);
    for (const client of [here, there, bobs]) await expect.poll(() => namesOf(client)).toContain('crm__echo');
    expect(await ask(ann, '/crm', 'DELETE')).toEqual({ status: 200, loggedIn: false });
    expect(await namesOf(here)).toEqual(['clock__now']);
    const before = host.seen.length;
    expect(await there.call('crm__echo', { text: 'hello' })).toMatchObject({ isError: true });
    expect(host.seen.length).toBe(before);
    expect(textOf(await bobs.call('crm__echo', { text: 'hello' }))).toBe('hello');
    expect(await ask(ann, '')).toMatchObject({ servers: [{ loggedIn: false }] });
    expect(await ask(ann, '/crm', 'DELETE')).toEqual({ status: 200, loggedIn: false });
    expect(await logIn(ann)).toEqual({ status: 200, loggedIn: true });
    await expect.poll(() => namesOf(here)).toContain('crm__echo');
  });

  test('is listed for the operator, who can remove it', async () => {
    const { host, state, caller, ask, logIn } = await world();
    const [ann, bob] = [await caller('ann', { profile: 'admin' }), await caller('bob', { profile: 'admin' })];
    await logIn(ann);
    await ask(bob, '/crm', {});
    expect(await loginsIn(state)).toEqual([{ caller: 'ann', server: 'crm', url: host.url }]);
    const url = 'http://127.0.0.1/page:1';
    await state.saveLogin({ caller: 'bob', server: `files ${url}` }, 'encrypted');
    expect(await loginsIn(state)).toContainEqual({ caller: 'bob', server: 'files', url });
    expect(await removeLogins(state, { caller: 'bob', server: 'files' })).toBe(true);
    expect(await removeLogins(state, { caller: 'ann', server: 'other' })).toBe(false);
    expect(await removeLogins(state, { caller: 'ann', server: 'crm' })).toBe(true);
    expect(await ask(ann, '')).toMatchObject({ servers: [{ loggedIn: false }] });
    expect(await removeLogins(state, { caller: 'bob' })).toBe(true);
    expect(await ask(bob, '/crm', { redirected: 'http://127.0.0.1/?code=1' })).toMatchObject({ status: 400 });
    expect(await loginsIn(state)).toEqual([]);
  });

  test('asks for a new login if the saved one is damaged', async () => {
    const { host, state, caller, ask, logIn } = await world();
    const ann = await caller('ann', { profile: 'admin' });
    await logIn(ann);
    await state.saveLogin({ caller: 'ann', server: `crm ${host.url}` }, 'AAAA');
    expect(await ask(ann, '')).toEqual({ status: 200, servers: [{ server: 'crm', loggedIn: false }] });
    expect(await logIn(ann)).toEqual({ status: 200, loggedIn: true });
  });

  test('is up in the metrics while callers have no login, and down if it cannot be reached', async () => {
    const { host, url, caller, logIn } = await world({}, { metricsToken: 'for-prometheus' });
    const bob = await connect('SDK v1', url, await caller('bob', { profile: 'admin' }));
    expect(await namesOf(bob)).toEqual(['clock__now']);
    expect(await crmIsUp(url)).toBe('1');
    const ann = await caller('ann', { profile: 'admin' });
    await logIn(ann);
    const client = await connect('SDK v1', url, ann);
    await expect.poll(() => namesOf(client)).toContain('crm__echo');
    await host.close();
    await client.call('crm__echo', { text: 'hello' });
    await expect.poll(() => crmIsUp(url)).toBe('0');
  });

  test('counts for the metrics only while its caller is connected', async () => {
    const mcpServers = { crm: { url: 'http://127.0.0.1:9/mcp', idleMs: 100 } };
    const { url, caller } = await served({ mcpServers }, { metricsToken: 'for-prometheus' });
    await namesOf(await connect('SDK v1', url, await caller('ann', { profile: 'admin' })));
    await expect.poll(() => crmIsUp(url)).toBe('1');
  });

  test('that cannot be reached fails a login without telling its caller where it is', async () => {
    const mcpServers = { crm: { url: 'http://127.0.0.1:1/hidden', login: true } };
    const { caller, ask } = await world({ mcpServers });
    const answer = await ask(await caller('ann', { profile: 'admin' }), '/crm', {});
    expect(answer.status).toBe(502);
    expect(answer.error).not.toContain('hidden');
  });

  test('wants a new login when its tokens are revoked', async () => {
    const { host, url, caller, ask, logIn } = await world();
    const ann = await caller('ann', { profile: 'admin' });
    await logIn(ann);
    const client = await connect('SDK v1', url, ann);
    await expect.poll(() => namesOf(client)).toContain('crm__echo');
    host.revokeAll();
    expect(await client.call('crm__echo', { text: 'hello' })).toMatchObject({ isError: true });
    await expect.poll(() => ask(ann, '')).toMatchObject({ servers: [{ loggedIn: false }] });
    expect(await logIn(ann)).toEqual({ status: 200, loggedIn: true });
    await expect.poll(async () => textOf(await client.call('crm__echo', { text: 'hello' }))).toBe('hello');
  });

  test.each([
    [{ command: 'server', login: true }, 'which is for servers with a url'],
    [{ url: 'http://127.0.0.1:1/mcp', login: true, shared: true }, 'is shared by all callers'],
    [{ url: 'http://127.0.0.1:1/mcp', login: 'yes' as unknown as true }, 'login must be true, or an object'],
    [
      { url: 'http://127.0.0.1:1/mcp', login: { redirectUrl: 'https://example.com/back' } },
      'must begin with http://127',
    ],
  ])('that is wrong is refused: %j', async (entry, text) => {
    const state = await openGatewayState(':memory:');
    atEnd(() => state.close());
    expect(() => new Gateway({ mcpServers: { crm: entry }, state, loginKey })).toThrow(text);
  });

  test('needs a state and a key for it', async () => {
    const mcpServers = { crm: { url: 'http://127.0.0.1:1/mcp', login: true } };
    expect(() => new Gateway({ mcpServers })).toThrow('the gateway needs state and loginKey');
    expect(() => new Gateway({ loginKey: 'short' })).toThrow(
      'POCKET_AGENT_GATEWAY_LOGIN_KEY) must have at least 32 characters.',
    );
  });
});

test.each(kinds)('%s reads lists page by page, also those that a server gives page by page', async (kind) => {
  const many = functionTools(
    Array.from({ length: 1_500 }, (_, index) =>
      tool({ name: `tool_${index}`, description: 'One of many', capability: 'read', run: () => 'done' }),
    ),
  );
  const paged = () => {
    const server = new McpServer({ name: 'paged', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.server.setRequestHandler('tools/list', ({ params }) => {
      const page = Number(params?.cursor ?? 0);
      const tools = [
        { name: `page_${page}`, inputSchema: { type: 'object' as const }, annotations: { readOnlyHint: true } },
      ];
      return { tools, ...(page < 2 ? { nextCursor: String(page + 1) } : {}) };
    });
    return server;
  };
  const { url, caller } = await served({ sources: { many }, mcpServers: { paged: { server: paged } } });
  const token = await caller('ann', { profile: 'reader' });
  const names: string[] = [];
  if (kind === 'SDK v1') {
    const client = await clientV1(url, token);
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor; pages++) {
      const { tools, nextCursor } = await client.listTools(cursor ? { cursor } : {});
      expect(tools.length).toBeLessThanOrEqual(1_000);
      names.push(...tools.map(({ name }) => name));
      cursor = nextCursor;
    }
  } else names.push(...(await namesOf(await connect(kind, url, token)))); // it reads all pages by itself
  expect(new Set(names).size).toBe(1_503);
  expect(names).toEqual(expect.arrayContaining(['many__tool_1499', 'paged__page_0', 'paged__page_2']));
});
