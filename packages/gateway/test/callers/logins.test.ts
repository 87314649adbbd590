// Who a caller is for the servers: a login for each; and lists that are longer than a page, on both sides.
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { fileOAuth, functionTools, tool } from 'pocket-agent';
import { expect, test } from 'vitest';
import { startProtectedHost } from '../../../pocket-agent/test/fixtures/servers/authorization-server.ts';
import { atEnd, clientV1, connect, kinds, namesOf, served, temporaryFolder } from '../world.ts';

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
