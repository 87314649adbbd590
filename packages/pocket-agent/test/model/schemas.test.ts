// Tools whose schemas or names a provider rejects are repaired, or the one tool is left out; the others always work.
import { type FunctionTool, PocketAgent, Router, type ToolSource, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { everyModel, FakeProviders } from '../fixtures/providers/fake-providers.ts';
import { expectLittleWork, silent } from '../helpers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

const string = { type: 'string' };
let deep: object = string;
for (let level = 0; level < 500; level++) deep = { type: 'object', properties: { next: deep }, anyOf: [{}, deep] };

/** As MCP servers in the wild write them. */
const corpus: Record<string, object> = {
  'anyOf at the root': {
    type: 'object',
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
    properties: { a: string, b: string },
  },
  'oneOf at the root': {
    type: 'object',
    oneOf: [
      { type: 'object', properties: { kind: { const: 'one' }, a: string }, required: ['kind', 'a'] },
      { type: 'object', properties: { kind: { const: 'two' } }, required: ['kind'] },
    ],
  },
  'allOf at the root': {
    type: 'object',
    allOf: [{ $ref: '#/$defs/base' }, { properties: { b: string }, required: ['b'] }],
    $defs: { base: { type: 'object', properties: { a: string }, required: ['a'] } },
  },
  'a reference at the root': {
    type: 'object',
    $ref: '#/definitions/x',
    definitions: { x: { type: 'object', properties: { a: string } } },
  },
  'a reference to itself': { type: 'object', allOf: [{ $ref: '#' }], properties: { child: { $ref: '#' } } },
  'keys that Claude rejects': {
    type: 'object',
    properties: { '@timestamp': string, 'filter[id]': string, _timestamp: string, ['x'.repeat(80)]: string },
    required: ['@timestamp'],
  },
  'draft 4 booleans': {
    type: 'object',
    properties: { n: { type: 'integer', minimum: 0, exclusiveMinimum: true, exclusiveMaximum: false } },
  },
  'arrays without items': {
    type: 'object',
    properties: { tags: { type: 'array' }, more: { type: ['array', 'null'] } },
  },
  'tuples as lists of items': {
    type: 'object',
    properties: { pair: { type: 'array', items: [string, { type: 'number' }] } },
  },
  'draft 3 required': { type: 'object', properties: { a: { type: 'string', required: true } }, required: false },
  'types that do not exist': {
    type: 'object',
    properties: { a: { type: 'any' }, b: { type: ['string', 'string[]'] }, c: { type: 'int' } },
  },
  'keywords of the wrong kind': {
    type: 'object',
    properties: {
      a: { type: 'string', minLength: '3', enum: 'x', pattern: '(', description: 5, items: null, anyOf: [] },
    },
  },
  'properties that are no schemas': { type: 'object', properties: { a: null, b: 'string', c: [string] } },
  'no properties': { type: 'object' },
  'a very deep schema': { type: 'object', properties: { deep } },
  'a missing definition': { type: 'object', properties: { a: { $ref: '#/$defs/gone' } } },
};

const names = ['1-click-install', '-dash', 'notes.read', '名前', 'x'.repeat(90), ''];

/** Tools as a server lists them; what they were called with is kept. */
function server(schemas: Record<string, object>, called: unknown[] = []): ToolSource {
  const tools = Object.entries(schemas).map(([title, inputSchema], index) => ({
    name: `tool_${index}`,
    title,
    inputSchema: inputSchema as { type: 'object' },
  }));
  return {
    name: 'wild',
    listTools: () => tools,
    callTool: async (_name, args) => {
      called.push(args);
      return { content: [{ type: 'text', text: 'done' }] };
    },
  };
}

describe.each(everyModel)('$model', ({ model }) => {
  test.each(Object.keys(corpus))('accepts a tool with %s', async (title) => {
    fake.script('Fine.');
    const agent = fake.agent(model, { tools: [server({ [title]: corpus[title] ?? {} })] });
    expect(await agent.run('Hello')).toBe('Fine.');
    expect(fake.rejected).toEqual([]);
    expect(`${fake.lastBody}`).toContain('tool_0');
  });

  test('accepts tools of any name', async () => {
    fake.script('Fine.');
    const tools = [...names.map((name) => tool({ name: name || 'empty', description: 'odd', run: () => '' }))];
    expect(await fake.agent(model, { tools }).run('Hello')).toBe('Fine.');
    expect(fake.rejected).toEqual([]);
  });

  test('a tool gets its own argument names, whatever names the model used', async () => {
    const called: unknown[] = [];
    const keys = corpus['keys that Claude rejects'] ?? {};
    fake.script(
      { toolCalls: [{ name: 'tool_0', arguments: { _timestamp_2: 'now', filter_id_: 7, _timestamp: 'own' } }] },
      'Done.',
    );
    const agent = fake.agent(model, { tools: [server({ keys }, called)] });
    expect(await agent.run('Search.')).toBe('Done.');
    expect(called).toEqual([{ '@timestamp': 'now', 'filter[id]': 7, _timestamp: 'own' }]);
    expect(fake.rejected).toEqual([]);
  });
});

test('alternatives at the root become one object that describes them', async () => {
  fake.script('Fine.');
  const tools = [
    server({
      a: corpus['anyOf at the root'] ?? {},
      b: corpus['oneOf at the root'] ?? {},
      c: corpus['allOf at the root'] ?? {},
    }),
  ];
  await fake.agent('anthropic/claude-sonnet-4-5', { tools }).run('Hello');
  const [any, one, all] = fake.lastBody.at('tools').list.map((each) => each.at('input_schema').value);
  expect(any).toEqual({ type: 'object', properties: { a: string, b: string }, description: 'Give one of: a; b.' });
  expect(one).toMatchObject({
    required: ['kind'],
    properties: { kind: { anyOf: [{ const: 'one' }, { const: 'two' }] }, a: string },
  });
  expect(all).toMatchObject({ required: ['a', 'b'], properties: { a: string, b: string } });
});

test.each<[string, () => Record<string, unknown>]>([
  ['refer to each other by the hundred', nestedCombinations],
  ['name their arguments in signs that no provider takes', unusualKeys],
])('tools whose schemas %s are listed in linear time', async (_what, schema) => {
  fake.script('Fine.');
  const agent = fake.agent('anthropic/claude-sonnet-4-5', { tools: [server({ a: schema() })] });
  const before = process.threadCpuUsage();
  expect(await agent.run('Hello')).toBe('Fine.');
  expectLittleWork(before);
});

/** Each of seven definitions offers the next one fifty times: 50^7 ways through them. */
function nestedCombinations(): Record<string, unknown> {
  const choice = (next: number) => ({ anyOf: Array(50).fill({ $ref: `#/$defs/a${next}` }) });
  const entries = Array.from({ length: 7 }, (_, level) => [`a${level}`, choice(level + 1)]);
  return { $defs: { ...Object.fromEntries(entries), a7: { properties: { x: string } } }, ...choice(0) };
}

function unusualKeys(): Record<string, unknown> {
  const sign = (code: number) => String.fromCodePoint(0x4e00 + code);
  const names = Array.from({ length: 20_000 }, (_, index) => sign(Math.floor(index / 200)) + sign(index % 200));
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) };
}

