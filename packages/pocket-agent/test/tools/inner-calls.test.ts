// Calls that a tool makes with context.tools: ordinary calls of the run, whose results go to the tool.
import {
  type AgentEvent,
  AgentHooks,
  type AuditRecord,
  PocketAgent,
  type ToolCall,
  type ToolCaller,
  tool,
} from 'pocket-agent';
import { expect, onTestFinished, test, vi } from 'vitest';
import { add, expectValidHistory, fail, resultText, scriptedAgent } from '../helpers.ts';

type Options = Parameters<typeof scriptedAgent>[1];

const structured = tool({ name: 'structured', description: 'Returns data', run: () => ({ rows: [1, 2] }) });
const remove = tool({ name: 'remove', description: 'Deletes', capability: 'delete', run: () => 'removed' });

/** Calls what its arguments say, one after another or all at once, and returns what came back. */
const relay = tool({
  name: 'relay',
  description: 'Calls other tools',
  annotations: { readOnlyHint: true },
  run: async ({ calls, atOnce }, { tools }) => {
    const make = async ({ name, args }: { name: string; args: Record<string, unknown> }) =>
      tools?.call(name, args, { via: 'relay' }).catch((error) => `${error.code}: ${error.message}`);
    const all = calls as { name: string; args: Record<string, unknown> }[];
    if (atOnce) return JSON.stringify(await Promise.all(all.map(make)));
    const results: unknown[] = [];
    for (const call of all) results.push(await make(call));
    return JSON.stringify(results);
  },
});

const sum = { name: 'add', args: { a: 1, b: 2 } };

function relayAgent(calls: readonly object[], options: Options = {}, atOnce = false) {
  const audit: AuditRecord[] = [];
  const events: AgentEvent[] = [];
  class Hooks extends AgentHooks {
    override onEvent(event: AgentEvent): void {
      events.push(event);
      if (event.type === 'audit') audit.push(event.data);
    }
  }
  const script = [{ toolCalls: [{ name: 'relay', arguments: { calls, atOnce }, id: 'outer' }] }, 'Done.'];
  const { agent } = scriptedAgent(script, {
    tools: [relay, add, fail, structured, remove],
    hooks: new Hooks(),
    ...options,
  });
  return { agent, audit, events };
}

/** The logs of calls in the history. */
function logsIn({ messages }: PocketAgent) {
  const parts = messages.flatMap(({ role, content }) => (role === 'tool' ? content : []));
  return parts.flatMap((part) => part.providerOptions?.pocketAgent?.calls ?? []);
}

test('a tool calls others, and reads their results as values', async () => {
  const { agent, audit, events } = relayAgent([sum, { name: 'structured', args: {} }]);
  expect(await agent.run('Go')).toBe('Done.');
  expect(JSON.parse(resultText(agent))).toEqual([
    { content: [{ type: 'text', text: '3' }] },
    { content: [{ type: 'text', text: '{"rows":[1,2]}' }], structuredContent: { rows: [1, 2] } },
  ]);
  expect(audit.map(({ tool, via, toolCallId, outcome }) => [tool, via, toolCallId, outcome])).toEqual([
    ['add', 'relay', 'outer.1', 'done'],
    ['structured', 'relay', 'outer.2', 'done'],
    ['relay', undefined, 'outer', 'done'],
  ]);
  const calls = events.flatMap(({ type, data }) => (type === 'tool_call' || type === 'tool_result' ? [data] : []));
  expect(calls.map(({ toolName, parentToolCallId }) => [toolName, parentToolCallId])).toEqual([
    ['relay', undefined],
    ['add', 'outer'],
    ['add', 'outer'],
    ['structured', 'outer'],
    ['structured', 'outer'],
    ['relay', undefined],
  ]);
});

test('the history has one call and one result, with a log of the calls of the tool that survives saving', async () => {
  const { agent } = relayAgent([sum, { name: 'fail', args: {} }]);
  await agent.run('Go');
  expectValidHistory(agent);
  const copy = new PocketAgent({ llmModel: 'demo', messages: JSON.parse(JSON.stringify(agent.messages)) });
  const ids = { toolCallId: expect.any(String), durationMs: expect.any(Number) };
  expect(logsIn(copy)).toEqual([
    { ...ids, toolName: 'add', outcome: 'done' },
    { ...ids, toolName: 'fail', outcome: 'failed' },
  ]);
});

