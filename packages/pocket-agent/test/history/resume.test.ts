// agent.resume(): a run goes on from what is saved of it, also when an approval came later.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentEvent, type Approve, type ConversationLog, type Message, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { fileLog, readFileLog } from '../fixtures/file-log.ts';
import { add, expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

const newFolder = () => mkdtempSync(join(tmpdir(), 'resume-'));

const book = tool({ name: 'book', description: 'Books', run: () => 'booked' });

/** An agent on the log of a file, as each process has one. */
async function onFile(file: string, ...[script, options]: Parameters<typeof scriptedAgent>) {
  const made = scriptedAgent(script, options);
  await made.agent.continueConversation(fileLog(file));
  return made;
}

test('a call that waits for an approval ends the run, and is made when the answer has come', async () => {
  const file = join(newFolder(), 'log');
  const calls = [
    { name: 'book', id: 'x', arguments: { day: 1 } },
    { name: 'add', id: 'y', arguments: { a: 1, b: 2 } },
  ];
  const access = { confirm: 'write' as const };
  const asked: unknown[] = [];
  const later: Approve = ({ toolCallId, canWait }) => {
    asked.push([toolCallId, canWait]);
    return 'later';
  };
  const events: string[] = [];
  const onEvent = (event: AgentEvent) => void events.push(event.type);
  const first = await onFile(file, [{ toolCalls: calls }], { tools: [book, add], access, approve: later });
  await expect(first.agent.run('Book it', { onEvent })).rejects.toMatchObject({ code: 'RUN_SUSPENDED' });
  expect(asked).toEqual([['x', true]]);
  expect(events.filter((type) => type === 'tool_result')).toHaveLength(1);
  const { messages, calls: saved } = readFileLog(file);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  expect([saved.begun, saved.results.length]).toEqual([[], 1]);

  const second = await onFile(file, ['It is booked'], { tools: [book], access, approve: () => 'allow' });
  expect(await second.agent.resume()).toBe('It is booked');
  expect([resultText(second.agent, 0), resultText(second.agent, 1)]).toEqual(['booked', '3']);
  expectValidHistory(second.agent);
  expect(readFileLog(file).messages).toEqual(second.agent.messages);
});

test('a suspended run goes on in the same agent, and another question leaves its calls unmade', async () => {
  const script = [{ toolCalls: [{ name: 'book' }] }, 'Booked'];
  let answer: 'later' | 'allow' = 'later';
  const options = { tools: [book], access: { confirm: 'write' as const }, approve: () => answer };
  const one = await onFile(join(newFolder(), 'log'), script, options);
  await expect(one.agent.run('Book')).rejects.toMatchObject({ code: 'RUN_SUSPENDED' });
  await expect(one.agent.resume()).rejects.toMatchObject({ code: 'RUN_SUSPENDED' });
  answer = 'allow';
  expect(await one.agent.resume()).toBe('Booked');

  answer = 'later';
  const two = await onFile(join(newFolder(), 'log'), [{ toolCalls: [{ name: 'book' }] }, 'Well'], options);
  await expect(two.agent.run('Book')).rejects.toMatchObject({ code: 'RUN_SUSPENDED' });
  expect(await two.agent.run('Or not?')).toBe('Well');
  expect(resultText(two.agent)).toContain('This call was not made');
  expectValidHistory(two.agent);
});

test('if another call of the step ends the run, a call that waits ends with it: once in events, history and audit', async () => {
  const fail = tool({
    name: 'fail',
    description: 'Fails',
    capability: 'read',
    run: () => Promise.reject(new Error('broken')),
  });
  const calls = [
    { name: 'book', id: 'x' },
    { name: 'fail', id: 'y' },
  ];
  const auditFile = join(newFolder(), 'audit');
  const options = {
    tools: [book, fail],
    access: { confirm: 'write' as const, auditFile },
    approve: (() => 'later') satisfies Approve,
    hooks: { onToolError: () => false as const },
  };
  const { agent } = await onFile(join(newFolder(), 'log'), [{ toolCalls: calls }], options);
  const shown: string[] = [];
  const onEvent = ({ type, data }: AgentEvent) => {
    if (type === 'tool_result') shown.push(data.toolCallId);
  };
  await expect(agent.run('Book', { onEvent })).rejects.toMatchObject({ code: 'TOOL_FAILED' });
  expect(shown.toSorted()).toEqual(['x', 'y']);
  expect(resultText(agent, 0)).toContain('This call was not run');
  expectValidHistory(agent);
  await agent.close();
  const audited = readFileSync(auditFile, 'utf8').trim().split('\n');
  expect(audited.map((line) => JSON.parse(line).toolCallId).toSorted()).toEqual(['x', 'y']);
});

test('calls that are done count beyond the limit too, and keep their results', async () => {
  const file = join(newFolder(), 'log');
  const access = { confirm: 'write' as const };
  const adding = { name: 'add', arguments: { a: 1, b: 2 } };
  const calls = [{ ...adding, id: 'x' }, { ...adding, id: 'y' }, { name: 'book' }];
  const first = await onFile(file, [{ toolCalls: calls }], { tools: [book, add], access, approve: () => 'later' });
  await expect(first.agent.run('Book')).rejects.toMatchObject({ code: 'RUN_SUSPENDED' });
  const second = await onFile(file, ['Never'], { tools: [book, add], limits: { maxToolCalls: 1 } });
  await expect(second.agent.resume()).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
  expect([resultText(second.agent, 0), resultText(second.agent, 1)]).toEqual(['3', '3']);
  expectValidHistory(second.agent);
});

test('an agent without a journal cannot wait for an approval', async () => {
  const access = { confirm: 'write' as const };
  const approve: Approve = () => 'later';
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'book' }] }, 'No'], { tools: [book], access, approve });
  expect(await agent.run('Book')).toBe('No');
  expect(resultText(agent)).toContain('this call cannot wait');
});