test('bounds, items and tuples keep their meaning', async () => {
  fake.script('Fine.');
  const { 'draft 4 booleans': bounds = {}, 'tuples as lists of items': tuples = {} } = corpus;
  await fake.agent('anthropic/claude-sonnet-4-5', { tools: [server({ bounds, tuples })] }).run('Hello');
  const [first, second] = fake.lastBody.at('tools').list.map((each) => each.at('input_schema', 'properties').value);
  expect(first).toEqual({ n: { type: 'integer', exclusiveMinimum: 0 } });
  expect(second).toEqual({ pair: { type: 'array', items: { anyOf: [string, { type: 'number' }] } } });
});

test('a schema that needs no repair is sent as it is', async () => {
  fake.script('Fine.');
  const plain = {
    type: 'object',
    properties: { a: { type: 'array', items: string }, b: { oneOf: [string] } },
    required: ['a'],
    additionalProperties: false,
  };
  await fake.agent('anthropic/claude-sonnet-4-5', { tools: [server({ plain })] }).run('Hello');
  expect(fake.lastBody.at('tools', 0, 'input_schema').value).toEqual(plain);
});

describe('a tool that a provider rejects for an unknown reason', () => {
  const fine: FunctionTool = tool({ name: 'fine', description: 'Fine', run: () => 'fine' });
  const odd: FunctionTool = tool({ name: 'odd', description: 'Odd', run: () => 'odd' });
  test.each([
    ['openai/gpt-5.1', "Invalid schema for function 'odd': unknown keyword."],
    ['openai/gpt-5.1', "Invalid 'tools[1].parameters': unknown keyword."],
    ['anthropic/claude-sonnet-4-5', 'tools.1.custom.input_schema: JSON schema is invalid.'],
    [
      'google/gemini-2.5-flash',
      "GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].format: only 'enum' is supported",
    ],
  ])('is left out for %s with a warning, and the request goes on: %s', async (model, message) => {
    for (const streaming of [false, true]) {
      const warnings: string[] = [];
      const logger = { debug() {}, info() {}, warn: (text: string) => void warnings.push(text), error() {} };
      fake.script({ status: 400, message }, 'Fine.', 'Fine again.');
      const agent = fake.agent(model, { tools: [fine, odd], logger });
      expect(await agent.run('Hello', { streaming })).toBe('Fine.');
      expect(await agent.run('And now?', { streaming })).toBe('Fine again.');
      expect(`${fake.lastBody}`).toContain('"fine"');
      expect(`${fake.lastBody}`).not.toContain('"odd"');
      expect(warnings).toEqual([expect.stringContaining('tool "odd"')]);
    }
  });

  test('can no longer be chosen by toolChoice', async () => {
    fake.script({ status: 400, message: "Invalid schema for function 'odd': unknown keyword." }, 'Fine.');
    const agent = fake.agent('openai/gpt-5.1', { tools: [fine, odd] });
    agent.addUserMessage('Hello');
    await agent.step({ toolChoice: { type: 'tool', toolName: 'odd' } });
    expect(fake.lastBody.at('tool_choice').value).toBe('auto');
  });

  test.each(['an agent', 'a router'])('does not make %s repeat the request without end', async (caller) => {
    const model = new ScriptedModel([]);
    const doGenerate = vi.fn(async () => {
      throw Object.assign(new Error("Invalid 'tools[0].parameters': unknown keyword."), { statusCode: 400 });
    });
    model.doGenerate = doGenerate;
    const router = new Router({ models: [{ modelName: 'main', params: { model } }], logger: silent });
    onTestFinished(() => router.close());
    const tools = Array.from({ length: 300 }, (_, index) =>
      tool({ name: `tool_${index}`, description: 'Odd', run: () => '' }),
    );
    const llmModel = caller === 'an agent' ? model : router.languageModel('main');
    const run = new PocketAgent({ llmModel, tools, exposure: 'direct', logger: silent }).run('Hello');
    await expect(run).rejects.toMatchObject({ code: 'MODEL_FAILED' });
    expect(doGenerate).toHaveBeenCalledTimes(151);
  });
});
