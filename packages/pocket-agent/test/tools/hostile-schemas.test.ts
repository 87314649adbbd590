// Input schemas of servers are prepared for providers on the main thread: no schema may keep it busy or fill a history.
import { PocketAgent, type ToolSource } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';

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
