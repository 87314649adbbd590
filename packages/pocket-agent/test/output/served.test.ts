// Agents with an output as sub-agents and as MCP servers: their answers are structured content.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { PocketAgent, type ToolResult } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { resultText, scriptedAgent, silent } from '../helpers.ts';
import { clientKinds, connect } from '../serve/clients.ts';

const Report = z.object({ city: z.string(), celsius: z.number().default(0) });
const zurich = { city: 'Zurich', celsius: 21 };
const answer = (value: unknown) => ({
  toolCalls: [{ name: 'final_answer', arguments: value as Record<string, unknown> }],
});

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Calls the sub-agent once; returns the parent agent, its result, and the schema it was told. */
async function callSubAgent(sub: PocketAgent<unknown>) {
  const results: ToolResult[] = [];
  const ask = { toolCalls: [{ name: 'Sub-message', arguments: { message: 'How warm?' } }] };
  const { agent } = scriptedAgent([ask, 'done'], {
    subAgents: [sub],
    hooks: { postToolCall: (_, __, result) => void results.push(result) },
  });
  await agent.run('?');
  const [tool] = await agent.listTools();
  return { agent, result: results[0], schema: tool?.tool.outputSchema };
}

describe('a sub-agent with an output', () => {
  test('returns its value as structured content, with the schema in its tool', async () => {
    const llmModel = new ScriptedModel([answer(zurich)]);
    const sub = new PocketAgent({ llmModel, name: 'Sub', output: Report, logger: silent });
    const { agent, result, schema } = await callSubAgent(sub);
    expect(result?.extra.structuredContent).toEqual(zurich);
    expect(resultText(agent)).toBe(JSON.stringify(zurich));
    expect(schema).toMatchObject({ type: 'object', required: ['city', 'celsius'] });
  });

  test.each([
    ['a list', z.array(z.number()), [1, 2], '[1,2]'],
    ['a string', z.enum(['yes', 'no']), 'yes', 'yes'],
    ['one of several', z.union([z.string(), z.object({ a: z.number() })]), { a: 1 }, '{"a":1}'],
  ])('wraps %s, because structured content is an object', async (_what, output, value, text) => {
    const llmModel = new ScriptedModel([answer({ value })]);
    const sub = new PocketAgent<unknown>({ llmModel, name: 'Sub', output, logger: silent });
    const { agent, result, schema } = await callSubAgent(sub);
    expect(result?.extra.structuredContent).toEqual({ value });
    expect(resultText(agent)).toBe(text);
    expect(schema).toMatchObject({ type: 'object', properties: { value: {} }, required: ['value'] });
  });

  test('whose values JSON Schema cannot describe returns them as JSON', async () => {
    const output = z.object({ day: z.string().transform((text) => new Date(text)) });
    const llmModel = new ScriptedModel([answer({ day: '2026-11-18' })]);
    const { result, schema } = await callSubAgent(new PocketAgent({ llmModel, name: 'Sub', output, logger: silent }));
    expect(result?.extra.structuredContent).toEqual({ day: '2026-11-18T00:00:00.000Z' });
    expect(schema).toEqual({ type: 'object' });
  });

  test('that gives no fitting answer fails as a tool, and the reason goes to the model', async () => {
    const llmModel = new ScriptedModel([answer({}), answer({})]);
    const { agent } = await callSubAgent(new PocketAgent({ llmModel, name: 'Sub', output: Report, logger: silent }));
    expect(resultText(agent)).toContain('The answer does not fit the output schema after 1 correction: city: ');
  });
});

describe('an agent with an output, served over MCP', () => {
  async function serve(...script: ConstructorParameters<typeof ScriptedModel>[0]) {
    const llmModel = new ScriptedModel(script);
    const agent = new PocketAgent({ llmModel, name: 'Tester', output: Report, logger: silent });
    cleanUps.push(() => agent.close());
    return (await agent.asMcpServer().listen()).url;
  }

  test.each(clientKinds)('gives a value that fits its schema to %s', async (kind) => {
    const client = await connect(kind, { url: await serve(answer(zurich)) });
    cleanUps.push(() => client.close());
    const { structuredContent, content, isError } = await client.say('How warm?');
    expect([structuredContent, content[0]?.text, isError ?? false]).toEqual([zurich, JSON.stringify(zurich), false]);
  });

  test('lists the schema', async () => {
    const client = new Client({ name: 'tests', version: '1' });
    cleanUps.push(() => client.close());
    await client.connect(new StreamableHTTPClientTransport(new URL(await serve())));
    const { tools } = await client.listTools();
    expect(tools[0]?.outputSchema).toMatchObject({ type: 'object', required: ['city', 'celsius'] });
  });

  test('reports an answer that does not fit as an error', async () => {
    const client = await connect('SDK v2 in 2025', { url: await serve(answer({}), answer({})) });
    cleanUps.push(() => client.close());
    const { isError, content } = await client.say('How warm?');
    expect(isError).toBe(true);
    expect(content[0]?.text).toContain('The answer does not fit the output schema');
  });
});

test('createAgent with another output than the served agent is refused, and the log says why', async () => {
  const errors: string[] = [];
  const logger = { ...silent, error: (text: string) => void errors.push(text) };
  const typed = { llmModel: new ScriptedModel([]), name: 'Tester', output: Report, logger };
  const agent = new PocketAgent<unknown>(typed);
  cleanUps.push(() => agent.close());
  const createAgent = () => scriptedAgent(['21 degrees']).agent;
  const { url } = await agent.asMcpServer({ createAgent }).listen();
  const client = await connect('SDK v2 in 2026', { url });
  cleanUps.push(() => client.close());
  expect(await client.say('How warm?')).toMatchObject({ isError: true });
  expect(errors.join()).toContain('createAgent() of Tester makes agents with another output than the served agent');
  const same = new PocketAgent<unknown>({ ...typed, llmModel: new ScriptedModel([answer(zurich)]) });
  const { url: other } = await agent.asMcpServer({ createAgent: () => same }).listen();
  const talker = await connect('SDK v2 in 2026', { url: other });
  cleanUps.push(() => talker.close());
  expect(await talker.say('How warm?')).toMatchObject({ structuredContent: zurich });
});