test('an answer that the history has is returned, and a question without one is asked', async () => {
  const done = scriptedAgent([], { agentConfig: { messages: [say('user', 'Hi'), say('assistant', 'Hello')] } });
  expect(await done.agent.resume()).toBe('Hello');
  const asked = scriptedAgent(['Hello'], { agentConfig: { messages: [say('user', 'Hi')] } });
  const events: AgentEvent[] = [];
  expect(await asked.agent.resume({ onEvent: (event) => void events.push(event) })).toBe('Hello');
  expect(events[0]).toMatchObject({ type: 'run_started', data: { input: 'Hi' } });
  const nothing = scriptedAgent([]);
  await expect(nothing.agent.resume()).rejects.toThrow('has nothing to resume');
});

test('steps, tokens and tool calls count on', async () => {
  const file = join(newFolder(), 'log');
  const toolCalls = [{ name: 'book' }];
  const limits = { maxSteps: 3, maxToolCalls: 3 };
  const access = { confirm: 'write' as const };
  let left = 1;
  const once: Approve = () => (left-- > 0 ? 'allow' : 'later');
  const script = [{ toolCalls }, { toolCalls }];
  const first = await onFile(file, script, { tools: [book], limits, access, approve: once });
  await expect(first.agent.run('Book')).rejects.toMatchObject({ code: 'RUN_SUSPENDED' });

  const second = await onFile(file, [{ toolCalls }, 'Late'], { tools: [book], limits });
  const events: AgentEvent[] = [];
  const resumed = second.agent.resume({ onEvent: (event) => void events.push(event) });
  await expect(resumed).rejects.toMatchObject({ code: 'MAX_STEPS' });
  expect(events.flatMap(({ type, data }) => (type === 'step_started' ? [data.step] : []))).toEqual([2, 3]);
  expect(readFileLog(file).progress).toMatchObject({ steps: 3, totals: { usage: { modelCalls: 3, toolCalls: 3 } } });
});