test('the log in the history counts calls beyond the first hundred', async () => {
  const { agent } = relayAgent([...Array<object>(150).fill(sum), { name: 'fail', args: {} }]);
  await agent.run('Go');
  const log = logsIn(agent);
  expect(log).toHaveLength(102);
  expect(log.slice(100)).toEqual([
    { toolName: 'add', outcome: 'done', calls: 50 },
    { toolName: 'fail', outcome: 'failed', calls: 1 },
  ]);
});

test('a failed, refused, denied or unknown call rejects with the text that a model would read', async () => {
  const calls = ['fail', 'remove', 'nothing', 'relay', 'add'].map((name) => ({ name, args: {} }));
  const { agent, audit } = relayAgent(calls, { access: { profile: 'reader' } });
  await agent.run('Go');
  expect(JSON.parse(resultText(agent))).toEqual([
    expect.stringMatching(/^ACCESS_DENIED: "fail" may not be called here/),
    expect.stringMatching(/^ACCESS_DENIED: "remove" may not be called here/),
    'TOOL_UNKNOWN: There is no tool "nothing". Available: relay, add.',
    'TOOL_UNKNOWN: "relay" cannot call itself.',
    expect.stringMatching(/^TOOL_ARGUMENTS_INVALID: Bad arguments for "add"/),
  ]);
  expect(audit.slice(0, 4).map(({ decision, outcome }) => [decision, outcome])).toEqual(
    Array(4).fill(['refused', 'not run']),
  );
});

test('arguments that are not JSON reject, and are audited; a tool gets what a model could have written', async () => {
  const nested: Record<string, unknown> = {};
  let innermost = nested;
  for (let depth = 0; depth < 20_000; depth++) innermost = innermost.more = {};
  const itself: Record<string, unknown> = {};
  itself.itself = itself;
  const throwing = {
    get value(): never {
      throw new Error('not now');
    },
  };
  const given = [{ value: 1n }, itself, nested, throwing, undefined, [1]] as Record<string, unknown>[];
  const outcomes: unknown[] = [];
  const caller = tool({
    name: 'caller',
    description: 'Calls echo',
    capability: 'read',
    run: async (_args, { tools }) => {
      for (const args of given)
        outcomes.push(await tools?.call('echo', args).catch(({ code, message }) => [code, message.split('.')[0]]));
      const date = { at: new Date(0), left: undefined };
      return (await tools?.call('echo', date))?.content.map((part) => (part.type === 'text' ? part.text : '')).join();
    },
  });
  const echo = tool({ name: 'echo', description: 'Echo', run: (args) => JSON.stringify(args) });
  const audited: string[] = [];
  const hooks = new (class extends AgentHooks {
    override onEvent({ type, data }: AgentEvent): void {
      if (type === 'audit') audited.push(`${data.tool} ${data.outcome}`);
    }
  })();
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'caller' }] }, 'Done.'], { tools: [caller, echo], hooks });
  await agent.run('Go');
  const refused = ['TOOL_ARGUMENTS_INVALID', 'The arguments of "echo" must be an object of JSON values'];
  expect(outcomes).toEqual(given.map(() => refused));
  expect(resultText(agent)).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  expect(audited).toEqual([...given.map(() => 'echo not run'), 'echo done', 'caller done']);
});

test('a person is asked for the calls of a tool, and hooks change them', async () => {
  const asked: string[] = [];
  class Hooks extends AgentHooks {
    override preToolCall(_: unknown, call: ToolCall) {
      return call.name === 'add' ? { ...call, arguments: { a: 20, b: 22 } } : undefined;
    }
    override postToolCall(_: unknown, call: ToolCall) {
      if (call.name !== 'structured') return undefined;
      const toolResultContent = [{ type: 'text' as const, text: 'secret removed' }];
      return { toolCallId: call.id, toolCallName: call.name, toolResultContent, extra: {} };
    }
  }
  const { agent } = relayAgent([sum, { name: 'structured', args: {} }, { name: 'remove', args: {} }], {
    hooks: new Hooks(),
    access: { confirm: 'destructive' },
    approve: ({ tool, toolCallId }) => {
      asked.push(`${tool} ${toolCallId}`);
      return tool === 'structured' ? 'allow' : 'deny';
    },
  });
  await agent.run('Go');
  expect(asked).toEqual(['structured outer.2', 'remove outer.3']);
  const [added, changed, refused] = JSON.parse(resultText(agent));
  expect(added.content[0].text).toBe('42');
  expect(changed).toEqual({ content: [{ type: 'text', text: 'secret removed' }] });
  expect(refused).toMatch(/^ACCESS_DENIED: "remove" was not called/);
});

