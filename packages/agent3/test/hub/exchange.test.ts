// MCP servers beside agents, and exchange with other registries.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { Gateway, openGatewayState } from '@pocket-agent/gateway';
import { serveHttp } from '@pocket-agent/http/mcp';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { importAgents } from '../../src/index.ts';
import { atEnd } from '../fixtures/cleanup.ts';
import { cardOf, serve } from '../fixtures/local-server.ts';
import { alice, ask, open, startHub } from '../fixtures/mcp-setup.ts';

/** A real MCP server with one tool. */
async function startMcpServer(): Promise<string> {
  const factory = () => {
    const server = new McpServer(
      { name: 'tide tables', version: '2.1.0' },
      { instructions: 'Tides of the North Sea.' },
    );
    const inputSchema = z.object({ port: z.string() });
    server.registerTool('high_water', { description: 'When the sea is highest', inputSchema }, ({ port }) => ({
      content: [{ type: 'text', text: `in ${port} at noon` }],
    }));
    return server;
  };
  const server = await serveHttp(factory, {});
  atEnd(() => server.close());
  return server.url;
}

const packaged = {
  name: 'io.github.sea/files',
  description: 'Reads files of sailors',
  version: '1.0.2',
  packages: [
    { registryType: 'mcpb', identifier: 'https://sea.example/files.mcpb', transport: { type: 'stdio' } },
    {
      registryType: 'npm',
      identifier: '@sea/files',
      version: '1.0.2',
      transport: { type: 'stdio' },
      environmentVariables: [
        { name: 'SEA_KEY', isRequired: true, isSecret: true },
        { name: 'LEVEL', default: 'info' },
        { name: 'X' },
      ],
      packageArguments: [
        { type: 'positional', valueHint: 'folder', isRequired: true },
        { type: 'named', name: '--mode', value: 'ro' },
      ],
    },
  ],
};

