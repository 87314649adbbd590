// Tool folders as an MCP server: the official client of both eras, over stdio and HTTP, and another agent.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { describe, expect, onTestFinished, test } from 'vitest';
import { resultText, scriptedAgent, silent } from '../../pocket-agent/test/helpers.ts';
import { fixtures, manifestOf, servedOnStdio, writeFiles } from './files.ts';

const eras = {
  2025: {},
  2026: { versionNegotiation: { mode: { pin: '2026-07-28' as const } } },
};

async function listen(path: string, options: { token?: string; tokens?: Record<string, 'reader' | 'admin'> } = {}) {
  const folder = loadToolFolder(path, { logger: silent });
  const server = await folder.asMcpServer().listen(options);
  onTestFinished(async () => {
    await server.close();
    await folder.close();
  });
  return { folder, server };
}

const stdio = (path: string, ...more: string[]) =>
  new StdioClientTransport({ ...servedOnStdio(path, ...more), stderr: 'ignore' });

async function connect(transport: Transport, era: keyof typeof eras, onTools?: (names: string[]) => void) {
  const onChanged = (_error: unknown, tools: { name: string }[] | null) =>
    onTools?.((tools ?? []).map(({ name }) => name));
  const listChanged = onTools ? { listChanged: { tools: { onChanged, debounceMs: 0 } } } : {};
  const client = new Client({ name: 'tests', version: '1' }, { ...eras[era], ...listChanged });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** What must work over every transport and in both eras. */
async function expectService(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    'give',
    'find',
    'find_old',
    'hang',
    'hang_politely',
    'work',
    'fail',
    'ended',
  ]);
  expect(tools.find(({ name }) => name === 'find')).toMatchObject({ _meta: { capability: 'read' } });
  expect(await client.callTool({ name: 'find', arguments: { name: 'Rome' } })).toMatchObject({
    structuredContent: { name: 'Rome', from: { x: 0, y: 0 } },
  });
  expect(await client.callTool({ name: 'give', arguments: { kind: 'image' } })).toMatchObject({
    content: [{ type: 'image', mimeType: 'image/png' }],
  });
  expect(await client.callTool({ name: 'find', arguments: {} })).toMatchObject({
    isError: true,
    content: [{ text: `Bad arguments for "find": must have required property 'name'` }],
  });
  expect(await client.callTool({ name: 'fail' })).toMatchObject({
    isError: true,
    content: [{ text: 'the disk is full' }],
  });
  expect(await client.callTool({ name: 'give', arguments: { kind: 'BigInt' } })).toMatchObject({ isError: true });
  const big = await client.callTool({ name: 'give', arguments: { kind: 'big' } });
  expect(JSON.stringify(big)).toContain('[truncated: ');
  await expect(client.callTool({ name: 'constructor' })).rejects.toThrow('Tool "constructor" not found');

  // read from the transport, because the SDK's `onprogress` misses progress that arrives with the answer
  const heard: unknown[] = [];
  const { transport = expect.fail('not connected') } = client;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if ('method' in message && message.method === 'notifications/progress') heard.push(message.params?.message);
    onmessage?.(message, extra);
  };
  await client.callTool({ name: 'work', arguments: { steps: 3, ms: 20 } }, { onprogress: () => {} });
  expect(heard).toEqual(expect.arrayContaining(['step 1', 'step 2']));

  const controller = new AbortController();
  const hanging = client.callTool(
    { name: 'hang' },
    { signal: controller.signal, onprogress: () => controller.abort(new Error('enough')) },
  );
  await expect(hanging).rejects.toThrow();
  await expect
    .poll(async () => (await client.callTool({ name: 'ended' })).content)
    .toEqual([{ type: 'text', text: '1' }]);
}

describe.each([2026, 2025] as const)('over stdio to a client of %s', (era) => {
  test('the folders are served', async () => {
    await expectService(await connect(stdio(fixtures), era));
  });

  test('clients are notified when a folder is added', async () => {
    const root = writeFiles({
      'A/manifest.yaml': manifestOf('before'),
      'A/tool.ts': 'export class Tools { async before() {} }',
    });
    const notified = Promise.withResolvers<string[]>();
    const client = await connect(stdio(root, '--watch'), era, notified.resolve);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['before']);
    const prepared = writeFiles({
      'B/manifest.yaml': manifestOf('after'),
      'B/tool.ts': 'export class Tools { async after() {} }',
    });
    renameSync(join(prepared, 'B'), join(root, 'B'));
    expect(await notified.promise).toEqual(['before', 'after']);
  });
});

