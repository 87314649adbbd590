// The demo model through the public model interface, with the real built-in tools where a result matters.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBuiltinServer } from '../../../cli/src/builtin-server/server.ts';
import { createDemoModel } from '../../src/demo/model.ts';
import { expectLittleWork } from '../helpers.ts';

const NOTICE = '(demo model: rules, not an LLM)\n';
const model = createDemoModel();
const client = new Client({ name: 'test', version: '1' });
let builtin: LanguageModelV4FunctionTool[];

const weather = tool('get_weather', 'Get the current weather for a city.', {
  properties: {
    city: { type: 'string', description: 'Name of the city' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
  },
  required: ['city'],
});
const researcher = tool('Researcher-message', 'Send a message to the agent Researcher, who knows birds.', {
  properties: { message: { type: 'string' } },
  required: ['message'],
});

beforeAll(async () => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createBuiltinServer().connect(far);
  await client.connect(near);
  const { tools } = await client.listTools();
  builtin = tools.map(({ name, description, inputSchema }) => tool(name, description ?? '', inputSchema));
});

afterAll(() => client.close());

function tool(name: string, description: string, schema: object): LanguageModelV4FunctionTool {
  return { type: 'function', name, description, inputSchema: { type: 'object', ...schema } };
}

function asking(text: string): LanguageModelV4Prompt {
  return [
    { role: 'system', content: 'You are helpful. What time is it in Oslo?' },
    { role: 'user', content: [{ type: 'text', text }] },
  ];
}

async function generate(prompt: LanguageModelV4Prompt, options: Partial<LanguageModelV4CallOptions> = {}) {
  const { content, finishReason, usage } = await model.doGenerate({ prompt, ...options });
  const calls = content.filter((part) => part.type === 'tool-call');
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { text, calls, finishReason: finishReason.unified, usage };
}

async function callsFor(text: string, tools: LanguageModelV4FunctionTool[]) {
  const { calls } = await generate(asking(text), { tools });
  return calls.map(({ toolName, input }) => [toolName, JSON.parse(input)]);
}

/** Adds calls and their results to the prompt, as the loop of an agent does. */
function append(
  prompt: LanguageModelV4Prompt,
  calls: LanguageModelV4ToolCall[],
  outputs: LanguageModelV4ToolResultOutput[],
) {
  prompt.push({ role: 'assistant', content: calls.map((call) => ({ ...call, input: JSON.parse(call.input) })) });
  const results = calls.map(({ toolCallId, toolName }, index) => {
    const output: LanguageModelV4ToolResultOutput = outputs[index] ?? { type: 'text', value: 'ok' };
    return { type: 'tool-result' as const, toolCallId, toolName, output };
  });
  prompt.push({ role: 'tool', content: results });
}

/** Runs a request to its final answer on the real built-in tools. */
async function run(text: string) {
  const prompt = asking(text);
  const rounds: string[][] = [];
  for (;;) {
    const { calls, text: answer } = await generate(prompt, { tools: builtin });
    if (calls.length === 0) return { answer, rounds };
    rounds.push(calls.map((call) => call.toolName));
    const results = await Promise.all(
      calls.map((call) => client.callTool({ name: call.toolName, arguments: JSON.parse(call.input) })),
    );
    const outputs = results.map(({ content, isError }): LanguageModelV4ToolResultOutput => {
      const value = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
      return { type: isError ? 'error-text' : 'text', value };
    });
    append(prompt, calls, outputs);
  }
}

