// Answers of models with broken calls, and histories from outside that are not whole: the agent goes on with both.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import * as fc from 'fast-check';
import { type Message, PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

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
  ['values', `{"a":[${'1,'.repeat(50_000)}1]}`, 'it has more than 50000 values'],
  ['levels', `{"a":${'['.repeat(101)}${']'.repeat(101)}}`, 'it is nested more than 100 levels deep'],
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
