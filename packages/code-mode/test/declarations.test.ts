// The types of functions that the model sees: short, whatever the schemas of servers are, and never another tool's name.
import type { Tool } from '@modelcontextprotocol/client';
import { errorText } from '@pocket-agent/kit';
import type { ToolSource } from 'pocket-agent';
import { expect, test } from 'vitest';
import { expectLittleWork, resultText } from '../../pocket-agent/test/helpers.ts';
import { codingAgent } from './helpers.ts';

type Listed = Partial<Tool> & { name: string };

/** A server, as far as tools are concerned. Its tools return their own name. */
function server(name: string | undefined, tools: readonly Listed[]): ToolSource {
  return {
    name: name ?? 'functions',
    listTools: () => tools.map((each) => ({ inputSchema: { type: 'object' }, ...each }) as Tool),
    callTool: async (tool) => ({ content: [{ type: 'text', text: `${name}/${tool}` }] }),
    judge: () => ({ capability: 'read', from: 'config' }),
    ...(name === undefined ? {} : { group: () => ({ name }) }),
  };
}

async function shownFor(...sources: readonly ToolSource[]): Promise<string> {
  const { agent, model } = codingAgent([], { sources });
  await agent.run('Go');
  const [shown] = model.calls[0]?.tools ?? [];
  return shown?.type === 'function' ? (shown.description?.split('Functions:\n')[1] ?? '') : '';
}

const declared = (inputSchema: object, more: object = {}) =>
  shownFor(server(undefined, [{ name: 'f', inputSchema: inputSchema as Tool['inputSchema'], ...more }]));
const property = (schema: object) => declared({ type: 'object', properties: { a: schema } });

test.each([
  [{ type: 'string', description: 'A name' }, 'string /* A name */'],
  [{ type: 'integer' }, 'number'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ enum: ['a', 'b', 3] }, '"a" | "b" | 3'],
  [{ const: 'x' }, '"x"'],
  [{ type: 'array', items: { type: 'string' } }, 'string[]'],
  [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, '(string | number)[]'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [{ type: 'object', properties: { 'b-c': { type: 'boolean' } }, required: ['b-c'] }, '{ "b-c": boolean }'],
  [{ allOf: [{ type: 'object', properties: { b: { type: 'null' } } }, {}] }, '{ b?: null } & unknown'],
  [{ $ref: 'https://elsewhere/schema' }, 'unknown'],
  [true, 'unknown'],
])('the type of %j is %s', async (schema, type) => {
  expect(await property(schema as object)).toBe(`tools.f(args?: { a?: ${type} }): Promise<unknown>`);
});

test('references within a schema are followed, and results have types', async () => {
  const inputSchema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/id' } },
    required: ['a'],
    $defs: { id: { type: 'string' } },
  };
  const outputSchema = { type: 'object', properties: { items: { type: 'array' } }, required: ['items'] };
  expect(await declared(inputSchema, { outputSchema })).toBe(
    'tools.f(args: { a: string }): Promise<{ items: unknown[] }>',
  );
});

test('hostile schemas have short types', async () => {
  const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, { type: 'string' }]));
  let deep: object = { type: 'string' };
  for (let depth = 0; depth < 500; depth++) deep = { type: 'object', properties: { a: deep } };
  const bush = { anyOf: [{ $ref: '#/$defs/bush' }, { $ref: '#/$defs/bush' }, { $ref: '#/$defs/bush' }] };
  const hostile = [
    { type: 'object', properties: wide, required: ['p4999'] },
    { type: 'object', properties: { deep } },
    { type: 'object', properties: { a: { $ref: '#/properties/a' } } },
    { type: 'object', properties: { bush: { $ref: '#/$defs/bush' } }, $defs: { bush } },
    { type: 'object', properties: { a: { enum: Array.from({ length: 10_000 }, (_, index) => `v${index}`) } } },
    { type: 'object', properties: { ['x'.repeat(100_000)]: { type: 'string' } } },
    { type: 'object', properties: { a: { description: `*/ evil(); /*${'x'.repeat(100_000)}` } } },
    { type: 'object', properties: { a: { const: 'x'.repeat(100_000) } } },
  ];
  for (const schema of hostile) {
    const text = await declared(schema, { description: `First\nline. ${'y'.repeat(10_000)}` });
    expect(text.length, JSON.stringify(schema).slice(0, 80)).toBeLessThan(3_000);
    expect(text.split('\n')).toHaveLength(2);
    expect(text).not.toContain('*/ evil');
  }
  expect(await declared(hostile[0] ?? {})).toMatch(/^tools\.f\(args: \{ p4999: string; p0\?: string;/);
});