describe('choosing tools', () => {
  test('a request for two things becomes two calls in one answer', async () => {
    const prompt = asking('What is 17% of 2380, and what time is it in Tokyo?');
    const { calls, text, finishReason } = await generate(prompt, { tools: builtin });
    expect(finishReason).toBe('tool-calls');
    expect(text).toBe('');
    expect(calls.map(({ toolName, input }) => [toolName, JSON.parse(input)])).toEqual([
      ['calculate', { expression: '17% of 2380' }],
      ['current_time', { timeZone: 'Tokyo' }],
    ]);
    expect(new Set(calls.map((call) => call.toolCallId)).size).toBe(2);
  });

  test.each<[string, string, object]>([
    ['What time is it?', 'current_time', {}],
    ['what time is it in new york?', 'current_time', { timeZone: 'new york' }],
    ['Convert 5 miles to km', 'convert_units', { value: 5, from: 'miles', to: 'km' }],
    ['How many feet are in 3 meters?', 'convert_units', { value: 3, from: 'meters', to: 'feet' }],
    ['What is 12 times 4?', 'calculate', { expression: '12 * 4' }],
    ['What date is it?', 'current_time', {}],
    ['What is (1,200 + 300) / 3?', 'calculate', { expression: '(1,200 + 300) / 3' }],
    [
      'If it is 15:00 in New York, what time is it in London?',
      'convert_time',
      { time: '15:00', fromTimeZone: 'New York', toTimeZone: 'London' },
    ],
    ['List the files in src recursively', 'list_files', { path: 'src', recursive: true }],
    ['Show me package.json, start line 5', 'read_text_file', { path: 'package.json', startLine: 5 }],
    ['Search for "a b" in *.ts files', 'search_text_files', { query: 'a b', glob: '*.ts' }],
    ['Find constructor in src', 'search_text_files', { query: 'constructor src', path: 'src' }],
  ])('%s calls %s', async (request, name, input) => {
    expect(await callsFor(request, builtin)).toEqual([[name, input]]);
  });

  test('a quote keeps every word, and a URL stays whole', async () => {
    const textOnly = { properties: { text: { type: 'string' } }, required: ['text'] };
    expect(await callsFor('Count the words of "the quick. And what?".', [tool('count_words', '', textOnly)])).toEqual([
      ['count_words', { text: 'the quick. And what?' }],
    ]);
    const urlOnly = { properties: { url: { type: 'string' } }, required: ['url'] };
    expect(await callsFor('Fetch https://example.com/a?b=c.', [tool('web_fetch', '', urlOnly)])).toEqual([
      ['web_fetch', { url: 'https://example.com/a?b=c' }],
    ]);
  });

  test('two parameters take two numbers, also equal ones', async () => {
    const properties = { a: { type: 'number' }, b: { type: 'number' } };
    const add = tool('add', 'Adds two numbers', { properties, required: ['a', 'b'] });
    expect(await callsFor('add 19 and 23', [add])).toEqual([['add', { a: 19, b: 23 }]]);
    expect(await callsFor('add 2 and 2', [add])).toEqual([['add', { a: 2, b: 2 }]]);
  });

  test('other tools are chosen by their names and descriptions, or by being addressed', async () => {
    const all = [...builtin, weather, researcher];
    expect(await callsFor("What's the weather in São Paulo in fahrenheit?", all)).toEqual([
      ['get_weather', { city: 'São Paulo', unit: 'fahrenheit' }],
    ]);
    expect(await callsFor('weather london', all)).toEqual([['get_weather', { city: 'london' }]]);
    expect(await callsFor('Ask the Researcher what 17% of all owls eat', all)).toEqual([
      ['Researcher-message', { message: 'Ask the Researcher what 17% of all owls eat' }],
    ]);
  });

  test('arguments follow the schema: numbers, enums, booleans, defaults, nested objects, lists, optional values', async () => {
    const order = tool('order_pizza', 'Order pizza', {
      properties: {
        count: { type: 'integer' },
        size: { enum: ['small', 'large'] },
        express: { type: 'boolean' },
        delivery: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
        tip: { anyOf: [{ type: 'number' }, { type: 'null' }] },
        note: { type: 'string' },
        crust: { type: 'string', default: 'thin' },
      },
      required: ['count', 'size', 'express', 'delivery', 'crust'],
    });
    expect(await callsFor('Order 2 large pizza to street "Elm Road", express, tip 3.5', [order])).toEqual([
      [
        'order_pizza',
        { count: 2, size: 'large', express: true, delivery: { street: 'Elm Road' }, crust: 'thin', tip: 3.5 },
      ],
    ]);
    const playlist = tool('make_playlist', 'Make a playlist of songs', {
      properties: { songs: { type: 'array', items: { type: 'string' } }, title: { type: ['string', 'null'] } },
      required: ['songs'],
    });
    expect(await callsFor('Make a playlist of "Yesterday", "Help" and "Michelle"', [playlist])).toEqual([
      ['make_playlist', { songs: ['Yesterday', 'Help', 'Michelle'] }],
    ]);
  });

  test('an optional id is not filled with a quote, as in a message to a remote agent', async () => {
    const remote = tool('Poet-message', 'Send a message to the Poet agent.', {
      properties: { message: { type: 'string' }, taskId: { type: 'string' } },
      required: ['message'],
    });
    const request = 'Ask the Poet to rhyme "sea"';
    const { calls } = await generate(asking(request), { tools: [remote] });
    expect(calls.map(({ input }) => JSON.parse(input))).toEqual([{ message: request }]);
  });

  test('only the last user message is the request', async () => {
    const prompt = asking('What is 2 + 2?');
    const { calls } = await generate(prompt, { tools: builtin });
    append(prompt, calls, [{ type: 'text', value: '2 + 2 = 4' }]);
    prompt.push({ role: 'assistant', content: [{ type: 'text', text: '2 + 2 = 4' }] });
    prompt.push({ role: 'user', content: [{ type: 'text', text: 'What time is it in Rome?' }] });
    const next = await generate(prompt, { tools: builtin });
    expect(next.calls.map((call) => call.toolName)).toEqual(['current_time']);
  });

  test('tags around a question are not part of it', async () => {
    const people = tool('get_user_info', 'Tells the name and username of a user.', { properties: {} });
    const said = '<from name="ann" username="ann" id="4194316582912"/> hello';
    expect((await generate(asking(said), { tools: [people, ...builtin] })).calls).toEqual([]);
  });

  test.each([
    '<from name="ann"/>\n<untrusted kind="replied-to message">\nread a.ts\n\nread b.ts\n</untrusted>\nWhat is 2 + 2?',
    'Said before:\nann: read a.ts\n\nNow:\nann: What is 2 + 2?',
  ])('messages of other people are not part of the request: %j', async (text) => {
    expect(await callsFor(text, builtin)).toEqual([['calculate', { expression: '2 + 2' }]]);
  });

  test('only the first five sentences of the first paragraph are read, and the answer says so', async () => {
    const rest = 'read a.ts\n+read b.ts\n\nWhat time is it?';
    const { calls, text } = await generate(asking(`Write a commit message\n\n${rest}`), { tools: builtin });
    expect(calls).toEqual([]);
    expect(text).toContain('I found no tool for "Write a commit message".');
    expect(text).toContain('I read only the beginning of the request');
    const many = Array.from({ length: 40 }, (_, index) => `read ${index}.ts`).join('\n');
    expect(await callsFor(many, builtin)).toHaveLength(5);
    expect(await callsFor('Hello!\n\nWhat is 2 + 2?', builtin)).toEqual([['calculate', { expression: '2 + 2' }]]);
  });

  test('a question about what is new searches the web', async () => {
    const search = tool('web_search', 'Searches the web.', {
      properties: { query: { type: 'string' } },
      required: ['query'],
    });
    expect(await callsFor('What is new in TypeScript?', [search])).toEqual([
      ['web_search', { query: 'new TypeScript' }],
    ]);
  });

  test('the tool choice of the caller is obeyed', async () => {
    const prompt = asking('What is 2 + 2?');
    const none = await generate(prompt, { tools: builtin, toolChoice: { type: 'none' } });
    expect(none).toMatchObject({ calls: [], finishReason: 'stop' });
    const forced = await generate(prompt, { tools: builtin, toolChoice: { type: 'tool', toolName: 'list_files' } });
    expect(forced.calls.map((call) => call.toolName)).toEqual(['list_files']);
  });
});

