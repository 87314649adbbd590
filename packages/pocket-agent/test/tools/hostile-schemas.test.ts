// Input schemas of servers are prepared for providers on the main thread: no schema may keep it busy or fill a history.
import { PocketAgent, type ToolSource } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test, vi } from 'vitest';

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

test('a long list of tools is prepared in slices: other work of the process gets its turns', async () => {
  const inputSchema = { type: 'object' as const, properties: { message: { type: 'string' } } };
  const list = Array.from({ length: 100 }, (_, index) => ({ name: `tool${index}`, inputSchema: { ...inputSchema } }));
  const source: ToolSource = { name: 'many', listTools: () => list, callTool: async () => ({ content: [] }) };
  await using agent = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) }, tools: [source] });
  const turns = await turnsDuring(() => agent.listTools());
  expect(turns).toBeGreaterThan(list.length / 3);
});

/** Turns of the event loop while the clock seems to go on by 6 ms with every look at it: two are more than a slice. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [turns, now] = [0, 0];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 6;
    return now;
  });
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  clock.mockRestore();
  return turns;
}
