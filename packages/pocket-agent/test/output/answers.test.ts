// Typed answers: what a run returns, how the answer is checked, and what the rest of the agent sees of it.

import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import {
  type AgentEvent,
  type JsonSchema,
  PocketAgent,
  type PocketError,
  type RunOptions,
  type StepOptions,
  tool,
} from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { limitChecks } from '../../../schema/test/check-limit.ts';
import { add, expectLittleWork, expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

const Report = z.object({ city: z.string(), celsius: z.number() });
const zurich = { city: 'Zurich', celsius: 21 };
const answer = (value: unknown = zurich, name = 'final_answer') => ({
  toolCalls: [{ name, arguments: value as Record<string, unknown> }],
});

async function failureOf(run: Promise<unknown>): Promise<PocketError> {
  return run.then(
    (value) => {
      throw new Error(`Expected an error, got ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}

/** What a library offers under `~standard`. */
function standard(offered: object): JsonSchema {
  return { '~standard': { version: 1, ...offered } };
}

describe('the type of an answer', () => {
  test('comes from the schema of the run', async () => {
    const { agent } = scriptedAgent([answer(), 'text']);
    const report = await agent.run('?', { output: Report });
    expectTypeOf(report).toEqualTypeOf<{ city: string; celsius: number }>();
    expect(report).toEqual(zurich);
    expectTypeOf(await agent.run('?')).toEqualTypeOf<string>();
  });

  test('comes from the settings around the schema, and from stream()', async () => {
    const { agent } = scriptedAgent([answer()]);
    const stream = agent.stream('?', { output: { schema: Report, retries: 0 } });
    const shown: unknown[] = [];
    for (;;) {
      const next = await stream.next();
      if (!next.done) {
        if (next.value.type === 'output_delta') shown.push(next.value.data.value);
        continue;
      }
      expect(shown).toEqual([zurich]);
      expectTypeOf(next.value).toEqualTypeOf<{ city: string; celsius: number }>();
      expect(next.value).toEqual(zurich);
      break;
    }
  });

  test('comes from the schema of the agent, for every run', async () => {
    const llmModel = new ScriptedModel([answer(), answer(), answer({ value: ['a'] })]);
    const agent = new PocketAgent({ llmModel, output: Report, logger: silent });
    const report = await agent.run('?');
    expectTypeOf(report).toEqualTypeOf<{ city: string; celsius: number }>();
    expect(report).toEqual(zurich);
    const nested = new PocketAgent({ agentConfig: { llmModel, output: { schema: Report } }, logger: silent });
    expectTypeOf(await nested.run('?')).toEqualTypeOf<{ city: string; celsius: number }>();
    // the option of a run replaces it
    const list = await agent.run('?', { output: z.array(z.string()) });
    expectTypeOf(list).toEqualTypeOf<string[]>();
    expect(list).toEqual(['a']);
  });

  test('is unknown for a JSON Schema, unless it is named', async () => {
    const schema: JsonSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const { agent } = scriptedAgent([answer(), answer()]);
    expectTypeOf(await agent.run('?', { output: schema })).toEqualTypeOf<unknown>();
    expectTypeOf(await agent.run<{ city: string }>('?', { output: schema })).toEqualTypeOf<{ city: string }>();
    // @ts-expect-error the type of its answers must be named
    new PocketAgent({ llmModel: 'demo', output: schema });
    expectTypeOf(new PocketAgent<typeof zurich>({ llmModel: 'demo', output: schema })).toEqualTypeOf<
      PocketAgent<typeof zurich>
    >();
  });
});

test.each([
  { mode: 'auto', names: ['add'] },
  { mode: 'tool', names: ['add'] },
  { mode: 'native', names: [] },
] as const)('the demo model is refused before it calls a tool: $mode', async ({ mode, names }) => {
  const ran: unknown[] = [];
  const tools = names.map((name) => tool({ name, description: 'Adds', run: (args) => ran.push(args) }));
  await using agent = new PocketAgent({ llmModel: 'demo', tools });
  await expect(agent.run('Add the numbers.', { output: { schema: Report, mode } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/^The demo model cannot answer by a schema.*ANTHROPIC_API_KEY/),
  });
  expect(ran).toEqual([]);
});

test('a tool of the program that is called final_answer is no typed answer for the demo model', async () => {
  const final = tool({ name: 'final_answer', description: 'Tells the final answer', run: () => '42' });
  await using agent = new PocketAgent({ llmModel: 'demo', tools: [final] });
  expect(await agent.run('Tell the final answer')).toContain('42');
});

describe('an answer', () => {
  test('is checked by a JSON Schema too', async () => {
    const output = { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] };
    const { agent, model } = scriptedAgent([answer({ celsius: 'warm' }), answer()]);
    expect(await agent.run('?', { output })).toEqual(zurich);
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('celsius must be number');
  });

  test('is what the schema made of it: defaults, transforms and asynchronous checks apply', async () => {
    const schema = z.object({
      day: z.string().transform((text) => new Date(text)),
      unit: z.string().default('celsius'),
      city: z.string().refine(async (city) => city === 'Zurich', 'unknown city'),
    });
    const { agent } = scriptedAgent([
      answer({ day: '2026-11-18', city: 'Atlantis' }),
      answer({ day: '2026-11-18', city: 'Zurich' }),
    ]);
    const value = await agent.run('?', { output: schema });
    expect(value).toEqual({ day: new Date('2026-11-18'), unit: 'celsius', city: 'Zurich' });
    expect(resultText(agent)).toContain('- city: unknown city');
  });

  test.each<[string, z.ZodType, unknown]>([
    ['a list', z.array(z.number()), [1, 2]],
    ['a string', z.enum(['yes', 'no']), 'yes'],
    ['a number', z.number(), 7],
    ['one of two objects', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), { b: 'x' }],
    ['null', z.string().nullable(), null],
  ])('may be %s', async (_what, schema, value) => {
    const { agent, model } = scriptedAgent([answer({ value })]);
    expect(await agent.run('?', { output: schema })).toEqual(value);
    expect(model.calls[0]?.tools?.[0]).toMatchObject({ inputSchema: { type: 'object', required: ['value'] } });
  });

  test('may be a tree, also inside a wrapper', async () => {
    const Tree: z.ZodType = z.lazy(() => z.object({ name: z.string(), children: z.array(Tree) }));
    const value = [{ name: 'root', children: [{ name: 'leaf', children: [] }] }];
    const { agent, model } = scriptedAgent([answer({ value })]);
    expect(await agent.run('?', { output: z.array(Tree) })).toEqual(value);
    const references = JSON.stringify(model.calls[0]?.tools).match(/"#[^"]*"/g) ?? [];
    expect(references.every((reference) => reference.startsWith('"#/properties/value/'))).toBe(true);
  });

  test.each([
    ['JSON', JSON.stringify(zurich)],
    ['JSON in a code fence', `Here it is:\n\`\`\`json\n${JSON.stringify(zurich)}\n\`\`\``],
  ])('is accepted as text that is %s', async (_what, text) => {
    const { agent, model } = scriptedAgent([text]);
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect(model.calls).toHaveLength(1);
  });

  test('written as other text is asked for again, with a forced call of the tool', async () => {
    const { agent, model } = scriptedAgent(['It is 21 degrees.', answer()], { tools: [add] });
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect(model.calls.map(({ toolChoice }) => toolChoice)).toEqual([
      { type: 'auto' },
      { type: 'tool', toolName: 'final_answer' },
    ]);
    expectValidHistory(agent);
  });

  test.each([0, 3])('is corrected as often as retries says: %i', async (retries) => {
    const { agent, model } = scriptedAgent(Array.from({ length: retries + 1 }, () => answer({ city: 1 })));
    const error = await failureOf(agent.run('?', { output: { schema: Report, retries } }));
    expect(error).toMatchObject({ code: 'OUTPUT_INVALID', details: { text: '{"city":1}' } });
    expect(error.details.problems).toHaveLength(2);
    expect(error.message).toMatch(/^The answer does not fit the output schema.*: city: .*; celsius: .*output\.retries/);
    expect(model.calls).toHaveLength(retries + 1);
    expectValidHistory(agent);
  });

  test('given twice in one step counts once', async () => {
    const call = { name: 'final_answer', arguments: zurich };
    const { agent } = scriptedAgent([{ toolCalls: [{ ...call, arguments: {} }, call, call] }]);
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect(resultText(agent, 1)).toBe('Accepted.');
    expectValidHistory(agent);
  });
});