test('functions have the names that servers give them, in the namespace of the server', async () => {
  const text = await shownFor(
    server('git hub', [{ name: 'search' }, { name: 'get-issue' }]),
    server('slack', [{ name: 'search' }]),
    server('JSON', [{ name: 'parse' }]),
    server('class', [{ name: 'of' }]),
    server('toString', [{ name: 'call' }]),
    server('tools', [{ name: 'list' }]),
    server(undefined, [{ name: 'add' }]),
  );
  expect(text.split('\n').map((line) => line.split('(')[0])).toEqual([
    'git_hub.search',
    'git_hub["get-issue"]',
    expect.stringMatching(/^slack\.search$|^tools\.search_\w+$/),
    'tools.parse',
    'tools.of',
    'tools.call',
    'tools.list',
    'tools.add',
  ]);
});

test('names that collide lead to the tool that is meant', async () => {
  const sources = [
    server('a-b', [{ name: 'run' }, { name: 'x-y' }, { name: 'x_y' }]),
    server('a_b', [{ name: 'go' }]),
    server('c', [{ name: 'x.y' }, { name: 'x-y' }, { name: '__proto__' }, { name: 'constructor' }]),
  ];
  const shown = await shownFor(...sources);
  const paths = shown.split('\n').map((line) => line.slice(0, line.indexOf('(')));
  expect(paths.filter((path) => path.startsWith('a_b'))).toEqual([]);
  const { agent } = codingAgent([`return [${paths.map((path) => `await ${path}({})`).join(', ')}]`], { sources });
  await agent.run('Go');
  const returned = resultText(agent);
  expect(JSON.parse(returned), errorText(returned)).toEqual([
    'a-b/run',
    'a-b/x-y',
    'a-b/x_y',
    'a_b/go',
    'c/x.y',
    'c/x-y',
    'c/__proto__',
    'c/constructor',
  ]);
});

test('a name that a server does not have is no tool of another server', async () => {
  const sources = [server('one', [{ name: 'alpha' }]), server('two', [{ name: 'beta' }])];
  const { agent } = codingAgent(['return one.beta({}).catch((error) => error.message)'], { sources });
  await agent.run('Go');
  expect(resultText(agent)).toMatch(/^There is no tool "one\.beta"\. Available: /);
});

test('thousands of functions take little work, and long names of servers stay out of namespaces', async () => {
  const tools = Array.from({ length: 5_000 }, (_, index) => ({ name: `tool_${index}`, description: 'Does it.' }));
  const large = server('large', [...tools, { name: 'x'.repeat(10_000) }]);
  const { agent, model } = codingAgent(['return Object.keys(large).length'], { sources: [large] });
  const before = process.threadCpuUsage();
  await agent.run('Go');
  expectLittleWork(before);
  expect(resultText(agent)).toBe('5000');
  expect(JSON.stringify(model.calls[0]?.tools).length).toBeLessThan(5_000);
});

test.each<[string, object, object]>([
  ['a large value', { const: Array.from({ length: 20_000 }, (_, index) => `value ${index}`) }, {}],
  [
    'an object of long names',
    { type: 'object' },
    Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`${'n'.repeat(61)}${index}`, {}])),
  ],
  ['an object of nothing', { type: 'object', properties: {} }, {}],
])('references that repeat %s cost little', async (_name, leaf, properties) => {
  const last = Object.keys(properties).length > 0 ? { ...leaf, properties } : leaf;
  const levels = ['a', 'b', 'c'];
  const $defs = Object.fromEntries(
    levels.map((level, index) => [
      level,
      { anyOf: Array.from({ length: 12 }, () => ({ $ref: `#/$defs/${levels[index + 1] ?? 'last'}` })) },
    ]),
  );
  const sources = Array.from({ length: 20 }, (_, index) =>
    server(`s${index}`, [
      {
        name: 'f',
        inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { ...$defs, last } },
      },
    ]),
  );
  const before = process.threadCpuUsage();
  expect((await shownFor(...sources)).length).toBeLessThan(8_000);
  expectLittleWork(before);
});