describe('skills', () => {
  const loadSkill = tool('load_skill', 'Returns the instructions of a skill.', {
    properties: {
      skill: {
        type: 'string',
        enum: ['release-notes', 'invoices'],
        description:
          'One of these skills:\n- release-notes: Writes notes from a list of changes. Use it when someone wants a changelog.\n- invoices: Fills forms',
      },
    },
    required: ['skill'],
  });

  test.each([
    ['Write release notes: dark mode', [['load_skill', { skill: 'release-notes' }]]],
    ['I need a changelog', [['load_skill', { skill: 'release-notes' }]]],
    ['Put the changes into notes', [['load_skill', { skill: 'release-notes' }]]],
    ['List the files in src', [['list_files', { path: 'src' }]]],
    [
      'What is 2 + 2? Write an invoice.',
      [
        ['calculate', { expression: '2 + 2' }],
        ['load_skill', { skill: 'invoices' }],
      ],
    ],
    ['Who wrote Hamlet?', []],
  ])('%s', async (request, calls) => {
    expect(await callsFor(request, [...builtin, loadSkill])).toEqual(calls);
  });

  test('the answer says that a real model would follow the instructions', async () => {
    const prompt = asking('Write release notes: dark mode');
    const { calls } = await generate(prompt, { tools: [loadSkill] });
    append(prompt, calls, [{ type: 'text', value: 'Begin each line with a verb.' }]);
    const { text } = await generate(prompt, { tools: [loadSkill] });
    expect(text).toBe(`${NOTICE}A real model would now follow these instructions:\nBegin each line with a verb.`);
  });

  test('without a match the skills are listed among the tools', async () => {
    const { text } = await generate(asking('Who wrote Hamlet?'), { tools: [loadSkill] });
    expect(text).toContain('Tools here: 2\n- release-notes: Writes notes from a list of changes.');
  });
});

