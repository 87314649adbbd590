// Names of tools: bare with one server, `server_tool` with several, valid for every provider, unique, stable.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { functionTools, PocketAgent, type ToolSource, tool } from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { startLegacyHost } from '../fixtures/servers/http-hosts.ts';
import { eventually, folder, open, testClient, textOfResult } from '../fixtures/world.ts';
import { resultText, scriptedAgent, silent } from '../helpers.ts';

/** A server whose tools answer with its label. */
function serverOf(label: string, ...tools: string[]): { server: () => McpServer } {
  return {
    server: () => {
      const server = new McpServer({ name: label, version: '1' });
      for (const name of tools) {
        server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: `${label}/${name}` }] }));
      }
      return server;
    },
  };
}

const names = (tools: readonly { name: string }[]) => tools.map((tool) => tool.name);

describe('by default', () => {
  test('tools of one server keep their names', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { weather: serverOf('w', 'now', 'soon') } } });
    expect(names(await client.listTools())).toEqual(['now', 'soon']);
  });

  test('tools of several servers are prefixed with the server name, and calls reach the right server', async () => {
    const mcpServers = { weather: serverOf('w', 'now'), clock: serverOf('c', 'now') };
    const { client } = testClient({ mcpConfig: { mcpServers } });
    expect(names(await client.listTools())).toEqual(['weather_now', 'clock_now']);
    expect(textOfResult(await client.callTool('weather_now', {}))).toBe('w/now');
    expect(textOfResult(await client.callTool('clock_now', {}))).toBe('c/now');
  });

  test('tools of several servers are frozen, and the same objects at every listing', async () => {
    const mcpServers = { weather: serverOf('w', 'now'), clock: serverOf('c', 'now') };
    const { client } = testClient({ mcpConfig: { mcpServers } });
    const [first, second] = [await client.listTools(), await client.listTools()];
    for (const [index, tool] of first.entries()) {
      expect(Object.isFrozen(tool)).toBe(true);
      expect(second[index]).toBe(tool);
    }
  });

  test('a disabled second server does not count', async () => {
    const mcpServers = { weather: serverOf('w', 'now'), clock: { ...serverOf('c', 'now'), disabled: true } };
    const { client } = testClient({ mcpConfig: { mcpServers } });
    expect(names(await client.listTools())).toEqual(['now']);
  });
});

test('toolPrefix "always" adds the prefix even with a single server', async () => {
  const mcpServers = { weather: serverOf('w', 'now') };
  const { client } = testClient({ mcpConfig: { mcpServers }, toolPrefix: 'always' });
  expect(names(await client.listTools())).toEqual(['weather_now']);
});

test('toolPrefix "never" adds no prefix; of two equal names one is renamed, and both tools can be called', async () => {
  const renamed: unknown[] = [];
  const mcpServers = { weather: serverOf('w', 'now'), clock: serverOf('c', 'now') };
  const { client } = testClient({
    mcpConfig: { mcpServers },
    toolPrefix: 'never',
    onToolRenamed: (change) => renamed.push(change),
  });
  const [first, second, ...more] = names(await client.listTools());
  expect(first).toBe('now');
  expect(second).toMatch(/^now_[0-9a-f]{6}$/);
  expect(more).toEqual([]);
  expect(renamed).toEqual([
    { source: 'clock', ownName: 'now', toolName: second, reason: 'another source already has a tool "now"' },
  ]);
  expect(textOfResult(await client.callTool('now', {}))).toBe('w/now');
  expect(textOfResult(await client.callTool(second ?? '', {}))).toBe('c/now');
  expect(names(await client.listTools())).toEqual([first, second]);
  expect(renamed).toHaveLength(1);
});

test('names that models refuse are made valid and unique, and calls still reach the tool', async () => {
  const long = 'a-very-long-name-that-goes-on-and-on-'.repeat(3);
  const mcpServers = { 'my.server': serverOf('s', 'files.read', 'files_read', `${long}1`, `${long}2`) };
  const renamed: string[] = [];
  const { client } = testClient({
    mcpConfig: { mcpServers },
    toolPrefix: 'always',
    onToolRenamed: ({ ownName, toolName, reason }) => renamed.push(`${ownName} -> ${toolName}: ${reason}`),
  });
  const given = names(await client.listTools());
  expect(new Set(given).size).toBe(4);
  for (const name of given) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(given[0]).toBe('my_server_files_read');
  const texts = await Promise.all(given.map(async (name) => textOfResult(await client.callTool(name, {}))));
  expect(texts).toEqual(['s/files.read', 's/files_read', `s/${long}1`, `s/${long}2`]);
  expect(renamed[0]).toBe('my.server_files.read -> my_server_files_read: not every model accepts this name');
  const again = testClient({ mcpConfig: { mcpServers }, toolPrefix: 'always' });
  expect(names(await again.client.listTools())).toEqual(given);
});