describe('the answer tool', () => {
  test('does not take the name of another tool', async () => {
    const other = tool({ name: 'final_answer', description: 'Another one', run: () => 'called' });
    const { agent, model } = scriptedAgent([answer({}), answer(zurich, 'final_answer_2')], { tools: [other] });
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect(model.calls[0]?.tools?.map(({ name }) => name)).toEqual(['final_answer', 'final_answer_2']);
    expect(resultText(agent)).toBe('called');
  });

  test('does not count as a tool call: no approval, hook, event, record or limit applies to it', async () => {
    const events = recordEvents();
    const hooked: string[] = [];
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, answer()], {
      tools: [add],
      limits: { maxToolCalls: 1 },
      access: { profile: 'reader', confirm: 'always' },
      approve: ({ tool: name }) => {
        hooked.push(`approve ${name}`);
        return 'allow';
      },
      hooks: { ...events, preToolCall: (_, { name }) => void hooked.push(`pre ${name}`) },
    });
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect(hooked).toEqual(['pre add', 'approve add']);
    const of = (type: string) => events.events.filter((event) => event.type === type).length;
    expect([of('tool_call'), of('tool_result'), of('audit'), of('new_message')]).toEqual([1, 1, 1, 5]);
    expect(Object.keys(agent.totals.byTool)).toEqual(['add']);
  });

  test('beside other calls: they are made, and the run ends', async () => {
    const step = { toolCalls: [...answer().toolCalls, { name: 'add', arguments: { a: 1, b: 2 } }] };
    const { agent } = scriptedAgent([step], { tools: [add] });
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['Accepted.', '3']);
    expectValidHistory(agent);
  });

  test('is not offered to runs and steps without an output', async () => {
    const { agent, model } = scriptedAgent([answer(), 'a', 'b'], { tools: [add] });
    await agent.run('?', { output: Report });
    await agent.run('?');
    agent.addUserMessage('?');
    await agent.step();
    expect(model.calls.map(({ tools }) => tools?.length)).toEqual([2, 1, 1]);
  });
});

