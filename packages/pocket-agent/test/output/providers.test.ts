// Typed answers over HTTP, through the provider packages: enforced schemas, the answer tool, and what providers do wrong.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type AgentEvent, PocketAgent, type PocketError, Router } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { API_KEY, type FakeAnswer, type Json } from '../fixtures/providers/fake-dialect.ts';
import { everyModel, FakeProviders } from '../fixtures/providers/fake-providers.ts';
import { add, expectValidHistory, silent } from '../helpers.ts';

const Report = z.object({ city: z.string(), celsius: z.number() });
const zurich = { city: 'Zurich', celsius: 21 };
const zurichText = JSON.stringify(zurich, null, 1);
const QUESTION = 'How warm is it in Zurich?';

const enforcing = [
  'openai/gpt-5.1',
  'azure/my-deployment',
  'openai-chat/gpt-5.1',
  'anthropic/claude-sonnet-4-5',
  'google/gemini-3-pro-preview',
  'mistral/mistral-large-latest',
  'groq/openai/gpt-oss-120b',
];
const others = ['openai-compatible/local-model', 'ollama/qwen3:8b'];

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => {
  const rejected = [...fake.rejected];
  fake.reset();
  expect(rejected).toEqual([]);
});

/** The schema of the answer in a request, in the field of each provider. */
function formatIn(body: Json): unknown {
  const places = [
    body.at('text', 'format', 'schema'),
    body.at('response_format', 'json_schema', 'schema'),
    body.at('output_config', 'format', 'schema'),
    body.at('generationConfig', 'responseJsonSchema'),
  ];
  return places.find((place) => place.exists)?.value;
}

/** The names of the offered tools. */
function toolsIn(body: Json): string[] {
  const declared = body.at('tools', 0, 'functionDeclarations').list;
  const tools = declared.length > 0 ? declared : body.at('tools').list;
  return tools.map((tool) => tool.at('function', 'name').text || tool.at('name').text);
}

const answerCall = (value: unknown = zurich): FakeAnswer => ({
  toolCalls: [{ name: 'final_answer', arguments: value as Record<string, unknown> }],
});