test('an agent emits an event for a renamed tool', async () => {
  const hooks = recordEvents();
  const agent = new PocketAgent({
    agentConfig: { llmModel: new ScriptedModel(['hello']) },
    mcpConfig: { mcpServers: { files: serverOf('f', 'files.read') } },
    hooks,
    logger: silent,
  });
  await agent.run('hi');
  const renamed = hooks.events.flatMap((event) => (event.type === 'tool_renamed' ? [event.data] : []));
  expect(renamed).toEqual([expect.objectContaining({ ownName: 'files.read', toolName: 'files_read' })]);
  await agent.close();
});

test('a server that becomes available later does not rename the tools of others', async () => {
  const host = await startLegacyHost();
  await host.close();
  const mcpServers = { remote: { url: host.url }, local: serverOf('l', 'echo') };
  const { client } = testClient({ mcpConfig: { mcpServers }, toolPrefix: 'never' });
  expect(names(await client.listTools())).toEqual(['echo']);
  await open(startLegacyHost({ port: host.port }));
  await eventually(async () => expect((await client.listTools()).length).toBeGreaterThan(1));
  const both = names(await client.listTools()).filter((name) => name.startsWith('echo'));
  expect(both).toEqual([expect.stringMatching(/^echo_[0-9a-f]{6}$/), 'echo']);
  expect(textOfResult(await client.callTool('echo', {}))).toBe('l/echo');
  expect(textOfResult(await client.callTool(both[0] ?? '', { text: 'remote' }))).toBe('remote');
});

test('a call with the argument object of the SDK is an error that shows the right form', async () => {
  const { client } = testClient({ mcpConfig: { mcpServers: { weather: serverOf('w', 'now') } } });
  const asSdk = client.callTool as unknown as (call: object) => Promise<unknown>;
  await expect(asSdk.call(client, { name: 'now', arguments: {} })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: "The first argument of callTool must be the name of a tool, such as callTool('add'), got an object.",
  });
});

test('an unknown tool is an error that names the available ones', async () => {
  const { client } = testClient({ mcpConfig: { mcpServers: { weather: serverOf('w', 'now', 'soon') } } });
  await expect(client.callTool('later', {})).rejects.toMatchObject({
    code: 'TOOL_UNKNOWN',
    message: 'No MCP server has a tool "later". Available: now, soon.',
  });
  await expect(client.getToolInputFormat('later')).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
  expect(await client.getToolInputFormat('now')).toMatchObject({ type: 'object' });
});

test('a source that keeps renaming its tools does not fill the memory, and does not push out older names', async () => {
  let listed: string[] = [];
  const source: ToolSource & { revision: number } = {
    name: 'changing',
    revision: 0,
    listTools: () => listed.map((name) => ({ name, inputSchema: { type: 'object' } })),
    callTool: async () => ({ content: [] }),
  };
  const fingerprintFile = join(folder(), 'tools.json');
  const agent = new PocketAgent({
    agentConfig: { name: 'A', llmModel: new ScriptedModel([]) },
    tools: [source],
    access: { fingerprintFile },
    logger: silent,
  });
  const list = async (...given: string[]) => {
    listed = given;
    source.revision++;
    return names(await agent.listTools());
  };
  expect(await list('first!')).toEqual(['first_']);
  expect(await list('first_')).not.toEqual(['first_']); // the name is taken by a tool that may come back
  for (const page of ['a', 'b', 'c', 'd'])
    await list(...Array.from({ length: 6_000 }, (_, index) => `${page}${index}`));
  expect(await list('first_')).not.toEqual(['first_']);
  expect(Object.keys(JSON.parse(readFileSync(fingerprintFile, 'utf8'))).length).toBeLessThan(26_002);
  await agent.close();
});

test('two sources with the same name and the same tool name both keep their tool', async () => {
  const one = tool({ name: 'same', description: '', run: () => 'one' });
  const two = tool({ name: 'same', description: '', run: () => 'two' });
  const script = [
    ({ tools = [] }: { tools?: { name: string }[] }) => ({ toolCalls: tools.map(({ name }) => ({ name })) }),
    'ok',
  ];
  const { agent } = scriptedAgent(script, { tools: [functionTools([one]), functionTools([two])] });
  await agent.run('x');
  expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['one', 'two']);
});