describe('a run inside a typed run', () => {
  test('of a sub-agent returns text', async () => {
    const sub = new PocketAgent({ llmModel: new ScriptedModel(['21']), name: 'Sub', logger: silent });
    const ask = { toolCalls: [{ name: 'Sub-message', arguments: { message: 'How warm?' } }] };
    const { agent } = scriptedAgent([ask, answer()], { subAgents: [sub] });
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect(resultText(agent)).toBe('21');
  });

  test('of the same agent in a hook returns text', async () => {
    const texts: unknown[] = [];
    let isInside = false;
    const { agent } = scriptedAgent(['inner', answer()], {
      hooks: {
        async preStep({ agent: self }) {
          if (isInside) return;
          isInside = true;
          texts.push(await self.run('Inner?'));
        },
      },
    });
    expect(await agent.run('?', { output: Report })).toEqual(zurich);
    expect(texts).toEqual(['inner']);
  });

  test('of an overridden run() is typed if the output is passed on', async () => {
    class Twice extends PocketAgent {
      override async run(input: string, options: RunOptions = {}): Promise<string> {
        const draft = await super.run(input);
        return super.run(`Report on: ${draft}`, options);
      }
    }
    const agent = new Twice({ llmModel: new ScriptedModel(['draft', answer()]), logger: silent });
    const options: RunOptions & { output: typeof Report } = { output: Report };
    expect(await agent.run('?', options)).toEqual(zurich);
    expect(JSON.stringify(agent.messages)).toContain('Report on: draft');
  });
});

test('an overridden step() gives the answer too', async () => {
  let steps = 0;
  class Counting extends PocketAgent {
    override step(options?: StepOptions) {
      steps++;
      return super.step(options);
    }
  }
  const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, answer()]);
  const agent = new Counting({ llmModel, tools: [add], logger: silent });
  expect(await agent.run('?', { output: Report })).toEqual(zurich);
  expect(steps).toBe(2);
});

