// Clients that watch single resources: of both eras, on servers of both eras, and only what they may see.
import { Client } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { listen, startSessionHost } from '../../pocket-agent/test/fixtures/servers/http-hosts.ts';
import { type Answer, atEnd, clientV1, clientV2, modern, served, textOf } from './world.ts';

const contents = (uri: URL) => ({ contents: [{ uri: uri.href, text: 'a page' }] });
const updated = 'notifications/resources/updated';

/** Servers with two pages; a tool changes the first one. `subscribed`: addresses that the server of 2025 was asked to watch. */
const servers = {
  '2025': async (subscribed: Set<string>, port?: number) =>
    startSessionHost(() => {
      const server = new LegacyServer(
        { name: 'wiki', version: '1.0.0' },
        { capabilities: { resources: { subscribe: true } } },
      );
      for (const name of ['page', 'secret']) server.registerResource(name, `wiki://${name}`, {}, contents);
      server.server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
        subscribed.add(uri);
        return {};
      });
      server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
        subscribed.delete(uri);
        return {};
      });
      server.registerTool('edit', { annotations: { readOnlyHint: true } }, async () => {
        for (const uri of subscribed) await server.server.sendResourceUpdated({ uri });
        return text('edited');
      });
      return server;
    }, port),
  '2026': async (_subscribed: Set<string>, port?: number) => {
    const handler = createMcpHandler(
      () => {
        const server = new McpServer(
          { name: 'wiki', version: '1.0.0' },
          { capabilities: { resources: { subscribe: true } } },
        );
        for (const name of ['page', 'secret']) server.registerResource(name, `wiki://${name}`, {}, contents);
        server.registerTool('edit', { annotations: { readOnlyHint: true } }, () => {
          for (const name of ['page', 'secret']) handler.notify.resourceUpdated(`wiki://${name}`);
          return text('edited');
        });
        return server;
      },
      { legacy: 'reject' },
    );
    return listen(port, toNodeHandler(handler));
  },
};

/** A client, and the addresses that it was told of. */
function watcher(options: object = {}) {
  const client = new Client({ name: 'tests', version: '1' }, options);
  const told: string[] = [];
  client.setNotificationHandler(updated, ({ params }) => void told.push(params.uri));
  return { client, told };
}

describe.each(['2025', '2026'] as const)('a server of %s', (era) => {
  test('announces a changed resource to the clients of both eras that watch it, while they do', async () => {
    const subscribed = new Set<string>();
    const host = await servers[era](subscribed);
    atEnd(() => host.close());
    const { url, caller } = await served({ mcpServers: { wiki: { url: host.url } } });
    const token = await caller('ann', { profile: 'admin' });
    const [old, recent, other] = [watcher(), watcher(modern), watcher()];
    for (const { client } of [old, recent, other]) await clientV2(url, token, client);
    const edit = async () => textOf((await other.client.callTool({ name: 'wiki__edit', arguments: {} })) as Answer);
    await old.client.subscribeResource({ uri: 'wiki://page' });
    const stream = await recent.client.listen({ resourceSubscriptions: ['wiki://page', 'wiki://none'] });
    expect(stream.honoredFilter.resourceSubscriptions).toEqual(['wiki://page']);
    await edit();
    await expect.poll(() => [old.told, recent.told]).toEqual([['wiki://page'], ['wiki://page']]);
    await stream.close();
    await edit();
    await expect.poll(() => old.told).toHaveLength(2);
    await old.client.unsubscribeResource({ uri: 'wiki://page' });
    if (era === '2025') await expect.poll(() => [...subscribed]).toEqual([]);
    await edit();
    await edit();
    expect([old.told.length, recent.told.length, other.told]).toEqual([2, 1, []]);
  });

  test('tells of changes again after a restart', async () => {
    const host = await servers[era](new Set());
    const { url, caller } = await served({ mcpServers: { wiki: { url: host.url, waitMs: 200 } } });
    const { client, told } = watcher();
    await clientV2(url, await caller('ann', { profile: 'admin' }), client);
    await client.subscribeResource({ uri: 'wiki://page' });
    await host.close();
    const port = Number(new URL(host.url).port);
    const again = await servers[era](new Set(), port);
    atEnd(() => again.close());
    const toldAfterEdit = async () => {
      await client.callTool({ name: 'wiki__edit', arguments: {} }).catch(() => {});
      return told;
    };
    await expect.poll(toldAfterEdit).toContain('wiki://page');
  });
});

