// Answers of models with broken calls, and histories from outside that are not whole: the agent goes on with both.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import * as fc from 'fast-check';
import { type Message, PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

const callAdd = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] };
const again = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] };
const broken = (call: object) => [{ type: 'tool-call', ...call } as LanguageModelV4Content];

describe('a call of a model', () => {
  test.each<[string, object]>([
    ['without an id', { toolName: 'add', input: '{"a":1,"b":2}' }],
    ['with null for an id', { toolCallId: null, toolName: 'add', input: '{"a":1,"b":2}' }],
    ['with a number for an id', { toolCallId: 7, toolName: 'add', input: '{"a":1,"b":2}' }],
    ['with its arguments as an object', { toolCallId: 'c1', toolName: 'add', input: { a: 1, b: 2 } }],
  ])('%s is made', async (_what, call) => {
    const { agent } = scriptedAgent([{ content: broken(call) }, 'Done.'], { tools: [add] });
    expect(await agent.run('Go')).toBe('Done.');
    expect(resultText(agent)).toBe('3');
    expectReloadable(agent);
  });

  test.each<[string, object, string]>([
    ['without a name', { toolCallId: 'c1', input: '{}' }, 'There is no tool "unnamed"'],
    ['with null for a name', { toolCallId: 'c1', toolName: null, input: '{}' }, 'There is no tool "unnamed"'],
    ['with null for arguments', { toolCallId: 'c1', toolName: 'add', input: null }, 'expected number'],
    ['with a list for arguments', { toolCallId: 'c1', toolName: 'add', input: [1, 2] }, 'must be a JSON object'],
    ['with a number for arguments', { toolCallId: 'c1', toolName: 'add', input: 5 }, 'must be a JSON object'],
  ])('%s gets an answer that says what is wrong', async (_what, call, reason) => {
    const { agent } = scriptedAgent([{ content: broken(call) }, 'Done.'], { tools: [add] });
    expect(await agent.run('Go')).toBe('Done.');
    expect(resultText(agent)).toContain(reason);
    expectReloadable(agent);
  });
});

function load(messages: readonly Message[]): PocketAgent {
  return new PocketAgent({ agentConfig: { llmModel: new ScriptedModel(['Done.']), messages }, logger: silent });
}

function expectReloadable(agent: PocketAgent): void {
  expectValidHistory(agent);
  expect(load(JSON.parse(JSON.stringify(agent.messages))).messages).toEqual(agent.messages);
}

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'add', input: {} })),
});
const answers = (...ids: string[]): Message => ({
  role: 'tool',
  content: ids.map((toolCallId) => ({
    type: 'tool-result',
    toolCallId,
    toolName: 'add',
    output: { type: 'text', value: `answer to ${toolCallId}` },
  })),
});

test.each([
  ['values', `{"a":[${'1,'.repeat(50_000)}1]}`, 'it is JSON that exceeds the limit of 50000 values'],
  ['levels', `{"a":${'['.repeat(101)}${']'.repeat(101)}}`, 'it is JSON that exceeds the limit of 100 nested levels'],
])('a call with too many %s in its arguments is not made', async (_what, input, problem) => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'add', arguments: input }] }, 'Well.'], { tools: [add] });
  expect(await agent.run('Add.')).toBe('Well.');
  expect(resultText(agent, 0)).toContain(`The arguments of "add" must be a JSON object: ${problem}`);
});

test('text in arguments that looks like many values is accepted', async () => {
  const text = '[{},"\\'.repeat(50_000);
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2, text } }] }, 'Well.'], {
    tools: [add],
  });
  await agent.run('Add.');
  expect(resultText(agent, 0)).not.toContain('must be a JSON object');
});

