import { AsyncLocalStorage } from 'node:async_hooks';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

function child(name: string, script: ConstructorParameters<typeof ScriptedModel>[0], roleDescription?: string) {
  return new PocketAgent({
    agentConfig: { llmModel: new ScriptedModel(script), name, ...(roleDescription ? { roleDescription } : {}) },
    logger: silent,
  });
}

const ask = (name: string, message = 'hello') => ({ name: `${name}-message`, arguments: { message } });

describe('sub-agents', () => {
  test('are tools called {name}-message with one message', async () => {
    const { agent, model } = scriptedAgent([{ toolCalls: [ask('Math', '1 + 1?')] }, 'ok'], {
      subAgents: [child('Math', ['2'], 'Does sums')],
    });
    await agent.run('x');
    expect(model.calls[0]?.tools?.[0]).toMatchObject({
      name: 'Math-message',
      description: 'Send a message to the Math agent. Purpose of the Math agent: Does sums',
      inputSchema: { type: 'object', required: ['message'], properties: { message: { type: 'string' } } },
    });
    expect(resultText(agent)).toBe('2');
  });

  test('keep their own history between calls', async () => {
    const sub = child('Sub', ['one', 'two']);
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub')] }, { toolCalls: [ask('Sub', 'again')] }, 'ok'], {
      subAgents: [sub],
    });
    await agent.run('x');
    expect(sub.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(agent.messages).toHaveLength(6);
  });

  test('run one call at a time, in order', async () => {
    const sub = child('Sub', [{ text: 'one', delayMs: 15 }, 'two']);
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub', 'a'), ask('Sub', 'b')] }, 'ok'], { subAgents: [sub] });
    await agent.run('x');
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['one', 'two']);
    expectValidHistory(sub);
  });

  test.each([
    ['text', 'plain', 'plain'],
    ['an object', { a: 1 }, '{"a":1}'],
    ['nothing', undefined, 'No result returned'],
    ['null', null, 'No result returned'],
    ['a tool result', { content: [{ type: 'text', text: 'raw' }] }, 'raw'],
    ['a number', 7, 'must return a string'],
  ])('may return %s from an overridden run()', async (_what, value, text) => {
    class Custom extends PocketAgent<unknown> {
      override async run() {
        return value;
      }
    }
    const sub = new Custom({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Sub' } });
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub')] }, 'ok'], { subAgents: [sub] });
    expect(await agent.run('x')).toBe('ok');
    expect(resultText(agent)).toContain(text);
  });

  test('names are made valid for every model, and a clash is refused', async () => {
    const { agent, model } = scriptedAgent(['ok'], {
      subAgents: [child('Dr. Sum / Ü', []), child('x'.repeat(80), [])],
    });
    await agent.run('x');
    for (const { name } of model.calls[0]?.tools ?? []) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(() => scriptedAgent([], { subAgents: [child('A', []), child('A', [])] })).toThrow(
      /Two tools are called "A-message"/,
    );
  });

  test('the error of a sub-agent is a tool result for its parent, which continues', async () => {
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub')] }, 'ok'], {
      subAgents: [child('Sub', [{ error: new Error('no model today') }])],
    });
    expect(await agent.run('x')).toBe('ok');
    expect(resultText(agent)).toContain('no model today');
  });

  test('a cycle is refused with an error the model reads, not a deadlock', async () => {
    const tools: ReturnType<PocketAgent['asMcpTool']>[] = [];
    const b = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel([{ toolCalls: [ask('A')] }, 'b says no']), name: 'B' },
      tools: [
        tool({
          name: 'A-message',
          description: '',
          inputSchema: { type: 'object' },
          run: (args, context) => tools[0]?.call(args, context),
        }),
      ],
      logger: silent,
    });
    const a = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel([{ toolCalls: [ask('B')] }, 'done']), name: 'A' },
      subAgents: [b],
      logger: silent,
    });
    tools.push(a.asMcpTool());
    expect(await a.run('x')).toBe('done');
    expect(resultText(b)).toContain('A → B → A');
  });

  test('a tool that runs its own agent is refused too', async () => {
    const holder: { agent?: PocketAgent } = {};
    const self = tool({ name: 'self', description: '', run: () => holder.agent?.run('again') });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'self' }] }, 'ok'], { tools: [self] });
    holder.agent = agent;
    expect(await agent.run('x')).toBe('ok');
    expect(resultText(agent)).toContain('Tester → Tester');
    expectValidHistory(agent);
  });

  test('an abort of the parent reaches the model of the sub-agent', async () => {
    const model = new ScriptedModel([{ text: 'late', delayMs: 60_000 }]);
    const sub = new PocketAgent({ agentConfig: { llmModel: model, name: 'Sub' }, logger: silent });
    const controller = new AbortController();
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub')] }], {
      subAgents: [sub],
      hooks: {
        onEvent: ({ meta, type }) => {
          if (meta.isSubAgent && type === 'new_message') setImmediate(() => controller.abort());
        },
      },
    });
    await expect(agent.run('x', { signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' });
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
    expectValidHistory(agent);
    expectValidHistory(sub);
  });

  test('the deadline of the parent holds for the sub-agent, through an overridden run() as well', async () => {
    class Stubborn extends PocketAgent {
      override async run(input: string) {
        this.addUserMessage(input);
        await this.step();
        return 'unreachable';
      }
    }
    const sub = new Stubborn({
      agentConfig: { llmModel: new ScriptedModel([{ text: 'late', delayMs: 60_000 }]), name: 'Sub' },
      logger: silent,
    });
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub')] }], { subAgents: [sub], limits: { timeoutMs: 40 } });
    await expect(agent.run('x')).rejects.toMatchObject({ code: 'TIMEOUT' });
    expectValidHistory(agent);
  });

  test('limits.maxSteps of a sub-agent ends it, not the parent', async () => {
    const noop = tool({ name: 'noop', description: '', run: () => 'ok' });
    const again = { toolCalls: [{ name: 'noop' }] };
    const sub = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel([again, again, again]), name: 'Sub' },
      tools: [noop],
      limits: { maxSteps: 2 },
      logger: silent,
    });
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub')] }, 'ok'], { subAgents: [sub] });
    expect(await agent.run('x')).toBe('ok');
    expect(resultText(agent)).toContain('stopped after 2 steps');
  });

  test('asMcpTool gives the same tool to agents that are not its parent', async () => {
    const { agent } = scriptedAgent([{ toolCalls: [ask('Sub')] }, 'ok'], {
      tools: [child('Sub', ['from sub']).asMcpTool()],
    });
    await agent.run('x');
    expect(resultText(agent)).toBe('from sub');
  });

  test('a fork has its own conversation and the same options', async () => {
    const { agent } = scriptedAgent(['a', 'b'], { agentConfig: { systemPrompt: 'S' } });
    await agent.run('one');
    const fork = agent.fork();
    expect(fork.messages).toEqual([]);
    expect(fork.name).toBe(agent.name);
    expect(fork.agentId).not.toBe(agent.agentId);
    expect(await fork.run('two')).toBe('b');
    expect(agent.messages).toHaveLength(2);
  });
});