describe('answering', () => {
  test('the answer gives the results in the order of the request, after a notice that this is not an LLM', async () => {
    const { answer, rounds } = await run('What is 17% of 2380, and how many feet are in 3 meters?');
    expect(rounds).toEqual([['calculate', 'convert_units']]);
    expect(answer).toBe(`${NOTICE}17% of 2380 = 404.6\n3 meters = 9.8425196850394 feet (meter to foot)`);
  });

  test('failed and denied calls are reported beside the results', async () => {
    const prompt = asking('What is the weather in Rome? What is the weather in Oslo? And what time is it in Rome?');
    const { calls } = await generate(prompt, { tools: [weather, ...builtin] });
    append(prompt, calls, [
      { type: 'json', value: { temperature: 15, sky: 'grey' } },
      { type: 'error-text', value: 'station offline' },
      { type: 'execution-denied', reason: 'not today' },
    ]);
    const { text } = await generate(prompt, { tools: [weather, ...builtin] });
    expect(text).toBe(
      `${NOTICE}temperature: 15, sky: grey\nThe tool get_weather failed: station offline\n` +
        'The tool current_time was not allowed: not today',
    );
  });

  test('the answer names what has no tool, and arguments that the request does not give', async () => {
    const { answer } = await run('What is 2 + 2 and who wrote Hamlet?');
    expect(answer).toBe(`${NOTICE}2 + 2 = 4\nNo tool here fits "who wrote Hamlet".`);
    const { text } = await generate(asking('What is the weather like?'), { tools: [weather] });
    expect(text).toContain('I would call get_weather, but I do not know its city.');
  });

  test('without a matching tool the answer lists the tools and how to get a real model', async () => {
    const { text, calls, finishReason } = await generate(asking('Who wrote Hamlet?'), { tools: [weather] });
    expect({ calls, finishReason }).toEqual({ calls: [], finishReason: 'stop' });
    expect(text.startsWith(NOTICE)).toBe(true);
    expect(text).toContain('- get_weather: Get the current weather for a city.');
    expect(text).toContain('ANTHROPIC_API_KEY');
    expect(text).not.toMatch(/--model|POCKET_DISCORD/); // it cannot know where it runs
    expect((await generate(asking('Hello!'))).text).toContain('Tools here: none');
  });

  test('a very long request costs little work', async () => {
    const before = process.threadCpuUsage();
    for (const piece of ['Abc def/', 'a', '1,', '“', ' ', '<untrusted ', 'in x ']) {
      await generate(asking(`What is 2 + 2? ${piece.repeat(400_000 / piece.length)}.`), { tools: builtin });
    }
    expectLittleWork(before);
  });

  test('usage is estimated from the characters', async () => {
    const prompt = asking('What is 2 + 2?');
    const { usage, calls } = await generate(prompt, { tools: builtin });
    expect(usage.inputTokens.total).toBe(Math.ceil((42 + 14) / 4));
    expect(usage.outputTokens.total).toBe(Math.ceil((calls[0]?.input.length ?? 0) / 4));
  });
});

