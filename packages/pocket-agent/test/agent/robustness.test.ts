import { AsyncLocalStorage } from 'node:async_hooks';
import { functionTools, PocketAgent, type RunOptions, type ToolResult, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { stdio } from '../fixtures/world.ts';
import { add, expectValidHistory, fail, resultText, scriptedAgent, silent } from '../helpers.ts';

const callAdd = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] };
const again = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] };

class Endless extends PocketAgent {
  override async run(input: string): Promise<string> {
    this.addUserMessage(input);
    for (;;) await this.step({ timeoutMs: 10_000 });
  }
}

describe('an overridden run(), called directly', () => {
  const make = (limits: object) =>
    new Endless({
      agentConfig: { llmModel: new ScriptedModel(Array.from({ length: 60 }, () => again)) },
      tools: [add],
      limits,
    });

  test('is limited by maxSteps, also when its steps have deadlines of their own', async () => {
    const agent = make({ maxSteps: 3 });
    await expect(agent.run('x')).rejects.toMatchObject({ code: 'MAX_STEPS' });
    expect(agent.messages.filter(({ role }) => role === 'assistant')).toHaveLength(3);
  });

  test('stops at its signal and waits for its turn', async () => {
    class Slow extends PocketAgent {
      override async run(input: string, _options?: RunOptions): Promise<string> {
        this.addUserMessage(input);
        await this.step();
        return input;
      }
    }
    const llmModel = new ScriptedModel([{ text: 'a', delayMs: 15 }, 'b', { text: 'late', delayMs: 60_000 }]);
    const agent = new Slow({ agentConfig: { llmModel }, logger: silent });
    expect(await Promise.all([agent.run('one'), agent.run('two')])).toEqual(['one', 'two']);
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    await expect(agent.run('three', { timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  });
});

test('two agents that call each other at the same time get an error, not a deadlock', async () => {
  const agents: Record<string, PocketAgent> = {};
  const make = (name: string, other: string) => {
    const call = tool({
      name: 'call',
      description: '',
      run: (_args, { signal }) => agents[other]?.run('hi', { signal }),
    });
    const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'call' }] }, `${name} done`, `${name} answers`]);
    agents[name] = new PocketAgent({ agentConfig: { llmModel, name }, tools: [call], logger: silent });
    return agents[name];
  };
  const [a, b] = [make('A', 'B'), make('B', 'A')];
  const answers = await Promise.all([a.run('x'), b.run('x')]);
  expect(answers).toContain('A done');
  expect(`${JSON.stringify(a.messages)}${JSON.stringify(b.messages)}`).toContain('waits for it already');
});

test('an agent that waits for another twice still waits for it when one of the two calls is over', async () => {
  const outside = AsyncLocalStorage.snapshot();
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const agents: { above?: PocketAgent; fromOutside?: Promise<string> } = {};
  const hold = tool({
    name: 'hold',
    description: '',
    run: () => {
      held.resolve();
      return release.promise;
    },
  });
  const callAbove = tool({ name: 'call_above', description: '', run: () => agents.above?.run('hi') });
  const shared = new PocketAgent({
    agentConfig: {
      llmModel: new ScriptedModel([
        { toolCalls: [{ name: 'hold' }] },
        'first',
        { toolCalls: [{ name: 'call_above' }] },
        'from outside',
        'second',
      ]),
      name: 'Shared',
    },
    tools: [hold, callAbove],
    logger: silent,
  });
  const later = tool({
    name: 'later',
    description: '',
    run: async () => {
      await held.promise;
      agents.fromOutside = outside(() => shared.run('from somebody else'));
      const second = shared.run('2');
      release.resolve();
      return second;
    },
  });
  const message = { name: 'Shared-message', arguments: { message: '1' } };
  const { agent } = scriptedAgent([{ toolCalls: [message, { name: 'later' }] }, 'done'], {
    subAgents: [shared],
    tools: [later],
  });
  agents.above = agent;
  expect(await agent.run('x', { timeoutMs: 60_000 })).toBe('done');
  expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['first', 'second']);
  expect(await agents.fromOutside).toBe('from outside');
  expect(resultText(shared, 1)).toContain('waits for it already');
});

describe('a listener cannot break a run', () => {
  test.each([
    [
      'throws',
      () => {
        throw new Error('listener');
      },
    ],
    ['rejects', () => Promise.reject(new Error('listener'))],
  ])('a watcher that %s', async (_how, onEvent) => {
    const { agent } = scriptedAgent([callAdd, 'ok'], { tools: [add] });
    expect(await agent.run('x', { onEvent })).toBe('ok');
    expectValidHistory(agent);
  });
});