test('a typed answer that was saved is the answer, also if it is a call', async () => {
  const output = z.object({ n: z.number() });
  const file = join(newFolder(), 'log');
  const tools = [tool({ name: 'final_answer', description: 'A tool of this name', run: () => 'no answer' })];
  const answer = { toolCalls: [{ name: 'final_answer_2', arguments: { n: 7 } }] };
  const first = await onFile(file, [answer], { tools });
  expect(await first.agent.run('How many?', { output })).toEqual({ n: 7 });
  const second = await onFile(file, [], { tools });
  expect(await second.agent.resume({ output })).toEqual({ n: 7 });

  const lines = readFileSync(file, 'utf8').trim().split('\n').slice(0, 2).join('\n');
  const cut = join(newFolder(), 'log');
  writeFileSync(cut, `${lines}\n`);
  const third = await onFile(cut, [], { tools });
  expect(await third.agent.resume({ output })).toEqual({ n: 7 });
  expectValidHistory(third.agent);
});

test('an answer that was cut off stays so', async () => {
  const file = join(newFolder(), 'log');
  const first = await onFile(file, [{ text: 'Half of', finishReason: 'length' }]);
  await expect(first.agent.run('Hi')).rejects.toMatchObject({ code: 'ANSWER_CUT_OFF' });
  const second = await onFile(file, []);
  await expect(second.agent.resume()).rejects.toMatchObject({ code: 'ANSWER_CUT_OFF' });
});

test('a call is not made if the journal cannot note it', async () => {
  let made = 0;
  const risky = tool({ name: 'risky', description: 'Risky', run: () => `${++made}` });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'risky' }] }], { tools: [risky] });
  const log = fileLog(join(newFolder(), 'log'));
  const broken = { ...log, journal: { begin: () => Promise.reject(new Error('disk full')), end: async () => {} } };
  await agent.continueConversation(broken);
  await expect(agent.run('Go')).rejects.toThrow('disk full');
  expect(made).toBe(0);
  expectValidHistory(agent);
});

test('an answer that is saved later is saved before the model is asked again', async () => {
  const saved: string[] = [];
  const waiting: string[] = [];
  const write = async () => void saved.push(...waiting.splice(0));
  const nothing = async () => ({ messages: [], replaces: false });
  const log: ConversationLog = {
    read: nothing,
    begin: nothing,
    append: async (messages) => void waiting.push(...messages.map(({ role }) => role)),
    end: async () => {},
    journal: { begin: write, ready: write, end: async () => {} },
  };
  const seen: string[][] = [];
  const say = (text: string) => () => {
    seen.push([...saved]);
    return text;
  };
  class Pausing extends ScriptedModel {
    override async doGenerate(options: Parameters<ScriptedModel['doGenerate']>[0]) {
      const answer = await super.doGenerate(options);
      return seen.length > 1 ? answer : { ...answer, finishReason: { unified: 'other' as const, raw: 'pause_turn' } };
    }
  }
  const agent = new PocketAgent({
    llmModel: new Pausing([say('I have searched'), say('and found it.')]),
    logger: silent,
  });
  await agent.continueConversation(log);
  expect(await agent.run('Search')).toBe('and found it.');
  expect(seen).toEqual([['user'], ['user', 'assistant']]);
});

test('an agent with a run() of its own cannot be resumed, nor can a run from inside itself', async () => {
  class Own extends PocketAgent {
    override async run() {
      return 'own';
    }
  }
  const own = new Own({ llmModel: new ScriptedModel([]), messages: [say('user', 'Hi')], logger: silent });
  await expect(own.resume()).rejects.toThrow('has a run() of its own');
  const hooks = { preStep: () => agent.resume().then(() => {}) };
  const { agent } = scriptedAgent(['x'], { hooks });
  await expect(agent.run('Hi')).rejects.toThrow('from inside its own run');
});

function say(role: 'user' | 'assistant', text: string): Message {
  return { role, content: [{ type: 'text', text }] };
}
