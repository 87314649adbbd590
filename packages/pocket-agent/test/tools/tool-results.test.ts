import { type JsonSchema, PocketAgent, type ToolResult, type ToolSource, tool } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

const png = 'iVBORw0KGgo=';

/** What a model sees of what a tool of a real MCP server returns. */
async function shown(
  value: unknown,
  options: { allowImages?: boolean; maxToolResultBytes?: number; provider?: string } = {},
) {
  const give = tool({ name: 'give', description: 'Gives it', run: () => value as object });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'give' }] }, 'ok'], {
    provider: options.provider ?? 'scripted',
  });
  const results: ToolResult[] = [];
  await using agent = new PocketAgent({
    agentConfig: { llmModel: model, ...(options.allowImages ? { allowImages: true } : {}) },
    mcpConfig: await scriptedServer([give]),
    hooks: { postToolCall: (_context, _call, result) => void results.push(result) },
    logger: silent,
    keepResults: false,
    ...(options.maxToolResultBytes ? { maxToolResultBytes: options.maxToolResultBytes } : {}),
  });
  await agent.run('x');
  expectValidHistory(agent);
  return {
    text: resultText(agent),
    prompt: model.calls[1]?.prompt ?? [],
    result: results[0],
    messages: agent.messages,
  };
}

describe('what a model sees of a tool result', () => {
  test('text is unchanged', async () => {
    expect((await shown('hello')).text).toBe('hello');
  });

  test('an empty result becomes a note, never an empty message', async () => {
    expect((await shown({ content: [] })).text).toBe('(the tool returned no content)');
    expect((await shown({ content: [{ type: 'text', text: '' }] })).text).not.toBe('');
  });

  test('structured content is shown as JSON, once', async () => {
    expect((await shown({ content: [], structuredContent: { a: 1 } })).text).toBe('{"a":1}');
    const both = await shown({ content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } });
    expect(both.text).toBe('{"a":1}');
    expect(both.result?.extra.structuredContent).toEqual({ a: 1 });
    const summary = await shown({ content: [{ type: 'text', text: 'One found.' }], structuredContent: { a: 1 } });
    expect(summary.text).toBe('One found.\n{"a":1}');
  });

  const asText = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }));

  test.each([
    ['the same JSON in other words', asText('{ "b": [2],\n "a": 1 }'), { a: 1, b: [2] }],
    ['the text itself', asText('line one\nline two'), { content: 'line one\nline two' }],
    ['a text that looks like JSON', asText('[ok] 2 rows'), { result: '[ok] 2 rows' }],
    ['a number', asText('5'), { result: 5 }],
    ['a list, item by item', asText('{"id":1}', '{"id":2}'), { result: [{ id: 1 }, { id: 2 }] }],
    ['the content itself', asText('a', 'b'), { content: asText('a', 'b') }],
  ])('structured content that repeats %s is left out', async (_what, content, structuredContent) => {
    const { text, result } = await shown({ content, structuredContent });
    expect(text).toBe(content.map((part) => part.text).join('\n'));
    expect(result?.extra.structuredContent).toEqual(structuredContent);
  });

  test.each([
    ['text that only looks like JSON', asText('[ok] 2 rows'), { rows: [1, 2] }, '[ok] 2 rows\n{"rows":[1,2]}'],
    ['other JSON', asText('{"a":1}'), { a: 2 }, '{"a":1}\n{"a":2}'],
    ['part of it', asText('5'), { sum: 5, count: 2 }, '5\n{"sum":5,"count":2}'],
  ])('structured content beside %s is shown as well', async (_what, content, structuredContent, expected) => {
    expect((await shown({ content, structuredContent })).text).toBe(expected);
  });

  test('a long text that structured content repeats is replaced by a reference', async () => {
    const file = 'x'.repeat(1_000);
    const { text } = await shown({ content: asText(file), structuredContent: { file, lines: 1 } });
    expect(text).toBe(`${file}\n{"file":"(shown above)","lines":1}`);
  });

  const image = { type: 'image', mimeType: 'image/png', data: Buffer.alloc(300, 1).toString('base64') };

  test.each([true, false])('an image is never shown again as base64 (images allowed: %s)', async (allowImages) => {
    for (const structuredContent of [{ content: [image] }, { png: image.data, width: 3 }]) {
      const { messages } = await shown({ content: [image], structuredContent }, { allowImages });
      const found = JSON.stringify(messages[2]).split(image.data).length - 1;
      expect(found).toBe(allowImages ? 1 : 0);
    }
  });

  test('an image that is only in structured content is described by its size', async () => {
    const { text } = await shown({ content: [], structuredContent: { images: [image] } });
    expect(text).toContain('"data":"(300 bytes left out)"');
  });

  test('an image is shown if images are allowed', async () => {
    const { messages } = await shown(
      { content: [{ type: 'image', mimeType: 'image/png', data: png }] },
      { allowImages: true },
    );
    expect(JSON.stringify(messages[2])).toContain(png);
  });

  test('an image is replaced by a note if images are not allowed; it stays in extra', async () => {
    const { text, result } = await shown({ content: [{ type: 'image', mimeType: 'image/png', data: png }] });
    expect(text).toMatch(/image image\/png, 8 bytes: left out/);
    expect(JSON.stringify(result?.extra.toolResultRawContent)).toContain(png);
  });

  test('an image moves to a user message after all results for chat style providers', async () => {
    const { prompt } = await shown(
      {
        content: [
          { type: 'text', text: 'a chart' },
          { type: 'image', mimeType: 'image/png', data: png },
        ],
      },
      { allowImages: true, provider: 'openai.chat' },
    );
    expect(prompt.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(JSON.stringify(prompt[2])).not.toContain(png);
    expect(JSON.stringify(prompt[3])).toContain(png);
  });

  test('audio, resources and links are described in words', async () => {
    const { text } = await shown({
      content: [
        { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
        { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside', mimeType: 'text/plain' } },
        { type: 'resource', resource: { uri: 'file:///a.zip', blob: 'AAAA', mimeType: 'application/zip' } },
        { type: 'resource_link', uri: 'https://x.test/doc', name: 'doc', description: 'the manual' },
      ],
    });
    expect(text).toContain('[audio audio/wav, 3 bytes');
    expect(text).toContain('[resource file:///a.txt]\ninside');
    expect(text).toContain('[resource file:///a.zip, application/zip, 3 bytes');
    expect(text).toContain('https://x.test/doc: doc, the manual');
  });

  test('of a long text, head and tail are shown with a mark between them; all of it stays in extra', async () => {
    const long = `START${'é'.repeat(500_000)}END`;
    const { text, result } = await shown(long, { maxToolResultBytes: 1_000 });
    expect(text.startsWith('START')).toBe(true);
    expect(text.endsWith('END')).toBe(true);
    expect(text).toMatch(/999008 of 1000008 bytes left out/);
    expect(text).not.toContain('\uFFFD');
    expect(Buffer.byteLength(text)).toBeLessThan(1_200);
    expect(JSON.stringify(result?.extra.toolResultRawContent).length).toBeGreaterThan(500_000);
  });

  test('images may be twenty times as large as text in total; the others become notes', async () => {
    const image = (bytes: number) => ({
      type: 'image',
      mimeType: 'image/png',
      data: Buffer.alloc(bytes).toString('base64'),
    });
    const { messages } = await shown(
      { content: [image(15_000), image(5_001), image(5_000), { type: 'text', text: 'three' }] },
      { allowImages: true, maxToolResultBytes: 1_000 },
    );
    expect(messages[2]).toMatchObject({
      content: [
        {
          output: {
            value: [
              { type: 'file' },
              { text: '[image image/png, 5001 bytes: left out, it is more than maxToolResultBytes allows]' },
              { type: 'file' },
              { text: 'three' },
            ],
          },
        },
      ],
    });
  });

  const emptyImage = { type: 'image', mimeType: 'image/png', data: '' };
  const tinyImage = { ...emptyImage, data: 'AA==' };

  test.each([
    ['texts of one byte', { type: 'text', text: 'x' }],
    ['empty texts', { type: 'text', text: '' }],
    ['empty images', emptyImage],
    ['images of one byte', tinyImage],
    ['blocks of an unknown type', { type: 'odd' }],
  ])('ten thousand %s stay within maxToolResultBytes', async (_what, block) => {
    const content = Array.from({ length: 10_000 }, () => block);
    for (const allowImages of [true, false]) {
      const { messages } = await shown({ content }, { allowImages, maxToolResultBytes: 4_000 });
      // a hundred small images may come along
      expect(JSON.stringify(messages[2]).length).toBeLessThan(16_000);
    }
  });

  test('262,144 bytes are shown in full by default, one byte more is not', async () => {
    expect((await shown('x'.repeat(262_144))).text).toHaveLength(262_144);
    expect((await shown('x'.repeat(262_145))).text).toContain('bytes left out');
  });
});

describe('plain functions as tools', () => {
  const call = async (made: ReturnType<typeof tool>, args: Record<string, unknown>) => {
    const model = new ScriptedModel([{ toolCalls: [{ name: made.definition.name, arguments: args }] }, 'ok']);
    const agent = new PocketAgent({ agentConfig: { llmModel: model }, tools: [made], logger: silent });
    await agent.run('x');
    return { text: resultText(agent), model };
  };

  test('zod: arguments are checked, defaults filled, the JSON Schema shown', async () => {
    const greet = tool({
      name: 'greet',
      description: 'Greets',
      inputSchema: z.object({ name: z.string(), loud: z.boolean().default(false) }),
      run: ({ name, loud }) => (loud ? name.toUpperCase() : name),
    });
    const { text, model } = await call(greet, { name: 'Ann' });
    expect(text).toBe('Ann');
    expect(model.calls[0]?.tools?.[0]).toMatchObject({
      name: 'greet',
      inputSchema: { type: 'object', required: ['name'] },
    });
    expect((await call(greet, { name: 1 })).text).toMatch(/Bad arguments for "greet": name: .*string/i);
  });

  test('JSON Schema: arguments are checked', async () => {
    const inputSchema = {
      type: 'object' as const,
      properties: { n: { type: 'integer', minimum: 1 } },
      required: ['n'],
    };
    const count = tool({ name: 'count', description: 'Counts', inputSchema, run: ({ n }) => Number(n) + 1 });
    expect((await call(count, { n: 1 })).text).toBe('2');
    expect((await call(count, { n: 0 })).text).toMatch(/Bad arguments for "count".*minimum|>= 1/s);
  });

  test('JSON Schema: each tool is checked by the schema it had when it was made', async () => {
    const inputSchema: JsonSchema = { type: 'object', properties: { n: { type: 'integer' } } };
    const make = () => tool({ name: 'count', description: 'Counts', inputSchema, run: ({ n }) => Number(n ?? 0) + 1 });
    const before = make();
    expect((await call(before, {})).text).toBe('1');
    inputSchema.required = ['n'];
    const after = make();
    expect((await call(after, {})).text).toMatch(/Bad arguments for "count".*required/s);
    expect((await call(before, {})).text).toBe('1');
  });

  test('JSON Schema: the type may be left out', () => {
    for (const inputSchema of [
      {},
      { properties: {} },
      { anyOf: [{ required: ['a'] }] },
      { $ref: '#/$defs/a', $defs: {} },
    ])
      expect(tool({ name: 'x', description: '', inputSchema, run: () => 1 }).definition.inputSchema).toEqual({
        ...inputSchema,
        type: 'object',
      });
  });

  test.each([
    ['text', 'a', 'a'],
    ['a number', 3, '3'],
    ['an object', { a: [1] }, '{"a":[1]}'],
    ['a list', [1, 2], '[1,2]'],
    ['nothing', undefined, 'No result returned'],
  ])('may return %s', async (_what, value, text) => {
    expect((await call(tool({ name: 'give', description: '', run: () => value }), {})).text).toBe(text);
  });

  test.each([
    { content: [], total: 3, cursor: 'abc' },
    { content: [{ type: 'text', text: 'a' }], title: 'A page' },
    { content: [{ type: 'text' }] },
    { content: [{ type: 'image', mimeType: 'image/png' }] },
    { content: [{ type: 'resource' }] },
    { content: [{ type: 'resource', resource: { uri: 'file:///a' } }] },
    { content: [{ type: 'paragraph', text: 'a' }] },
    { content: [null] },
  ])('data that only resembles a tool result is data: %j', async (value) => {
    expect((await call(tool({ name: 'give', description: '', run: () => value }), {})).text).toBe(
      JSON.stringify(value),
    );
  });

  test('a schema that cannot be converted to JSON Schema is refused with advice', () => {
    const inputSchema = {
      '~standard': { version: 1 as const, vendor: 'x', validate: (value: unknown) => ({ value }) },
    };
    expect(() => tool({ name: 'x', description: '', inputSchema, run: () => 1 })).toThrow(
      /schema of x does not offer it.*zod 4.2 or ArkType/,
    );
  });

  test.each<[object, string]>([
    [{ properties: { a: { type: 'strin' } } }, 'properties.a.type is "strin"; it must be one of string, number, '],
    [{ properties: { a: { anyOf: [{}, { items: { type: ['string', 5] } }] } } }, 'properties.a.anyOf.items.type is 5'],
    [{ properties: { a: true, b: 'string' } }, 'properties.b must be a schema'],
    [{ properties: [] }, 'properties must be an object of schemas'],
    [{ required: 'a' }, 'required must be a list of names'],
    [{ $defs: { a: { enum: 'x' } } }, '$defs.a.enum must be a list of values'],
    [{ allOf: {} }, 'allOf must be a list of schemas'],
  ])('a JSON Schema with a mistake is refused: %j', (mistake, words) => {
    const inputSchema = { type: 'object', ...mistake };
    expect(() => tool({ name: 'x', description: '', inputSchema, run: () => 1 })).toThrow(
      `The inputSchema of tool "x" cannot be used: ${words}`,
    );
  });

  test('a tool of a server whose name a function has is renamed, with an event', async () => {
    const first = tool({ name: 'same', description: '', run: () => 'server' });
    const second = tool({ name: 'same', description: '', run: () => 'function' });
    const model = new ScriptedModel([
      (options) => ({ toolCalls: (options.tools ?? []).map(({ name }) => ({ name })) }),
      'ok',
    ]);
    const renamed: unknown[] = [];
    await using agent = new PocketAgent({
      agentConfig: { llmModel: model },
      mcpConfig: await scriptedServer([first]),
      tools: [second],
      hooks: {
        onEvent: (event) => {
          if (event.type === 'tool_renamed') renamed.push(event.data);
        },
      },
      logger: silent,
    });
    await agent.run('x');
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['function', 'server']);
    expect(renamed).toMatchObject([{ ownName: 'same', toolName: expect.stringMatching(/^same_[0-9a-f]{6}$/) }]);
  });
});