async function failureOf(run: Promise<unknown>): Promise<PocketError> {
  return run.then(
    (value) => {
      throw new Error(`Expected an error, got ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}

describe.each(enforcing)('%s, which enforces schemas', (model) => {
  test.each([false, true])('gets the schema with the only request (streaming: %s)', async (streaming) => {
    const agent = fake.agent(model);
    fake.script(zurichText);
    expect(await agent.run(QUESTION, { output: Report, streaming })).toEqual(zurich);
    expect(fake.requests).toHaveLength(1);
    expect(formatIn(fake.lastBody)).toMatchObject({ type: 'object', properties: { city: { type: 'string' } } });
    expect(toolsIn(fake.lastBody)).toEqual([]);
  });
});

test.each(others)('%s, which does not, gets a tool for the answer and must call it', async (model) => {
  const agent = fake.agent(model);
  fake.script(answerCall());
  expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
  expect(fake.lastBody.at('response_format').exists).toBe(false);
  expect(toolsIn(fake.lastBody)).toEqual(['final_answer']);
  expect(fake.lastBody.at('tool_choice', 'function', 'name').text).toBe('final_answer');
  expectValidHistory(agent);
});

test.each(everyModel.map(({ model }) => model))('%s with tools is not asked for JSON while it works', async (model) => {
  const agent = fake.agent(model, { tools: [add] });
  fake.script({ toolCalls: [{ name: 'add', arguments: { a: 20, b: 1 } }] }, answerCall());
  expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
  expect(fake.requests.map(({ body }) => formatIn(body))).toEqual([undefined, undefined]);
  expect(toolsIn(fake.lastBody)).toEqual(['add', 'final_answer']);
  expectValidHistory(agent);
  // the history with the answer can be continued as text
  fake.script('Warm.');
  expect(await agent.run('And in one word?')).toBe('Warm.');
  expect(toolsIn(fake.lastBody)).toEqual(['add']);
});

describe.each([
  ['openai/gpt-5.1', { text: zurichText }],
  ['openai-chat/gpt-5.1', { text: zurichText }],
  ['openai-compatible/local-model', { toolCalls: [{ name: 'final_answer', arguments: zurichText }] }],
  ['anthropic/claude-sonnet-4-5', { text: zurichText }],
] satisfies [string, FakeAnswer][])('a stream of %s', (model, answer) => {
  test('yields the answer as it arrives, not its JSON, and returns the value', async () => {
    const agent = fake.agent(model);
    fake.script(answer);
    const events: AgentEvent[] = [];
    const run = agent.stream(QUESTION, { output: Report });
    let next = await run.next();
    for (; !next.done; next = await run.next()) events.push(next.value);
    expect(next.value).toEqual(zurich);
    const partial = events.flatMap((event) => (event.type === 'output_delta' ? [event.data.value] : []));
    expect(partial[0]).toEqual({});
    expect(partial).toContainEqual({ city: 'Zurich' });
    expect(partial.at(-1)).toEqual(zurich);
    expect(partial.every((value) => Object.isFrozen(value))).toBe(true);
    expect(events.map(({ type }) => type)).not.toContain('text_delta');
    expect(events.at(-1)).toMatchObject({ type: 'run_finished', data: { answer: zurich } });
  });
});

test('every part of an answer that is shown is the beginning of it', async () => {
  const value = {
    text: 'a "quoted" \\ back\\slash\nand ünïcode 🙂 ',
    list: [1, -2.5e10, true, false, null, [], {}, [['x']]],
    nested: { empty: '', deep: [{ a: [{ b: 'c' }] }] },
  };
  const schema = z.object({ text: z.string(), list: z.array(z.unknown()), nested: z.unknown() });
  const smileys = '🙂'.repeat(40);
  const escaped = smileys.replaceAll('🙂', '\\ud83d\\ude42');
  for (const [json, whole] of [
    [JSON.stringify(value), value],
    [JSON.stringify(value, null, 2).replaceAll('ü', '\\u00fc'), value],
    [JSON.stringify({ ...value, text: smileys }), { ...value, text: smileys }],
    [JSON.stringify({ ...value, text: '' }).replace('""', `"${escaped}"`), { ...value, text: smileys }],
  ] as const) {
    const shown: unknown[] = [];
    fake.script({ toolCalls: [{ name: 'final_answer', arguments: json }] });
    await fake.agent('openai-compatible/local-model').run(QUESTION, {
      output: schema,
      onEvent: (event) => void (event.type === 'output_delta' && shown.push(event.data.value)),
    });
    expect(shown.length).toBeGreaterThan(15);
    expect(shown.at(-1)).toEqual(whole);
    expect(shown.filter((part) => !isBeginning(part, whole))).toEqual([]);
  }
});

/** Whether a value can grow into the whole: strings are cut between characters, lists at the end, properties are missing. */
function isBeginning(part: unknown, whole: unknown): boolean {
  if (typeof part === 'string') return typeof whole === 'string' && whole.startsWith(part) && part.isWellFormed();
  if (typeof part !== 'object' || part === null) return part === whole;
  if (typeof whole !== 'object' || whole === null) return false;
  return Object.entries(part).every(([key, value]) => isBeginning(value, Reflect.get(whole, key)));
}

describe('an answer that does not fit', () => {
  const wrong = { city: 'Zurich', celsius: 'warm' };

  test.each([
    ['openai/gpt-5.1', { text: JSON.stringify(wrong) }],
    ['openai-compatible/local-model', answerCall(wrong)],
  ] satisfies [string, FakeAnswer][])('goes back to %s with the exact problem', async (model, answer) => {
    const agent = fake.agent(model);
    fake.script(answer, answerCall());
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(String(fake.lastBody)).toContain('celsius: Invalid input: expected number, received string');
    expectValidHistory(agent);
  });

  test.each([
    ['openai/gpt-5.1', { text: JSON.stringify(wrong) }, answerCall(wrong)],
    ['openai/gpt-5.1', { text: 'It is warm.' }, { text: 'Very warm.' }],
    ['openai-compatible/local-model', answerCall(wrong), answerCall(wrong)],
    ['openai-compatible/local-model', answerCall('{"city": "Zur'), answerCall('{"city": "Zurich", celsius')],
  ] satisfies [string, FakeAnswer, FakeAnswer][])('ends the run of %s the second time', async (model, ...answers) => {
    const agent = fake.agent(model);
    fake.script(...answers);
    const error = await failureOf(agent.run(QUESTION, { output: Report }));
    expect(error).toMatchObject({ name: 'PocketError', code: 'OUTPUT_INVALID' });
    const last = answers[1];
    const call = last.toolCalls?.[0]?.arguments;
    const raw = last.text ?? (typeof call === 'string' ? call : JSON.stringify(call));
    expect(error.details).toEqual({ text: raw, problems: [expect.any(String)] });
    expect(error.message).toContain(String((error.details.problems as string[])[0]));
    expectValidHistory(agent);
  });
});

describe('other ends of an answer keep their errors', () => {
  const models = ['openai/gpt-5.1', 'openai-chat/gpt-5.1', 'openai-compatible/local-model'];

  test.each(models.flatMap((model) => [false, true].map((streaming) => ({ model, streaming }))))(
    'a refusal of $model (streaming: $streaming)',
    async ({ model, streaming }) => {
      fake.script({ refusal: 'I cannot help with that.' });
      const error = await failureOf(fake.agent(model).run(QUESTION, { output: Report, streaming }));
      expect(error).toMatchObject({
        code: 'ANSWER_FILTERED',
        message: 'The model refused to answer: I cannot help with that.',
        details: { text: 'I cannot help with that.' },
      });
      expect(fake.requests).toHaveLength(1);
    },
  );

  test.each([
    ['openai/gpt-5.1', { text: '{"city": "Zur', finish: 'length' }],
    ['openai-chat/gpt-5.1', { text: '{"city": "Zur', finish: 'length' }],
    [
      'openai-compatible/local-model',
      { toolCalls: [{ name: 'final_answer', arguments: '{"city": "Zur' }], finish: 'length' },
    ],
  ] satisfies [string, FakeAnswer][])('an answer of %s that is cut off', async (model, answer) => {
    const agent = fake.agent(model);
    fake.script(answer);
    const error = await failureOf(agent.run(QUESTION, { output: Report }));
    expect(error).toMatchObject({ code: 'ANSWER_CUT_OFF', details: { text: '{"city": "Zur' } });
    expect(fake.requests).toHaveLength(1);
    expectValidHistory(agent);
  });
});

describe('a provider that does not do what it says', () => {
  test.each([
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    'This model does not support response format `json_schema`.',
  ])('rejects the schema: the model gets the answer tool, from then on at once (%s)', async (message) => {
    const agent = fake.agent('groq/openai/gpt-oss-120b');
    fake.script({ status: 400, message }, answerCall(), answerCall());
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(fake.requests.map(({ body }) => toolsIn(body))).toEqual([[], ['final_answer'], ['final_answer']]);
  });

  test('ignores the schema: the model is asked to call the answer tool, and later runs offer it from the start', async () => {
    const agent = fake.agent('openai-chat/gpt-5.1');
    fake.script('It is 21 degrees.', answerCall(), answerCall());
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(fake.requests.map(({ body }) => toolsIn(body))).toEqual([[], ['final_answer'], ['final_answer']]);
    expectValidHistory(agent);
  });

  test('sends json_object instead of the schema: it is read all the same, and then the tool is used', async () => {
    const provider = createOpenAICompatible({
      name: 'openai',
      baseURL: fake.baseUrl('openai-compatible'),
      apiKey: API_KEY,
    });
    const agent = new PocketAgent({ llmModel: provider('local'), logger: silent });
    fake.script(zurichText, answerCall());
    // the name of the provider promises what its package does not do
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(fake.lastBody.at('response_format').value).toEqual({ type: 'json_object' });
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(toolsIn(fake.lastBody)).toEqual(['final_answer']);
  });

  test('supports structured outputs after all', async () => {
    const settings = { name: 'local', baseURL: fake.baseUrl('openai-compatible'), apiKey: API_KEY };
    const provider = createOpenAICompatible({ ...settings, supportsStructuredOutputs: true });
    const agent = new PocketAgent({ llmModel: provider('local'), logger: silent });
    fake.script(zurichText);
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(formatIn(fake.lastBody)).toMatchObject({ additionalProperties: false });
  });

  test('rejects a forced tool call: the tool is offered', async () => {
    const agent = fake.agent('openai-compatible/local-model');
    const message = 'tool_choice must be "none" or "auto" for this model.';
    fake.script({ status: 400, message }, answerCall(), answerCall());
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    expect(fake.requests.slice(1).map(({ body }) => body.at('tool_choice').value)).toEqual(['auto', 'auto']);
  });

  test('rejects a forced call because of thinking: only the force is left out', async () => {
    const warnings: string[] = [];
    const agent = fake.agent('anthropic/claude-sonnet-4-5', {
      logger: { ...silent, warn: (text) => void warnings.push(text) },
    });
    const message = 'Thinking may not be enabled when tool_choice forces tool use.';
    fake.script({ status: 400, message }, answerCall());
    expect(await agent.run(QUESTION, { output: { schema: Report, mode: 'tool' } })).toEqual(zurich);
    expect(fake.requests.map(({ body }) => body.at('tool_choice', 'type').text)).toEqual(['tool', 'auto']);
    expect(warnings).toEqual([]);
  });

  test('behind a router is asked with the tool', async () => {
    const router = new Router({
      logger: silent,
      models: [{ modelName: 'main', params: { model: 'openai-compatible/local-model', ...routed() } }],
    });
    const agent = new PocketAgent({ llmModel: 'main', router, logger: silent });
    fake.script(answerCall({ city: 1 }), answerCall());
    expect(await agent.run(QUESTION, { output: Report })).toEqual(zurich);
    await router.close();
  });

  const routed = () => {
    const { modelSettings } = fake.modelConfig('openai-compatible/local-model');
    return { ...modelSettings };
  };
});

describe('mode', () => {
  test('native with tools: the tools come first, then one step asks for the JSON', async () => {
    const agent = fake.agent('openai/gpt-5.1', { tools: [add] });
    fake.script({ toolCalls: [{ name: 'add', arguments: { a: 20, b: 1 } }] }, '21 degrees.', zurichText);
    expect(await agent.run(QUESTION, { output: { schema: Report, mode: 'native' } })).toEqual(zurich);
    expect(fake.requests.map(({ body }) => formatIn(body) !== undefined)).toEqual([false, false, true]);
    expect(fake.lastBody.at('tool_choice').text).toBe('none');
    expectValidHistory(agent);
  });

  test('native corrects in the same way', async () => {
    const agent = fake.agent('openai/gpt-5.1');
    fake.script('Warm.', zurichText);
    expect(await agent.run(QUESTION, { output: { schema: Report, mode: 'native' } })).toEqual(zurich);
    expect(formatIn(fake.lastBody)).toBeDefined();
    expect(toolsIn(fake.lastBody)).toEqual([]);
  });

  test('tool does not use the schema support of the provider', async () => {
    const agent = fake.agent('openai/gpt-5.1');
    fake.script(answerCall());
    expect(await agent.run(QUESTION, { output: { schema: Report, mode: 'tool' } })).toEqual(zurich);
    expect(formatIn(fake.lastBody)).toBeUndefined();
  });

  const Optional = z.object({ city: z.string(), celsius: z.number().optional() });

  test('auto uses the tool for a schema that the provider would not enforce', async () => {
    const agent = fake.agent('openai/gpt-5.1');
    fake.script(answerCall({ city: 'Zurich' }));
    expect(await agent.run(QUESTION, { output: Optional })).toEqual({ city: 'Zurich' });
    expect(toolsIn(fake.lastBody)).toEqual(['final_answer']);
  });

  test.each(['openai/gpt-5.1', 'openai-chat/gpt-5.1', 'groq/openai/gpt-oss-120b'])(
    'native asks %s without strictness for such a schema',
    async (model) => {
      const agent = fake.agent(model);
      fake.script('{"city": "Zurich"}');
      expect(await agent.run(QUESTION, { output: { schema: Optional, mode: 'native' } })).toEqual({ city: 'Zurich' });
      const strict = fake.lastBody.at('text', 'format', 'strict').value;
      expect(strict ?? fake.lastBody.at('response_format', 'json_schema', 'strict').value).toBe(false);
    },
  );
});