test('an MCP server is registered by its address, found by its tools, and handed to a gateway', async () => {
  const agent3 = await open();
  const hub = await startHub({ agent3 });
  const mcpUrl = await startMcpServer();
  await agent3.register({ card: cardOf('http://127.0.0.1:1', { name: 'Tide poet' }) }, alice);
  const { status, body: server } = await ask(hub, '/api/agents', { owner: 'alice', body: { mcpUrl } });
  expect([status, server.kind, server.skills[0].id]).toEqual([201, 'mcp', 'high_water']);
  expect((await agent3.search({ query: 'when is the sea highest' })).agents).toMatchObject([{ id: server.id }]);
  const kinds = async (protocol: string) =>
    (await agent3.search({ query: 'tide', filters: { protocols: [protocol] } })).agents.map(
      ({ kind = 'agent' }) => kind,
    );
  expect([await kinds('mcp'), await kinds('a2a')]).toEqual([['mcp'], ['agent']]);
  expect(await agent3.call({ agentId: server.id, message: 'hi' }, alice)).toMatchObject({
    errorCode: 'PROTOCOL',
    error: expect.stringContaining('agent3 gateway'),
  });
  const { body } = await ask(hub, `/api/agents/${server.id}/mcp`);
  expect(body).toEqual({ mcpServers: { 'tide-tables': { type: 'http', url: mcpUrl } } });

  const state = await openGatewayState(':memory:');
  const gateway = new Gateway({ ...body, state, logger: silent });
  atEnd(async () => {
    await gateway.close();
    await state.close();
  });
  const { url } = await gateway.listen();
  const client = new Client({ name: 'tests', version: '1' });
  atEnd(() => client.close());
  const headers = { authorization: `Bearer ${await state.addCaller('me', { profile: 'admin' })}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const called = await client.callTool({ name: 'tide-tables__high_water', arguments: { port: 'Husum' } });
  expect(called.content).toEqual([{ type: 'text', text: 'in Husum at noon' }]);
  const page = await ask(hub, `/agents/${server.id}`);
  expect(page.text).toContain('Connect it');
  expect(page.text).not.toContain('Call it');
});

test('a packaged MCP server becomes a command, with variables for what a person must give', async () => {
  const agent3 = await open();
  const { id, health, protocols } = await agent3.register({ server: packaged }, alice);
  expect([health, protocols]).toEqual(['unknown', ['mcp', 'stdio']]);
  const hub = await startHub({ agent3 });
  expect((await ask(hub, `/api/agents/${id}/mcp`)).body).toEqual({
    mcpServers: {
      files: {
        command: 'npx',
        args: ['-y', '@sea/files@1.0.2', '<folder>', '--mode', 'ro'],
        env: { SEA_KEY: `${'$'}{SEA_KEY}`, LEVEL: 'info' },
      },
    },
  });
});

test('a card that claims to be an MCP server is registered as the agent it is', async () => {
  const agent3 = await open();
  const card = cardOf('http://127.0.0.1:1', { mcpServer: packaged });
  expect(await agent3.register({ card }, alice)).not.toHaveProperty('kind');
});

test.each([
  [{ ...packaged, name: 'no namespace' }, 'io.github.user/weather'],
  [{ ...packaged, packages: [] }, 'needs remotes or packages'],
  [{ ...packaged, remotes: [{ type: 'streamable-http', url: 'http://sea.example/mcp' }] }, 'must be https'],
])('a server.json that cannot be used is refused: %#', async (server, words) => {
  const agent3 = await open();
  const hub = await startHub({ agent3 });
  const { status, body } = await ask(hub, '/api/agents', { owner: 'alice', body: { server } });
  expect([status, body.error.message]).toEqual([400, expect.stringContaining(words)]);
});

test('a hub imports the AI catalog of another hub, page by page, and agents keep their card URLs', async () => {
  const first = await open();
  const second = await open();
  const hub = await startHub({ agent3: first });
  const cardUrl = `${await serve((_, response) => void response.end(JSON.stringify(cardOf('http://127.0.0.1:1/served'))))}/c`;
  await first.register({ cardUrl }, alice);
  await first.register({ server: packaged }, alice);
  for (const number of [2, 3, 4])
    await first.register({ card: cardOf(`http://127.0.0.1:${number}`, { name: `Echo ${number}` }) }, alice);
  const { body, headers } = await ask(hub, '/.well-known/ai-catalog.json?limit=2');
  expect(headers.get('content-type')).toContain('application/ai-catalog+json');
  expect(body).toMatchObject({
    specVersion: '1.0',
    entries: [
      { type: 'application/a2a-agent-card+json', url: cardUrl, displayName: 'Echo' },
      { type: 'application/mcp-server-card+json', data: packaged },
      { type: 'application/ai-catalog+json' },
    ],
  });
  const options = { agent3: second, caller: alice, allowHosts: ['127.0.0.1'] };
  const { registered, skipped } = await importAgents(`${hub.url}.well-known/ai-catalog.json?limit=2`, options);
  expect([registered.length, skipped]).toEqual([5, []]);
  expect((await second.search({ query: 'echo' })).totalFound).toBe(4);
  const again = await importAgents(`${hub.url}.well-known/ai-catalog.json?limit=2`, options);
  expect([...again.registered].sort()).toEqual([...registered].sort());
  expect((await importAgents(`${hub.url}api/catalog`, { ...options, limit: 2 })).registered).toHaveLength(2);
});

test('MCP servers come from, and go to, clients of the MCP registry', async () => {
  const first = await open();
  const hub = await startHub({ agent3: first });
  for (const name of ['one', 'two', 'three'])
    await first.register({ server: { ...packaged, name: `io.github.sea/${name}` } }, alice);
  await first.register({ card: cardOf('http://127.0.0.1:1') }, alice);
  const page = await ask(hub, '/v0.1/servers?limit=2&version=latest');
  expect(page.body).toMatchObject({
    servers: [
      {
        server: { name: 'io.github.sea/one' },
        _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active' } },
      },
      {},
    ],
    metadata: { count: 2, nextCursor: expect.any(String) },
  });
  expect((await ask(hub, '/v0/servers?search=sailors')).body.servers).toHaveLength(3);
  const second = await open();
  const options = { agent3: second, caller: alice, allowHosts: ['127.0.0.1'] };
  const { registered } = await importAgents(`${hub.url}v0.1/servers?limit=2`, options);
  expect(registered).toHaveLength(3);
});

test('an import skips what it does not know, ends at a catalog that names itself, and refuses other documents', async () => {
  const agent3 = await open();
  const entries = [
    { identifier: 'urn:a', type: 'application/ai-catalog+json', url: '/catalog' },
    { identifier: 'urn:b', type: 'text/csv', url: 'https://sea.example/tides.csv', displayName: 'Tides' },
    {
      identifier: 'urn:c',
      type: 'application/a2a-agent-card+json',
      url: 'http://127.0.0.1:1/card',
      displayName: 'Gone',
    },
    { identifier: 'urn:d', type: 'application/a2a-agent-card+json', data: cardOf('http://127.0.0.1:1') },
  ];
  const base = await serve(
    (request, response) =>
      void response.end(
        JSON.stringify(request.url === '/catalog' ? { specVersion: '1.0', entries } : { hello: 'you' }),
      ),
  );
  const options = { agent3, caller: alice, allowHosts: ['127.0.0.1'] };
  const { registered, skipped } = await importAgents(`${base}/catalog`, options);
  expect(registered).toHaveLength(1);
  expect(skipped).toEqual([
    { name: 'Gone', reason: expect.stringContaining('Could not read') },
    { name: 'Tides', reason: 'neither an A2A agent nor an MCP server' },
  ]);
  await expect(importAgents(`${base}/other`, options)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(importAgents('/nowhere.json', options)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});