describe.each([false, true])('a source that returns an invalid result, isError %s,', (isError) => {
  test.each([
    ['a text without text', [{ type: 'text' }, { type: 'text', text: 'the rest' }], /unknown type: .*\nthe rest/],
    ['an image without data', [{ type: 'image', mimeType: 'image/png' }], /unknown type: .*image\/png/],
    ['no list', 'just text', /not a function/],
    ['nothing in the list', [null], isError ? /null/ : /unknown type: null/],
  ])('does not end the run: %s', async (_what, content, text) => {
    const odd: ToolSource = {
      name: 'odd',
      listTools: () => [{ name: 'odd', inputSchema: { type: 'object' } }],
      callTool: async () => ({ content, ...(isError ? { isError } : {}) }) as never,
    };
    const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'odd' }] }, 'ok']);
    const agent = new PocketAgent({ agentConfig: { llmModel, allowImages: true }, tools: [odd], logger: silent });
    expect(await agent.run('x')).toBe('ok');
    expect(resultText(agent)).toMatch(text);
    expectValidHistory(agent);
  });
});

describe('ScriptedModel', () => {
  test('fails when it is called too often, and when answers are left over', async () => {
    const over = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) } });
    await expect(over.run('x')).rejects.toThrow(/called 1 times, but the script has 0/);
    expect(() => new ScriptedModel(['unused']).assertDone()).toThrow(/1 of 1 answers were not used/);
  });
});

test('the text of an error that a tool throws is limited in length', async () => {
  const loud = tool({ name: 'loud', description: '', run: () => Promise.reject(new Error('x'.repeat(1_000_000))) });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'loud' }] }, 'ok'], {
    tools: [loud],
    maxToolResultBytes: 1_000,
  });
  await agent.run('x');
  expect(resultText(agent).length).toBeLessThan(1_200);
});

test('a tool may throw a value without a text', async () => {
  const odd = tool({
    name: 'odd',
    description: 'Throws',
    run: () => {
      throw Object.create(null);
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'odd' }] }, 'ok'], { tools: [odd] });
  expect(await agent.run('x')).toBe('ok');
  expect(resultText(agent)).toBe('a thrown value that cannot be shown as text');
});