describe('a history from outside', () => {
  const circle: Record<string, unknown> = { type: 'text', text: 'x' };
  circle.providerOptions = circle;
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`);
  test.each<[string, object]>([
    ['with a circle', circle],
    ['that is nested too deep', { type: 'text', text: 'x', providerOptions: deep }],
  ])('%s is refused when the agent is made', (_what, part) => {
    const messages = [{ role: 'user', content: [part] }] as Message[];
    const make = () => new PocketAgent({ agentConfig: { llmModel: 'demo', messages } });
    expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(make).toThrow('agentConfig.messages must be plain JSON');
  });

  test('with answers out of order is sorted in the order of the calls', () => {
    const agent = load([user('Hi'), calls('a', 'b'), answers('b'), answers('a')]);
    expectValidHistory(agent);
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['answer to a', 'answer to b']);
  });

  test('with a duplicate id gets a new id for the second call and its answer', () => {
    const agent = load([user('Hi'), calls('a'), answers('a'), user('Again'), calls('a'), answers('a')]);
    expectValidHistory(agent);
    const parts = agent.messages.flatMap(({ content }) =>
      content.map((part) => 'toolCallId' in part && part.toolCallId),
    );
    expect(new Set(parts.filter(Boolean)).size).toBe(2);
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['answer to a', 'answer to a']);
  });

  test('that is valid is not changed', () => {
    const whole = [user('Hi'), calls('a', 'b'), answers('a', 'b'), calls('c'), answers('c')];
    expect(load(whole).messages).toEqual(whole);
  });

  test('of any calls and answers becomes valid, and loading it again changes nothing', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const ids = fc.array(id, { minLength: 1, maxLength: 3 });
    const message = fc.oneof(
      fc.constant(user('Hi')),
      ids.map((list) => calls(...list)),
      ids.map((list) => answers(...list)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const agent = load(messages);
        expectReloadable(agent);
      }),
      { numRuns: 300 },
    );
  });
});

test('a history keeps a Buffer as base64, and a URL as text', () => {
  const { agent } = scriptedAgent([], { agentConfig: { allowImages: true } });
  const data = { type: 'data' as const, data: Buffer.from([1, 2, 3]) };
  agent.addMessage({ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data }] });
  agent.addUserMessage('look', { images: [new URL('https://example.com/cat.png')] });
  expect(JSON.stringify(agent.messages)).toContain('"AQID"');
  expectValidHistory(agent);
});

test('a history has unique call ids, across steps and after a restart', async () => {
  const same = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 }, id: 'call_0' }] };
  const first = scriptedAgent([same, same, 'ok'], { tools: [add] });
  await first.agent.run('x');
  const messages = JSON.parse(JSON.stringify(first.agent.messages));
  const second = scriptedAgent([same, 'ok'], { tools: [add], agentConfig: { messages } });
  await second.agent.run('y');
  const ids = second.agent.messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
      : [],
  );
  expect(new Set(ids).size).toBe(3);
});

test('a call of the provider that gets a new id keeps its result', async () => {
  const { agent } = scriptedAgent([
    {
      content: [
        { type: 'tool-call', toolCallId: 'odd id!', toolName: 'web', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'odd id!', toolName: 'web', result: 'found' },
        { type: 'text', text: 'ok' },
      ],
      finishReason: 'stop',
    },
  ]);
  await agent.run('x');
  const [call, result] = agent.messages[1]?.content ?? [];
  if (call?.type !== 'tool-call' || result?.type !== 'tool-result') throw new Error('parts are missing');
  expect(result.toolCallId).toBe(call.toolCallId);
  expect(call.toolCallId).toMatch(/^[\w-]+$/);
});

test('a history that ends in the middle of tool calls is completed', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [...callAdd.toolCalls, ...callAdd.toolCalls] }, 'ok'], {
    tools: [add],
  });
  await agent.run('x');
  const [user, assistant, first] = JSON.parse(JSON.stringify(agent.messages));
  const orphan = {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'unknown-call', toolName: 'add', output: { type: 'text', value: '1' } },
    ],
  };
  const resumed = scriptedAgent(['going on'], { agentConfig: { messages: [orphan, user, assistant, first] as never } });
  expectValidHistory(resumed.agent);
  expect(resultText(resumed.agent, 1)).toContain('No result of this call was recorded');
  expect(await resumed.agent.run('y')).toBe('going on');
});

test('a result that follows other messages moves to its call', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [...callAdd.toolCalls, ...again.toolCalls] }, 'ok'], { tools: [add] });
  await agent.run('x');
  const [user, assistant, first, second, ok] = JSON.parse(JSON.stringify(agent.messages));
  const messages = [user, assistant, user, second, ok, first];
  const resumed = scriptedAgent([], { agentConfig: { messages } }).agent;
  expect(resumed.messages).toEqual([user, assistant, first, second, user, ok]);
});

test('a late result belongs to the call before it, not to an earlier one of the same id', async () => {
  const { agent } = scriptedAgent([callAdd, 'ok'], { tools: [add] });
  await agent.run('x');
  const [user, assistant, result] = JSON.parse(JSON.stringify(agent.messages));
  const messages = [user, assistant, user, assistant, user, result];
  const resumed = scriptedAgent([], { agentConfig: { messages } }).agent;
  expectValidHistory(resumed);
  expect([resultText(resumed, 0), resultText(resumed, 1)]).toEqual(['No result of this call was recorded.', '3']);
});