test('a served agent is the mcpConfig of another agent of the same process', async () => {
  const { agent: inner } = scriptedAgent(['42'], { agentConfig: { name: 'Inner' } });
  const served = inner.asMcpServer();
  const call = { toolCalls: [{ name: 'Inner-message', arguments: { message: '6 x 7?' } }] };
  const { agent } = scriptedAgent([call, 'done'], { mcpConfig: served });
  const { agent: other, model } = scriptedAgent(['done'], { mcpConfig: { mcpServers: { a: { server: served } } } });
  await agent.run('x');
  await other.run('x');
  expect(resultText(agent)).toBe('42');
  expect(model.calls[0]?.tools?.map(({ name }) => name)).toEqual(['Inner-message']);
  await Promise.all([agent.close(), other.close()]);
  await inner.close();
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
  const refusals = [
    'B cannot be called from A, because a run of B already waits for A: A → B.',
    'A cannot be called from B, because a run of A already waits for B: B → A.',
  ];
  const results = `${resultText(a)}\n${resultText(b)}`;
  expect(refusals.filter((refusal) => results.includes(refusal))).toHaveLength(1);
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
      agents.fromOutside = outside(() => shared.run('from another caller'));
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
  const { name } = agent;
  expect(resultText(shared, 1)).toContain(
    `${name} cannot be called from Shared, because a run of ${name} already waits for Shared: Shared → ${name}.`,
  );
});

test('a fork has its own conversation with an agent among its tools', async () => {
  const helper = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel(['first', 'second']), name: 'Helper' } });
  const call = { toolCalls: [{ name: 'Helper-message', arguments: { message: 'SECRET of one client' } }] };
  const { agent } = scriptedAgent([call, 'a', call, 'b'], { tools: [helper.asMcpTool()] });
  await agent.fork().run('x');
  await agent.fork().run('y');
  expect(helper.messages).toHaveLength(0);
});