test('a fork keeps the output of its agent', async () => {
  const agent = new PocketAgent({ llmModel: new ScriptedModel([answer()]), output: Report, logger: silent });
  expect(await agent.fork().run('?')).toEqual(zurich);
});

test.each([
  [{ schema: Report, mode: 'json' }, 'output.mode must be one of auto, native, tool'],
  [{ schema: Report, retires: 2 }, 'output has no option "retires". Did you mean "retries"?'],
  [{ schema: Report, retries: -1 }, 'output.retries must be a whole number, 0 or more'],
  [{ city: z.string() }, 'The output schema must be a zod schema, z.object({ … }), or a JSON Schema'],
  ['Report', 'The output schema must be a zod schema'],
  [z.object({ when: z.date() }), 'The output schema cannot be converted to JSON Schema'],
  [v.object({ city: v.string() }), 'pass toStandardJsonSchema(schema) of @valibot/to-json-schema, or a JSON Schema'],
  [standard({ vendor: 'x', validate: () => ({ value: 1 }) }), 'this schema of x does not offer it'],
  [z.object({ when: z.coerce.date() }), 'Let the model write a string: z.iso.datetime().transform('],
  [{ type: 'object', properties: { a: { type: 'text' } } }, 'The output schema cannot be used'],
  [{ type: 'object', properties: { a: { $ref: '#/$defs/b' } } }, "can't resolve reference #/$defs/b"],
  [{ type: 'object', properties: { a: { pattern: '(' } } }, 'The output schema cannot be used'],
])('a wrong output is refused before the model is asked (%#)', async (output, message) => {
  const { agent, model } = scriptedAgent([answer({ a: 1 })]);
  const error = await failureOf(agent.run('?', { output: output as never }));
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
  expect(model.calls).toEqual([]);
  expect(agent.messages).toEqual([]);
});

describe('a schema of another library', () => {
  const wrong = { city: 'Zurich', celsius: 'warm' };

  test('ArkType: the value has its type, and its problems go to the model', async () => {
    const { agent } = scriptedAgent([answer(wrong), answer()]);
    const report = await agent.run('?', { output: type({ city: 'string', celsius: 'number' }) });
    expectTypeOf(report).toEqualTypeOf<{ city: string; celsius: number }>();
    expect(report).toEqual(zurich);
    expect(resultText(agent)).toContain('celsius must be a number');
  });

  test('Valibot, with its converter', async () => {
    const { agent } = scriptedAgent([answer(wrong), answer()]);
    const schema = toStandardJsonSchema(v.object({ city: v.string(), celsius: v.number() }));
    const report = await agent.run('?', { output: schema });
    expectTypeOf(report).toEqualTypeOf<{ city: string; celsius: number }>();
    expect(report).toEqual(zurich);
    expect(resultText(agent)).toContain('Expected number but received "warm"');
  });

  test('one that only offers a JSON Schema, of an older draft', async () => {
    const { agent, model } = scriptedAgent([answer(wrong), answer()]);
    const json = { type: 'object', properties: { celsius: { type: 'number' } } };
    const convert = ({ target }: { target: string }) => {
      if (target !== 'draft-07') throw new Error(`${target} is unknown`);
      return json;
    };
    const output = standard({ vendor: 'x', jsonSchema: { input: convert, output: convert } });
    expect(await agent.run('?', { output })).toEqual(zurich);
    expect(model.calls[0]?.tools?.[0]).toMatchObject({ inputSchema: json });
    expect(resultText(agent)).toMatch(/celsius.*number/);
  });
});