test('the resources that are watched over a connection of 2026 share a stream, and each can be given up alone', async () => {
  const open = new Set<string[]>();
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: 'wiki', version: '1.0.0' },
        { capabilities: { resources: { subscribe: true } } },
      );
      for (let index = 0; index < 20; index++) server.registerResource(`${index}`, `wiki://${index}`, {}, contents);
      return server;
    },
    { legacy: 'reject' },
  );
  const handle = toNodeHandler({
    async fetch(request, more) {
      const body = await request.clone().text();
      const response = await handler.fetch(request, more);
      if (!body.includes('subscriptions/listen')) return response;
      const uris: string[] = JSON.parse(body).params.notifications.resourceSubscriptions ?? [];
      open.add(uris);
      request.signal.addEventListener('abort', () => open.delete(uris));
      return response;
    },
  });
  const host = await listen(undefined, handle);
  atEnd(() => host.close());
  const { url, caller } = await served({ mcpServers: { wiki: { url: host.url } } });
  const { client, told } = watcher();
  await clientV2(url, await caller('ann', { profile: 'admin' }), client);
  const uris = Array.from({ length: 20 }, (_, index) => `wiki://${index}`);
  await Promise.all(uris.map((uri) => client.subscribeResource({ uri })));
  const watched = () => [...open].filter((each) => each.length > 0).map((each) => each.toSorted());
  await expect.poll(watched).toEqual([uris.toSorted()]);
  await client.unsubscribeResource({ uri: 'wiki://7' });
  await expect.poll(watched).toEqual([uris.filter((uri) => uri !== 'wiki://7').toSorted()]);
  handler.notify.resourceUpdated('wiki://7');
  handler.notify.resourceUpdated('wiki://8');
  await expect.poll(() => told).toEqual(['wiki://8']);
});

test('a caller watches at most 100 resources of a server, and others may watch still', async () => {
  const pages = () => {
    const server = new McpServer(
      { name: 'wiki', version: '1.0.0' },
      { capabilities: { resources: { subscribe: true } } },
    );
    server.registerResource('page', new ResourceTemplate('wiki://{page}', { list: undefined }), {}, contents);
    server.server.setRequestHandler('resources/subscribe', () => ({}));
    return server;
  };
  const { url, caller } = await served({ mcpServers: { wiki: { server: pages, shared: true } } });
  const uris = Array.from({ length: 110 }, (_, index) => `wiki://${index}`);
  const watched: (number | undefined)[] = [];
  for (const name of ['ann', 'bob']) {
    const { client } = watcher(modern);
    await clientV2(url, await caller(name, { profile: 'reader' }), client);
    const { honoredFilter } = await client.listen({ resourceSubscriptions: name === 'ann' ? uris : uris.slice(-5) });
    watched.push(honoredFilter.resourceSubscriptions?.length);
  }
  expect(watched).toEqual([100, 5]);
});

test('a resource that a caller may not see cannot be watched', async () => {
  const host = await servers['2026'](new Set());
  atEnd(() => host.close());
  const { url, caller } = await served({
    mcpServers: { wiki: { url: host.url, shared: true } },
    profiles: { staff: { capabilities: ['read'], deny: ['resource:wiki:wiki://secret'] } },
  });
  const token = await caller('ann', { profile: 'staff' });
  const old = await clientV1(url, token);
  await expect(old.subscribeResource({ uri: 'wiki://secret' })).rejects.toThrow('Resource wiki://secret not found');
  await expect(old.subscribeResource({ uri: 'wiki://none' })).rejects.toThrow('Resource wiki://none not found');
  const { client, told } = watcher(modern);
  await clientV2(url, token, client);
  const stream = await client.listen({ resourceSubscriptions: ['wiki://secret', 'wiki://page'] });
  expect(stream.honoredFilter.resourceSubscriptions).toEqual(['wiki://page']);
  // another caller watches it
  const eve = watcher(modern);
  await clientV2(url, await caller('eve', { profile: 'admin' }), eve.client);
  await eve.client.listen({ resourceSubscriptions: ['wiki://secret'] });
  await eve.client.callTool({ name: 'wiki__edit', arguments: {} });
  await expect.poll(() => [eve.told, told]).toEqual([['wiki://secret'], ['wiki://page']]);
});