test('progress and logs of a child process reach the listener of every run, not only of the first', async () => {
  const call = { toolCalls: [{ name: 'progress', arguments: { everyMs: 0, count: 3 } }, { name: 'log' }] };
  const { agent } = scriptedAgent([call, 'one', call, 'two'], {
    mcpConfig: { mcpServers: { child: stdio('stdio-server.ts') } },
  });
  const seen: number[] = [];
  for (const input of ['first', 'second']) {
    const types: string[] = [];
    for await (const event of agent.stream(input)) types.push(event.type);
    seen.push(types.filter((type) => type === 'tool_progress' || type === 'server_log').length);
  }
  await agent.close();
  expect(seen).toEqual([4, 4]);
});

describe('hooks', () => {
  test.each(['preStep', 'onLlmResponse', 'preToolCall', 'postToolCall'] as const)(
    'a %s that never ends is bounded by the deadline',
    async (name) => {
      const { agent } = scriptedAgent([callAdd, 'ok'], {
        tools: [add],
        hooks: { [name]: () => new Promise(() => {}) },
      });
      await expect(agent.run('x', { timeoutMs: 30 })).rejects.toMatchObject({ code: 'TIMEOUT' });
      expectValidHistory(agent);
    },
  );

  test('are told by their signal that the run has ended', async () => {
    let aborted = false;
    const { agent } = scriptedAgent([callAdd, 'ok'], {
      tools: [add],
      hooks: {
        preToolCall: ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              aborted = true;
              resolve(undefined);
            });
          }),
      },
    });
    await expect(agent.run('x', { timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(aborted).toBe(true);
  });

  test('cannot change which call a result answers', async () => {
    const { agent } = scriptedAgent([callAdd, 'ok'], {
      tools: [add],
      hooks: { postToolCall: (_context, _call, result) => ({ ...result, toolCallId: 'other', toolCallName: 'other' }) },
    });
    await agent.run('x');
    expectValidHistory(agent);
  });

  test.each([undefined, {}, { toolResultContent: [] }, { toolResultContent: [{ type: 'nonsense' }] }])(
    'that return %j for a result stop the run with every call answered',
    async (value) => {
      const { agent } = scriptedAgent([{ toolCalls: [...callAdd.toolCalls, ...callAdd.toolCalls] }], {
        tools: [add],
        hooks: { onToolResult: () => value as unknown as ToolResult },
      });
      await expect(agent.run('x')).rejects.toThrow(/toolResultContent/);
      expectValidHistory(agent);
    },
  );
});

describe('history', () => {
  test('is valid as soon as the reader has left a stream', async () => {
    const slow = tool({
      name: 'slow',
      description: '',
      run: (_args, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => setTimeout(reject, 5, signal.reason))),
    });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'slow' }] }], { tools: [slow] });
    for await (const event of agent.stream('x')) if (event.type === 'tool_call') break;
    expectValidHistory(agent);
  });

  test('keeps a Buffer as base64, and a URL as text', () => {
    const { agent } = scriptedAgent([], { agentConfig: { allowImages: true } });
    const data = { type: 'data' as const, data: Buffer.from([1, 2, 3]) };
    agent.addMessage({ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data }] });
    agent.addUserMessage('look', { images: [new URL('https://example.com/cat.png')] });
    expect(JSON.stringify(agent.messages)).toContain('"AQID"');
    expectValidHistory(agent);
  });

  test('has unique call ids, across steps and after a restart', async () => {
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
});

test('two sources with the same name and the same tool name both keep their tool', async () => {
  const one = tool({ name: 'same', description: '', run: () => 'one' });
  const two = tool({ name: 'same', description: '', run: () => 'two' });
  const script = [
    ({ tools = [] }: { tools?: { name: string }[] }) => ({ toolCalls: tools.map(({ name }) => ({ name })) }),
    'ok',
  ];
  const { agent } = scriptedAgent(script, { tools: [functionTools([one]), functionTools([two])] });
  await agent.run('x');
  expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['one', 'two']);
});

test('onToolError: false also stops calls that have not started', async () => {
  let paid = 0;
  const pay = tool({ name: 'pay', description: '', run: () => ++paid });
  const events: string[] = [];
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'fail' }, { name: 'pay' }, { name: 'pay' }] }], {
    tools: [fail, pay],
    limits: { maxParallelToolCalls: 1 },
    hooks: {
      onToolError: () => false,
      onEvent: ({ type, data }) => {
        if (type === 'tool_call') events.push(`call ${data.toolName}`);
        if (type === 'tool_result') events.push(`result ${data.toolName} ${data.isError ? 'failed' : 'done'}`);
      },
    },
  });
  await expect(agent.run('x')).rejects.toMatchObject({ code: 'TOOL_FAILED' });
  expect(paid).toBe(0);
  const notRun = ['call pay', 'result pay failed'];
  expect(events).toEqual(['call fail', 'result fail failed', ...notRun, ...notRun]);
  expectValidHistory(agent);
});