test('at most maxParallelToolCalls of them run at once', async () => {
  let running = 0;
  let most = 0;
  const slow = tool({
    name: 'slow',
    description: 'Takes a while',
    run: async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
    },
  });
  const { agent } = relayAgent(
    Array(20).fill({ name: 'slow', args: {} }),
    {
      tools: [relay, slow],
      limits: { maxParallelToolCalls: 3 },
    },
    true,
  );
  await agent.run('Go');
  expect(most).toBe(3);
});

test('a call beyond the budget ends the run, and the tool can make no more', async () => {
  const { agent, audit } = relayAgent([sum, sum, sum, sum], { limits: { maxToolCalls: 3 } });
  await expect(agent.run('Go')).rejects.toThrow('limits.maxToolCalls (3)');
  expect(audit.filter(({ outcome }) => outcome === 'done')).toHaveLength(3);
  expect(audit).toHaveLength(4);
  expectValidHistory(agent);
});

test('a call that is still waiting when its tool returns is not made; one that has begun is', async () => {
  const made: number[] = [];
  const count = tool({
    name: 'count',
    description: 'Counts',
    inputSchema: { properties: { number: { type: 'integer' } } },
    run: async ({ number }) => {
      await Promise.resolve();
      made.push(Number(number));
    },
  });
  let late: (() => Promise<unknown>) | undefined;
  const hasty = tool({
    name: 'relay',
    description: 'Does not wait',
    run: (_, { tools }) => {
      for (let number = 0; number < 5; number++) tools?.call('count', { number });
      late = async () => tools?.call('count', { number: 99 });
      return 'returned';
    },
  });
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const { agent, audit } = relayAgent([], { tools: [hasty, count], limits: { maxParallelToolCalls: 2 } });
  await agent.run('Go');
  expect(resultText(agent)).toBe('returned');
  expect(made).toEqual([0, 1]);
  expect(audit.map(({ tool, outcome }) => `${tool} ${outcome}`).sort()).toEqual([
    'count done',
    'count done',
    'count not run',
    'count not run',
    'count not run',
    'relay done',
  ]);
  await expect(late?.()).rejects.toThrow('The call of "relay" has ended, so it can make no more calls.');
  expect(made).toEqual([0, 1]);
  expect(unhandled).not.toHaveBeenCalled();
});

test('a tool that made no calls cannot make its first one after it has returned', async () => {
  let kept: ToolCaller | undefined;
  const keeper = tool({
    name: 'relay',
    description: 'Keeps what it was given',
    run: (_, { tools }) => {
      kept = tools;
      return 'returned';
    },
  });
  const { agent, audit } = relayAgent([], { tools: [keeper, add] });
  await agent.run('Go');
  await expect(kept?.call('add', { a: 1, b: 2 })).rejects.toThrow('The call of "relay" has ended, so it can make no');
  expect(kept?.signal.aborted).toBe(true);
  expect(audit.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual(['relay done']);
});

test('a tool may list what it may call', async () => {
  const lister = tool({
    name: 'relay',
    description: 'Lists',
    annotations: { readOnlyHint: true },
    run: (_, { tools }) => tools?.list().map(({ name, capability }) => `${name} ${capability}`),
  });
  const { agent } = relayAgent([], { tools: [lister, add, remove], access: { profile: 'reader' } });
  await agent.run('Go');
  expect(resultText(agent)).toBe('["add read"]');
});

test('aborting the run ends the calls of its tools', async () => {
  const controller = new AbortController();
  const hang = tool({
    name: 'hang',
    description: 'Never returns',
    run: () => {
      controller.abort(new Error('enough'));
      return new Promise<string>(() => {});
    },
  });
  const { agent, audit } = relayAgent([{ name: 'hang', args: {} }, sum], { tools: [relay, hang, add] });
  await expect(agent.run('Go', { signal: controller.signal })).rejects.toThrow('was aborted');
  expect(audit.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual(['hang failed', 'relay failed']);
  expectValidHistory(agent);
});

test('calls that tools make in turn wait for no slot of their caller', async () => {
  const middle = tool({
    name: 'middle',
    description: 'Calls add',
    run: async (_, { tools }) => tools?.call('add', { a: 2, b: 2 }),
  });
  const { agent, audit } = relayAgent([{ name: 'middle', args: {} }], {
    tools: [relay, middle, add],
    limits: { maxParallelToolCalls: 1 },
  });
  await agent.run('Go');
  expect(audit.map(({ toolCallId }) => toolCallId)).toEqual(['outer.1.1', 'outer.1', 'outer']);
});
