// Servers over HTTP: addresses, the old SSE transport, ends of sessions, servers that require a login, addresses without a server.
import { describe, expect, test } from 'vitest';
import {
  forward,
  type Host,
  listen,
  refuse,
  startLegacyHost,
  startModernHost,
  startOldSseHost,
} from '../../fixtures/servers/http-hosts.ts';
import { modernServer } from '../../fixtures/servers/modern-tools.ts';
import { open, testClient, textOfResult } from '../../fixtures/world.ts';

describe('query parameters', () => {
  const mcpServerQueryParams = { context_id: 'a b&c=d', ü: '1+1' };

  test.each<[string, () => Promise<Host>]>([
    ['2025', startLegacyHost],
    ['2026', startModernHost],
  ])('are added, encoded, to those of the URL in every request of the %s era', async (_era, start) => {
    const host = await open(start());
    const { client } = testClient({
      mcpConfig: { mcpServers: { it: { url: `${host.url}?key=x%26y&context_id=old` } } },
      mcpServerQueryParams,
    });
    await client.callTool('echo', { text: 'hi' });
    await client.close();
    expect(host.seen.length).toBeGreaterThan(2);
    for (const { url } of host.seen) {
      const { pathname, searchParams } = new URL(url ?? '', host.url);
      expect(pathname).toBe('/mcp');
      expect([...searchParams]).toEqual([
        ['key', 'x&y'],
        ['context_id', 'a b&c=d'],
        ['ü', '1+1'],
      ]);
    }
  });

  test('do not appear in errors, because they may be secret', async () => {
    const host = await startLegacyHost();
    await host.close();
    const { client, reasons } = testClient({
      mcpConfig: { mcpServers: { it: { url: `${host.url}?token=hunter2` } } },
      mcpServerQueryParams,
    });
    await client.listTools();
    expect(reasons).toEqual([expect.stringContaining(`Could not reach MCP server "it" at ${host.url}: `)]);
    expect(reasons.join()).not.toContain('hunter2');
  });
});

test('every request goes through the `fetch` of the entry', async () => {
  const host = await open(startModernHost());
  const asked: string[] = [];
  const fetch = (url: string | URL, init?: RequestInit) => {
    asked.push(`${init?.method} ${url}`);
    return globalThis.fetch(url, init);
  };
  const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url, fetch } } } });
  expect(textOfResult(await client.callTool('echo', { text: 'hi' }))).toBe('hi');
  await client.close();
  expect(asked.filter((request) => request === `POST ${host.url}`).length).toBeGreaterThan(2);
  expect(host.seen).toHaveLength(asked.length);
});

test.each([
  ['of ours', {}],
  ['of its own', { fetch: globalThis.fetch }],
])('a redirect to another origin is not followed, with a fetch %s', async (_whose, entry) => {
  const other = await open(listen(undefined, (_request, response) => void response.end()));
  const host = await open(startModernHost());
  const between = await open(
    listen(undefined, (request, response, body) => {
      const isCall = JSON.stringify(body).includes('tools/call');
      if (isCall) response.writeHead(307, { location: other.url }).end();
      else forward(host.port, { request, response, body });
    }),
  );
  const headers = { 'X-Api-Key': 'secret' };
  const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: between.url, headers, ...entry } } } });
  await expect(client.callTool('echo', { text: 'hi' })).rejects.toThrow(`Redirect to ${other.url} not followed`);
  expect(other.seen).toEqual([]);
});

describe('the old SSE transport', () => {
  test('is used if the server supports no other', async () => {
    const host = await open(startOldSseHost());
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    expect(textOfResult(await client.callTool('echo', { text: 'as of old' }))).toBe('as of old');
    expect(statuses).toEqual(['it: connected']);
    expect(host.seen.slice(0, 3).map((seen) => `${seen.verb} ${seen.url}`)).toContain('GET /mcp');
  });

  test('is used without trying another one if the entry says sse', async () => {
    const host = await open(startOldSseHost());
    const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url, type: 'sse' } } } });
    await client.callTool('echo', { text: 'x' });
    expect(host.seen[0]).toMatchObject({ verb: 'GET', url: '/mcp' });
  });

  test('is not tried if the entry says http', async () => {
    const host = await open(startOldSseHost());
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url, type: 'http' } } } });
    expect(await client.listTools()).toEqual([]);
    expect(host.seen.map((seen) => seen.verb)).not.toContain('GET');
    expect(reasons.join()).toContain('Not allowed');
  });
});

describe('a server', () => {
  test('that requires a login is reported with advice if its entry has no "auth"', async () => {
    const host = await open(
      listen(undefined, (_request, response) => {
        response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      }),
    );
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons).toEqual([
      'MCP server "it" requires a login: set "auth" (see fileOAuth) or headers: { Authorization: … } in its entry.',
    ]);
  });

  test('that does not speak MCP is reported with its address', async () => {
    const host = await open(
      listen(undefined, (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>');
      }),
    );
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons.join()).toContain(`Could not reach MCP server "it" at ${host.url}: `);
  });

  test('that answers 500 is reported with its status, and no call hangs', async () => {
    const host = await open(listen(undefined, (_request, response) => refuse(response, 500, 'out of memory')));
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    await expect(client.callTool('echo', {})).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
    expect(reasons.join()).toMatch(/500|out of memory/);
  });
});

describe('close', () => {
  test('ends the session of a 2025 server with DELETE', async () => {
    const host = await open(startLegacyHost());
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    await client.listTools();
    await client.close();
    const deletes = host.seen.filter((seen) => seen.verb === 'DELETE');
    expect(deletes).toHaveLength(1);
    expect(deletes[0]?.headers['mcp-session-id']).toEqual(expect.any(String));
    expect(statuses).toEqual(['it: connected', 'it: closed']);
    await client.close();
    expect(host.seen.filter((seen) => seen.verb === 'DELETE')).toHaveLength(1);
  });

  test('waits only briefly for a server that does not answer DELETE', async () => {
    const host = await open(startLegacyHost());
    const mute = await open(
      listen(undefined, (request, response, body) => {
        if (request.method !== 'DELETE') forward(host.port, { request, response, body });
      }),
    );
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: mute.url } } } });
    await client.listTools();
    const started = performance.now();
    await client.close();
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(mute.seen.map(({ verb }) => verb)).toContain('DELETE');
    expect(statuses).toEqual(['it: connected', 'it: closed']);
  });

  test('does not wait for a server that never answers', async () => {
    const host = await open(listen(undefined, () => {}));
    const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    const listing = client.listTools();
    while (host.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await client.close();
    expect(await listing).toEqual([]);
  });

  test('releases a server of this process, which can then serve another client', async () => {
    const server = modernServer();
    const first = testClient({ mcpConfig: server });
    await first.client.listTools();
    await first.client.close();
    const second = testClient({ mcpConfig: server });
    expect(textOfResult(await second.client.callTool('echo', { text: 'next' }))).toBe('next');
  });
});