describe.each([2025, 2026] as const)('to a client of %s', (era) => {
  test('over HTTP', async () => {
    const { server } = await listen(fixtures);
    await expectService(await connect(new StreamableHTTPClientTransport(new URL(server.url)), era));
  });

  test('the log of a tool reaches its client, over HTTP', async () => {
    const { server } = await listen(fixtures);
    const client = await connect(new StreamableHTTPClientTransport(new URL(server.url)), era);
    const logs: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logs.push(params));
    if (era === 2025) await client.setLoggingLevel('debug');
    const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
    await client.callTool({ name: 'work', arguments: { steps: 1 }, _meta });
    await expect.poll(() => logs).toMatchObject([{ level: 'warning', data: 'worked {"steps":1}' }]);
  });

  test('clients are notified when folders are switched, over HTTP', async () => {
    const { folder, server } = await listen(fixtures);
    const lists: string[][] = [];
    await connect(new StreamableHTTPClientTransport(new URL(server.url)), era, (names) => void lists.push(names));
    // a client of 2025 starts to listen a moment after it has connected
    const switched = async () => {
      await folder.activate(['Kinds']);
      return lists[0];
    };
    await expect.poll(switched).toEqual(['give']);
  });
});

test('a server with a token refuses clients without it', async () => {
  const { server } = await listen(fixtures, { token: 'a-secret' });
  await expect(connect(new StreamableHTTPClientTransport(new URL(server.url)), 2026)).rejects.toThrow();
});

test('a token with the profile reader lists and calls only read tools', async () => {
  const { server } = await listen(fixtures, { tokens: { 'for-readers': 'reader', 'for-all': 'admin' } });
  const withToken = (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }), 2026);
  };
  const reader = await withToken('for-readers');
  expect((await reader.listTools()).tools.map(({ name }) => name)).toEqual(['give', 'find']);
  await expect(reader.callTool({ name: 'work' })).rejects.toThrow('Tool "work" not found');
  const all = await withToken('for-all');
  expect(await all.callTool({ name: 'work' })).toMatchObject({ content: [{ text: '3 steps' }] });
});

test('a server with the profile reader offers only read tools', async () => {
  const folder = loadToolFolder(fixtures, { logger: silent });
  const server = await folder.asMcpServer({ profile: 'reader' }).listen();
  onTestFinished(async () => {
    await server.close();
    await folder.close();
  });
  const client = await connect(new StreamableHTTPClientTransport(new URL(server.url)), 2026);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['give', 'find']);
  await expect(client.callTool({ name: 'fail' })).rejects.toThrow('not found');
});

test('another agent uses the folders as an MCP server', async () => {
  const { server } = await listen(fixtures);
  const { agent } = scriptedAgent(
    [{ toolCalls: Array.from({ length: 100 }, () => ({ name: 'work', arguments: { steps: 2 } })) }, 'Done.'],
    { mcpConfig: { mcpServers: { tools: { url: server.url } } } },
  );
  expect(await agent.run('Work.')).toBe('Done.');
  for (let index = 0; index < 100; index++) expect(resultText(agent, index)).toBe('2 steps');
  await agent.close();
});

test('a caller reads the error of a tool without secrets, and only the code of errors behind it', async () => {
  const said = 'key sk-123 is refused by http://admin:hunter2@10.0.0.5/v1';
  const root = writeFiles({
    'shop/manifest.yaml': manifestOf('refuse', 'model'),
    'shop/tool.mjs': `export class Tools {
      async tool_refuse() { throw new Error('closed, says ${said}'); }
      async tool_model() {
        throw Object.assign(new Error('the provider says 10.0.0.5'), { name: 'PocketError', code: 'MODEL_FAILED' });
      }
    }`,
  });
  const lines: string[] = [];
  const logger = { ...silent, error: (line: string) => void lines.push(line) };
  const folder = loadToolFolder(root, { logger });
  const server = await (await folder.asMcpServer()).listen();
  onTestFinished(async () => {
    await server.close();
    await folder.close();
  });
  const client = await connect(new StreamableHTTPClientTransport(new URL(server.url)), 2026);
  const refused = JSON.stringify(await client.callTool({ name: 'refuse' }));
  expect(refused).toContain('closed, says key [redacted]');
  for (const secret of ['sk-123', 'hunter2']) expect(refused).not.toContain(secret);
  expect(await client.callTool({ name: 'model' })).toMatchObject({
    isError: true,
    content: [{ text: 'Tool "model" failed (MODEL_FAILED); its log says why.' }],
  });
  expect(lines.join()).toContain('the provider says 10.0.0.5');
});
