// Schemas of MCP servers are checked in child processes: whatever they contain, this process stays free, deadlines and
// signals work, and the caller gets an error that names the tool.
import type { ToolSource } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { limitChecks } from '../../../schema/test/check-limit.ts';
import type { Host } from '../fixtures/servers/http-hosts.ts';
import { json, listing, plainHost } from '../fixtures/servers/plain-host.ts';
import { open, testClient } from '../fixtures/world.ts';
import { resultText, scriptedAgent } from '../helpers.ts';

const slowText = `${'a'.repeat(32)}!`;
const slowPattern = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };

/** Each level doubles the work of the one before. */
function doubling(levels: number, level: (next: object) => object, last: object) {
  const defs = Array.from({ length: levels }, (_, index) => [`l${index}`, level({ $ref: `#/$defs/l${index + 1}` })]);
  return { type: 'object', $ref: '#/$defs/l0', $defs: Object.fromEntries([...defs, [`l${levels}`, last]]) };
}

const manyDefaults = doubling(
  40,
  (next) => ({ type: 'object', default: {}, properties: { left: next, right: next } }),
  { default: 1 },
);

const hostileOutputs: [string, object, object][] = [
  ['pattern', slowPattern, { text: slowText }],
  ['pattern_properties', { type: 'object', patternProperties: { '^(a+)+$': { type: 'null' } } }, { [slowText]: 1 }],
  ['choices', doubling(40, (next) => ({ anyOf: [next, next] }), { required: ['missing'] }), {}],
  [
    'unique_items',
    {
      type: 'object',
      properties: { list: { allOf: Array.from({ length: 100 }, () => ({ uniqueItems: true })) } },
    },
    { list: Array.from({ length: 4_000 }, (_, index) => ({ index })) },
  ],
];

function serverWith(tool: object, result: object = { content: [] }): Promise<Host> {
  return open(plainHost({ 'tools/list': listing(tool), 'tools/call': json({ result }) }));
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

async function runWithHarmlessTool(): Promise<void> {
  const { url } = await serverWith({ outputSchema: { type: 'object' } }, { content: [], structuredContent: {} });
  const { client } = testClient({ mcpConfig: { mcpServers: { harmless: { url } } } });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'it' }] }, 'Done.'], { mcpClient: client });
  await agent.run('Go.');
}

const calls = (host: Host) => host.seen.filter(({ method }) => method === 'tools/call');

describe('an output schema', () => {
  test('that takes too long to check fails only its call and does not block this process', async () => {
    limitChecks(500); // on this thread the four checks would take 2 s
    const entries = hostileOutputs.map(async ([name, outputSchema, structuredContent]) => {
      const { url } = await serverWith({ outputSchema }, { content: [], structuredContent });
      return [name, { url }] as const;
    });
    const { client } = testClient({
      mcpConfig: { mcpServers: Object.fromEntries(await Promise.all(entries)) },
      toolPrefix: 'always',
    });
    const tools = await client.listTools();
    const toolCalls = tools.map(({ name }) => ({ name }));
    const { agent } = scriptedAgent([{ toolCalls }, 'Done.'], { mcpClient: client });
    await runWithHarmlessTool(); // loads modules
    expect(await cpuMs(() => agent.run('Go.'))).toBeLessThan(1_500);
    for (const [index, [name]] of hostileOutputs.entries()) {
      expect(resultText(agent, index)).toMatch(
        new RegExp(
          `"it" of MCP server "${name}" was called, but its result could not be checked .* (longer than|out of memory)`,
        ),
      );
    }
  });

  test('is checked for results as large as a message may be', async () => {
    const rows = Array.from({ length: 9 }, () => 'x'.repeat(1_000_000));
    const items = { type: 'string' };
    const outputSchema = { type: 'object', properties: { rows: { type: 'array', items } }, required: ['rows'] };
    const host = await serverWith({ outputSchema }, { content: [], structuredContent: { rows } });
    const { client } = testClient({ mcpConfig: { mcpServers: { large: { url: host.url } } } });
    const results = await Promise.all([1, 2].map(() => client.callTool('it', {})));
    expect(results.map((result) => JSON.stringify(result).length > 9_000_000)).toEqual([true, true]);
  });

  test('that is too long is refused before the call', async () => {
    const host = await serverWith({ outputSchema: { type: 'object', description: 'x'.repeat(1_100_000) } });
    const { client } = testClient({ mcpConfig: { mcpServers: { vast: { url: host.url } } } });
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'MCP_REQUEST_FAILED',
      message: expect.stringMatching(/"it" of MCP server "vast" was not called: .* longer than 1000000 characters/),
    });
    expect(calls(host)).toEqual([]);
  });

  test('that is invalid is refused before the call', async () => {
    const host = await serverWith({ outputSchema: { type: 'object', properties: { a: { pattern: '(' } } } });
    const { client } = testClient({ mcpConfig: { mcpServers: { odd: { url: host.url } } } });
    await expect(client.callTool('it', {})).rejects.toThrow('"it" of MCP server "odd" was not called');
    expect(calls(host)).toEqual([]);
  });

  test('does not hold a run beyond its deadline', async () => {
    const answer = { content: [], structuredContent: { text: slowText } };
    const { url } = await serverWith({ outputSchema: slowPattern }, answer);
    const { client } = testClient({ mcpConfig: { mcpServers: { evil: { url } } } });
    await client.listTools();
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'it' }] }], { mcpClient: client });
    const run = agent.run('Go.', { timeoutMs: 300 });
    const spent = cpuMs(() => expect(run).rejects.toMatchObject({ code: 'TIMEOUT' }));
    expect(await spent).toBeLessThan(2_000);
  });
});

describe('an input schema, where calls need approval', () => {
  test.each<[string, number, object, Record<string, unknown>, RegExp]>([
    ['a pattern that backtracks', 600, slowPattern, { text: slowText }, /longer than \d+00 ms/],
    ['defaults that grow exponentially', 10_000, manyDefaults, { left: {} }, /defaults add more than/],
  ])('with %s refuses the call and does not block this process', async (_what, limitMs, inputSchema, args, reason) => {
    limitChecks(limitMs);
    const host = await serverWith({ inputSchema });
    let asked = 0;
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'it', arguments: args }] }, 'Done.'], {
      mcpConfig: { mcpServers: { evil: { url: host.url } } },
      access: { confirm: 'always' },
      approve: () => {
        asked++;
        return 'allow';
      },
    });
    expect(await cpuMs(() => agent.run('Go.'))).toBeLessThan(500);
    await agent.close();
    expect(resultText(agent)).toMatch(/^"it" was not called: its arguments could not be checked/);
    expect(resultText(agent)).toMatch(reason);
    expect([asked, calls(host)]).toEqual([0, []]);
  });

  test('that takes long to check does not hold up the calls to another source', async () => {
    const source = (name: string, properties: Record<string, { type: string; pattern: string }>): ToolSource => ({
      name,
      listTools: () => [{ name, inputSchema: { type: 'object' as const, properties } }],
      callTool: async () => ({ content: [] }),
    });
    const toolCalls = [{ name: 'slow', arguments: { text: slowText } }, { name: 'quick' }];
    const stop = new AbortController();
    const { agent } = scriptedAgent([{ toolCalls }], {
      tools: [source('slow', slowPattern.properties), source('quick', {})],
      access: { confirm: 'always' },
      approve: () => {
        stop.abort();
        return 'deny';
      },
    });
    await expect(agent.run('Go.', { signal: stop.signal })).rejects.toMatchObject({ code: 'ABORTED' });
    expect(resultText(agent)).not.toContain('longer than');
  });
});