test('a history that ends in the middle of tool calls is completed', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [...callAdd.toolCalls, ...callAdd.toolCalls] }, 'ok'], {
    tools: [add],
  });
  await agent.run('x');
  const [user, assistant, first] = JSON.parse(JSON.stringify(agent.messages));
  const orphan = {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'nobody', toolName: 'add', output: { type: 'text', value: '1' } }],
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

describe('tools that cannot work are refused with advice', () => {
  const given = (value: unknown) => value as never;
  test.each([
    ['no run', () => tool(given({ name: 'x', description: '' })), /"x" needs a function "run"/],
    [
      'a schema of something else',
      () => tool({ name: 'x', description: '', inputSchema: { type: 'string' }, run: () => 1 }),
      /must describe an object/,
    ],
    [
      'a zod schema of something else',
      // @ts-expect-error: the compiler refuses it too
      () => tool({ name: 'x', description: '', inputSchema: z.string(), run: () => 1 }),
      /must describe an object/,
    ],
    [
      'a zod shape instead of a schema',
      () => tool({ name: 'x', description: '', inputSchema: { city: z.string() }, run: () => 1 }),
      /inputSchema of tool "x" must be a zod schema, z\.object\(\{ … \}\), or a JSON Schema/,
    ],
    [
      'a shape with a property that is called type',
      () => tool({ name: 'x', description: '', inputSchema: given({ type: z.string() }), run: () => 1 }),
      /must be a zod schema/,
    ],
    [
      'names of types',
      () => tool({ name: 'x', description: '', inputSchema: { city: 'string' }, run: () => 1 }),
      /must be a zod schema/,
    ],
    [
      'a schema that is a text',
      () => tool({ name: 'x', description: '', inputSchema: given('string'), run: () => 1 }),
      /must be a zod schema/,
    ],
    [
      'a schema without JSON',
      () => tool({ name: 'x', description: '', inputSchema: z.object({ d: z.date() }), run: () => 1 }),
      /tool "x" cannot be converted to JSON Schema/,
    ],
    ['a bare function', () => scriptedAgent([], { tools: [given(() => 1)] }), /must be made by tool\(\{ … \}\)/],
    [
      'a tool of another library',
      () => scriptedAgent([], { tools: [given({ name: 'look', execute() {} })] }),
      /"look" is neither\. Wrap a function: tool\(\{ name, description, inputSchema, run \}\)\.$/,
    ],
    ['one tool, not in a list', () => scriptedAgent([], { tools: given(add) }), /^tools must be a list, also of one/],
    ['no options at all', () => new PocketAgent(given(undefined)), /llmModel is missing/],
    [
      'a model of an older AI SDK',
      () => new PocketAgent({ agentConfig: { llmModel: given({ specificationVersion: 'v2', doGenerate() {} }) } }),
      /AI SDK 7/,
    ],
  ])('%s', (_what, make, text) => {
    expect(make).toThrow(text);
  });
});

describe('numbers', () => {
  test.each([
    [{ modelRetries: Number.NaN }],
    [{ modelRetries: -1 }],
    [{ maxParallelToolCalls: 0.5 }],
    [{ maxSteps: 1.5 }],
    [{ timeoutMs: Number.NaN }],
    [{ maxTokens: 0 }],
  ])('%j is refused', (limits) => {
    expect(() => scriptedAgent([], { limits })).toThrow(/must be a/);
  });

  test('an infinite timeout means no timeout, and 0 is refused', async () => {
    const { agent } = scriptedAgent([{ text: 'ok', delayMs: 5 }, 'x'], {
      limits: { timeoutMs: Number.POSITIVE_INFINITY },
    });
    expect(await agent.run('x')).toBe('ok');
    await expect(agent.run('x', { timeoutMs: 0 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
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

test('a fork has its own conversation with an agent among its tools', async () => {
  const helper = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel(['first', 'second']), name: 'Helper' } });
  const call = { toolCalls: [{ name: 'Helper-message', arguments: { message: 'SECRET of one client' } }] };
  const { agent } = scriptedAgent([call, 'a', call, 'b'], { tools: [helper.asMcpTool()] });
  await agent.fork().run('x');
  await agent.fork().run('y');
  expect(helper.messages).toHaveLength(0);
});
