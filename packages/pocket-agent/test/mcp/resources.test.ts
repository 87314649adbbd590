// Resources and prompts of servers, and the reference server that has every feature.
import { describe, expect, test } from 'vitest';
import { quickStart } from '../fixtures/programs/quick-start.ts';
import { modernServer } from '../fixtures/servers/modern-tools.ts';
import { eventually, fixture, stdio, testClient, textOfResult } from '../fixtures/world.ts';

const everything = fixture('../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js');

describe.each([
  ['2025', { server: modernServer() }],
  ['2026', { server: () => modernServer() }],
])('a server of the %s era', (_era, entry) => {
  test('lists and reads resources and prompts', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { it: entry } } });
    const notes = { uri: 'memo://notes', server: 'it', name: 'notes' };
    expect(await client.listResources()).toEqual([expect.objectContaining(notes)]);
    expect(await client.readResource('it', 'memo://notes')).toMatchObject({
      contents: [{ uri: 'memo://notes', text: 'remember the milk' }],
    });
    expect(await client.listPrompts('it')).toEqual([expect.objectContaining({ name: 'greet', server: 'it' })]);
    expect(await client.getPrompt('it', 'greet', { name: 'Ada' })).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ada' } }],
    });
    await expect(client.readResource('it', 'memo://nothing')).rejects.toThrow('memo://nothing');
    await expect(client.getPrompt('it', 'nothing')).rejects.toThrow('nothing');
  });
});

test('lists contain the items of every server that answers, and the other servers are logged', async () => {
  const mcpServers = {
    good: { server: () => modernServer() },
    bare: stdio('stdio-legacy.ts'),
    bad: { command: 'no-such-program-here' },
  };
  const { client, lines } = testClient({ mcpConfig: { mcpServers } });
  expect((await client.listResources()).map((resource) => `${resource.server} ${resource.name}`)).toEqual([
    'good notes',
  ]);
  expect((await client.listPrompts()).map((prompt) => `${prompt.server} ${prompt.name}`)).toEqual(['good greet']);
  expect(await client.listResourceTemplates()).toEqual([]);
  expect(lines.join('\n')).toContain('MCP server "bad" did not list its resources');
  await expect(client.listResources('bad')).rejects.toMatchObject({ code: 'MCP_CONNECT_FAILED' });
});

test('an unknown server is an error that names the available ones', async () => {
  const { client } = testClient({ mcpConfig: { mcpServers: { one: { server: () => modernServer() } } } });
  await expect(client.readResource('two', 'memo://notes')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'There is no MCP server "two". Available: one.',
  });
});

test('the reference server with every feature works', async () => {
  const progress: number[] = [];
  const { client } = testClient({
    mcpConfig: {
      mcpServers: { everything: { command: process.execPath, args: [everything, 'stdio'], env: quickStart } },
    },
    elicitationHandler: () => ({ action: 'accept', content: { name: 'Ada' } }),
    samplingHandler: () => ({ model: 'mine', role: 'assistant', content: { type: 'text', text: 'sampled words' } }),
    roots: [{ uri: 'file:///tmp', name: 'tmp' }],
  });
  // it registers tools that need our capabilities after the handshake
  await eventually(async () => {
    const tools = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(
      expect.arrayContaining(['echo', 'trigger-elicitation-request', 'trigger-sampling-request', 'get-roots-list']),
    );
  });
  expect(textOfResult(await client.callTool('echo', { message: 'hi' }))).toBe('Echo: hi');
  expect(textOfResult(await client.callTool('get-sum', { a: 2, b: 3 }))).toContain('5');
  expect((await client.callTool('get-tiny-image', {})).content.map((part) => part.type)).toContain('image');
  expect((await client.callTool('get-structured-content', { location: 'New York' })).structuredContent).toBeDefined();
  expect(textOfResult(await client.callTool('trigger-elicitation-request', {}))).toContain('Ada');
  const sampled = await client.callTool('trigger-sampling-request', { prompt: 'a poem', maxTokens: 10 });
  expect(textOfResult(sampled)).toContain('sampled words');
  await client.callTool(
    'trigger-long-running-operation',
    { duration: 0.1, steps: 4 },
    { progress: (update) => progress.push(update.progress) },
  );
  expect(progress).toEqual([1, 2, 3, 4]);
  expect((await client.listResources()).length).toBeGreaterThan(0);
  expect((await client.listResourceTemplates()).length).toBeGreaterThan(0);
  expect((await client.listPrompts()).length).toBeGreaterThan(0);
});