describe('streaming', () => {
  async function stream(text: string, tools: LanguageModelV4FunctionTool[], abortSignal?: AbortSignal) {
    const result = await model.doStream({ prompt: asking(text), tools, ...(abortSignal && { abortSignal }) });
    return result.stream;
  }

  test('text comes in small deltas and equals the text of doGenerate', async () => {
    const parts: LanguageModelV4StreamPart[] = [];
    for await (const part of await stream('Who wrote Hamlet?', [weather])) parts.push(part);
    const deltas = parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []));
    expect(deltas.length).toBeGreaterThan(20);
    expect(deltas.join('')).toBe((await generate(asking('Who wrote Hamlet?'), { tools: [weather] })).text);
    const others = parts.map((part) => part.type).filter((type) => type !== 'text-delta');
    expect(others).toEqual(['stream-start', 'response-metadata', 'text-start', 'text-end', 'finish']);
  });

  test('a long answer comes in larger deltas, not more slowly', async () => {
    const tools = Array.from({ length: 20 }, (_, index) => ({ ...weather, name: `weather_${index}` }));
    const parts: string[] = [];
    for await (const { type } of await stream('Who wrote Hamlet?', tools)) parts.push(type);
    const deltas = parts.filter((type) => type === 'text-delta').length;
    expect(deltas).toBeGreaterThan(20);
    expect(deltas).toBeLessThanOrEqual(30);
  });

  test('a tool call streams its input before the complete call', async () => {
    const parts: LanguageModelV4StreamPart[] = [];
    for await (const part of await stream('What is 17% of 2380?', builtin)) parts.push(part);
    const call = parts.find((part) => part.type === 'tool-call');
    const pieces = parts.flatMap((part) => (part.type === 'tool-input-delta' ? [part.delta] : []));
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(call?.input);
    expect(parts.find((part) => part.type === 'tool-input-start')).toMatchObject({
      id: call?.toolCallId,
      toolName: 'calculate',
    });
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'tool-calls' } });
  });

  test('an abort ends a running stream', async () => {
    const controller = new AbortController();
    const seen: string[] = [];
    const read = async () => {
      for await (const part of await stream('Who wrote Hamlet?', [weather], controller.signal)) {
        seen.push(part.type);
        if (part.type === 'text-delta') controller.abort();
      }
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
    expect(seen.filter((type) => type === 'text-delta')).toHaveLength(1);
  });

  test('an aborted signal prevents the start', async () => {
    const abortSignal = AbortSignal.abort();
    await expect(stream('2 + 2', builtin, abortSignal)).rejects.toMatchObject({ name: 'AbortError' });
    await expect(generate(asking('2 + 2'), { abortSignal })).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('descriptions are shortened between words', async () => {
  const description = `Looks ${'everywhere '.repeat(12)}thoroughly`;
  const tools = [{ type: 'function' as const, name: 'seek', description, inputSchema: { type: 'object' as const } }];
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
  const { content } = await createDemoModel().doGenerate({ prompt, tools });
  const [line = ''] = /^- seek: .*$/m.exec(content[0]?.type === 'text' ? content[0].text : '') ?? [];
  expect(line).toMatch(/^- seek: Looks (everywhere )+…$/);
  expect(line.length).toBeLessThan(120);
});