test('a long answer in small pieces is shown often enough, with little work', async () => {
  const items = Array.from({ length: 10_000 }, (_, index) => ({ index, text: `the text of item ${index}` }));
  const text = JSON.stringify({ items }).replaceAll(',', ', ');
  const model = new ScriptedModel([text], { provider: 'google.generative-ai' });
  const agent = new PocketAgent({ llmModel: model, logger: silent });
  const schema = z.object({ items: z.array(z.object({ index: z.number(), text: z.string() })) });
  const before = process.threadCpuUsage();
  const lengths: number[] = [];
  const onEvent = (event: AgentEvent) => {
    if (event.type === 'output_delta') lengths.push((event.data.value as { items?: unknown[] }).items?.length ?? 0);
  };
  expect(await agent.run('?', { output: schema, onEvent })).toEqual({ items });
  expectLittleWork(before);
  expect(lengths.length).toBeGreaterThan(50);
  expect(lengths.length).toBeLessThan(300);
  expect(lengths.at(-1)).toBe(items.length);
  expect(lengths).toEqual(lengths.toSorted((left, right) => left - right));
});

test('an answer nested too deeply neither ends the program nor is accepted', async () => {
  const text = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const model = new ScriptedModel([text, text], { provider: 'google.generative-ai' });
  const agent = new PocketAgent({ llmModel: model, logger: silent });
  const output = { schema: z.array(z.unknown()), mode: 'native' as const };
  const error = await failureOf(agent.run('?', { output, onEvent() {} }));
  expect(error).toMatchObject({ code: 'OUTPUT_INVALID', message: expect.stringContaining('nested levels') });
});

test('a pattern that takes years for the answer of a model ends the run instead of blocking the program', async () => {
  limitChecks(300);
  const output = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } };
  const { agent } = scriptedAgent([answer({ name: 'aaa' }), answer({ name: `${'a'.repeat(60)}!` })]);
  expect(await agent.run('?', { output })).toEqual({ name: 'aaa' });
  const error = await failureOf(agent.run('?', { output }));
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('took longer than') });
  expectValidHistory(agent);
});

test.each([
  ['contains itself', () => selfContaining({ type: 'object', properties: {} })],
  ['contains itself, and is no object', () => selfContaining({ type: 'array', properties: {} })],
  ['refers to itself', () => ({ $ref: '#' })],
  ['is nested in 20,000 levels', () => nested(20_000)],
])('a schema that %s is refused before the model is called', async (_what, schema) => {
  const { agent, model } = scriptedAgent([answer()]);
  const error = await failureOf(agent.run('?', { output: schema() }));
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('nested too deeply') });
  expect(model.calls).toHaveLength(0);
});

function selfContaining(schema: { type: string; properties: Record<string, JsonSchema> }): JsonSchema {
  schema.properties.self = schema;
  return schema;
}

function nested(levels: number): JsonSchema {
  let schema: JsonSchema = { type: 'string' };
  for (let level = 0; level < levels; level++) schema = { type: 'object', properties: { a: schema } };
  return schema;
}

describe('a check of the program', () => {
  test('that throws fails the run, and its call has a result', async () => {
    const schema = z.object({
      city: z.string().transform(() => {
        throw new Error('The list of cities is gone.');
      }),
    });
    const { agent } = scriptedAgent([answer()]);
    await expect(agent.run('?', { output: schema })).rejects.toThrow('The list of cities is gone.');
    expectValidHistory(agent);
    expect(resultText(agent)).toBe('This answer could not be checked.');
  });

  test('that waits runs once, and may reject', async () => {
    let checks = 0;
    const schema = z.object({
      city: z.string().refine(async () => {
        if (++checks > 1) throw new Error('The database is gone.');
        return true;
      }),
    });
    const { agent } = scriptedAgent([answer(), answer()]);
    expect(await agent.run('?', { output: schema })).toEqual({ city: 'Zurich' });
    await expect(agent.run('?', { output: schema })).rejects.toThrow('The database is gone.');
    expect(checks).toBe(2);
  });

  test.each(['a call', 'text'])('that never ends stops with the run, for %s', async (how) => {
    const began = Promise.withResolvers<void>();
    const schema = z.object({
      city: z.string().refine(() => {
        began.resolve();
        return new Promise<boolean>(() => {});
      }),
    });
    const { agent } = scriptedAgent([how === 'text' ? JSON.stringify(zurich) : answer(), 'Hello.']);
    const controller = new AbortController();
    const run = agent.run('?', { output: schema, signal: controller.signal });
    await began.promise;
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
    expectValidHistory(agent);
    expect(await agent.run('And now?')).toBe('Hello.');
  });
});
