// Input schemas of servers are prepared for providers on the main thread: no schema may keep it busy or fill a history.
import { Server } from '@modelcontextprotocol/server';
import { PocketAgent, type ToolSource } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test, vi } from 'vitest';
import { testClient } from '../fixtures/world.ts';
import { silent } from '../helpers.ts';

function serverWith(inputSchema: object): ToolSource {
  return {
    name: 'hostile',
    listTools: () => [{ name: 'it', inputSchema: inputSchema as { type: 'object' } }],
    callTool: async () => ({ isError: true, content: [{ type: 'text', text: 'invalid arguments' }] }),
  };
}

const references = Array.from({ length: 12 }, () => ({ $ref: '#/$defs/a' }));
const required = Array.from({ length: 20_000 }, (_, index) => `name${index}`);
const renamed = Array.from({ length: 20_000 }, (_, index) => [String.fromCodePoint(0x4e00 + index), {}]);

test.each([
  [
    'combinations that refer to each other',
    { $defs: { a: { properties: { x: {} }, anyOf: references } }, anyOf: references },
  ],
  ['two long lists of required names', { anyOf: [{ required }, { required }] }],
  ['many names that providers refuse', { properties: Object.fromEntries(renamed) }],
])('%s take little time of the main thread', async (_, schema) => {
  const model = new ScriptedModel(['Fine.']);
  const agent = new PocketAgent({
    agentConfig: { llmModel: model },
    tools: [serverWith({ type: 'object', ...schema })],
  });
  const before = process.threadCpuUsage();
  expect(await agent.run('Hello')).toBe('Fine.');
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(5_000);
});

test('a long schema is not repeated in the history when its arguments are refused', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'it' }] }, 'Done.']);
  const tools = [serverWith({ type: 'object', description: 'x'.repeat(2_000_000) })];
  const agent = new PocketAgent({ agentConfig: { llmModel: model }, tools });
  expect(await agent.run('Go.')).toBe('Done.');
  expect(JSON.stringify(agent.messages).length).toBeLessThan(10_000);
});

test('a schema of more than 50,000 values is shown as one of an object without known arguments', async () => {
  const model = new ScriptedModel(['Fine.']);
  const names = Array.from({ length: 50_001 }, (_, index) => index);
  const tools = [serverWith({ type: 'object', properties: { one: { enum: names } } })];
  await new PocketAgent({ agentConfig: { llmModel: model }, tools }).run('Hello');
  expect(model.calls[0]?.tools).toEqual([
    { type: 'function', name: 'it', inputSchema: { type: 'object', properties: {} } },
  ]);
});

test('of properties that contain each other, only the first million characters are compared', async () => {
  const size = 1_000_000;
  const nested = (depth: number): object => ({ properties: { p: depth > 0 ? nested(depth - 1) : 'x'.repeat(size) } });
  const references = Array.from({ length: 50 }, (_, depth) => ({ $ref: `#/$defs/a${'/properties/p'.repeat(depth)}` }));
  const tools = [serverWith({ type: 'object', $defs: { a: nested(50) }, anyOf: references })];
  const agent = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel(['Fine.']) }, tools });
  const stringify = vi.spyOn(JSON, 'stringify');
  await agent.run('Hello');
  const written = stringify.mock.results.map(({ value }) => String(value).length);
  stringify.mockRestore();
  expect(written.filter((length) => length > size).length).toBeLessThan(10);
});

describe('other work of the process gets its turns while a long list of tools', () => {
  const COUNT = 100;
  const inputSchema = { type: 'object' as const, properties: { message: { type: 'string' } } };
  const listed = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `tool${index}`, inputSchema: { ...inputSchema } }));
  const agentWith = (listTools: ToolSource['listTools']) => {
    const source: ToolSource = { name: 'many', listTools, callTool: async () => ({ content: [] }) };
    return new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) }, tools: [source], logger: silent });
  };

  test('is prepared for the provider and named', async () => {
    const list = listed(COUNT);
    await using agent = agentWith(() => list);
    expect(await turnsDuring(() => agent.listTools())).toBeGreaterThan((2 * COUNT) / 3);
  });

  test('is reported as changed', async () => {
    let description = 'as it was';
    await using agent = agentWith(() => listed(COUNT).map((tool) => ({ ...tool, description })));
    await agent.listTools();
    const unchanged = await turnsDuring(() => agent.listTools());
    description = 'other';
    expect((await turnsDuring(() => agent.listTools())) - unchanged).toBeGreaterThan(COUNT / 3);
  });

  test('is compared with the tools as they were, if all are new objects', async () => {
    await using agent = agentWith(() => listed(COUNT));
    const first = await turnsDuring(() => agent.listTools());
    const again = await turnsDuring(() => agent.listTools());
    expect(again - first).toBeGreaterThan(COUNT / 3);
  });

  test('arrives from an MCP server', async () => {
    const turnsAfterAnswer = async (count: number) => {
      let turns: CountedTurns | undefined;
      const server = new Server({ name: 'many', version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler('tools/list', () => {
        turns = countTurns();
        return { tools: listed(count) };
      });
      const { client } = testClient({ mcpConfig: () => server });
      expect(await client.listTools()).toHaveLength(count);
      return turns?.stop() ?? 0;
    };
    const one = await turnsAfterAnswer(1);
    expect((await turnsAfterAnswer(COUNT)) - one).toBeGreaterThan(COUNT / 3);
  });
});

interface CountedTurns {
  stop(): number;
}

/** Counts turns of the event loop while the clock seems to go on by 6 ms with every look at it: two are more than a slice. */
function countTurns(): CountedTurns {
  let [turns, now, isOver] = [0, 0, false];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 6;
    return now;
  });
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return {
    stop: () => {
      isOver = true;
      clock.mockRestore();
      return turns;
    },
  };
}

async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  const turns = countTurns();
  await work();
  return turns.stop();
}
