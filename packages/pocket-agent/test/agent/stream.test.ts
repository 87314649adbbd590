import { type AgentEvent, PocketAgent, type PocketError, tool } from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, expectValidHistory, scriptedAgent, silent } from '../helpers.ts';

async function collect(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const script = () => [
  { reasoning: 'They want a sum.', text: 'One moment. ', toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] },
  'The sum is 3.',
];

describe('stream', () => {
  test('shows text, reasoning, calls, progress, results and messages as they happen', async () => {
    const counting = tool({
      name: 'add',
      description: '',
      run: (_args, context) => {
        context.progress({ progress: 1, total: 2, message: 'half' });
        return 3;
      },
    });
    const { agent } = scriptedAgent(script(), { tools: [counting] });
    const events = await collect(agent.stream('1 + 2?'));
    const kinds = events.map((event) => event.type).filter((type, index, all) => type !== all[index - 1]);
    expect(kinds).toEqual([
      'run_started',
      'new_message',
      'step_started',
      'reasoning_delta',
      'text_delta',
      'new_message',
      'tool_call',
      'tool_progress',
      'tool_result',
      'audit',
      'new_message',
      'step_finished',
      'step_started',
      'text_delta',
      'new_message',
      'step_finished',
      'run_finished',
    ]);
    const text = events.map((event) => (event.type === 'text_delta' ? event.data.delta : '')).join('');
    expect(text).toBe('One moment. The sum is 3.');
    expect(events.find((event) => event.type === 'tool_progress')?.data).toMatchObject({
      toolName: 'add',
      progress: 1,
      total: 2,
      message: 'half',
    });
  });

  test('is the same run: history and answer are those of run()', async () => {
    const streamed = scriptedAgent(script(), { tools: [add] });
    const events = await collect(streamed.agent.stream('1 + 2?'));
    const whole = scriptedAgent(script(), { tools: [add] });
    expect(events.at(-1)).toMatchObject({ type: 'run_finished', data: { answer: await whole.agent.run('1 + 2?') } });
    expect(streamed.agent.messages).toEqual(whole.agent.messages);
  });

  test('throws the error of the run after the events before it', async () => {
    const { agent } = scriptedAgent(
      [{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] }, { error: new Error('gone') }],
      { tools: [add] },
    );
    const types: string[] = [];
    const watching = (async () => {
      for await (const event of agent.stream('x')) types.push(event.type);
    })();
    await expect(watching).rejects.toMatchObject({ code: 'MODEL_FAILED' });
    expect(types).toContain('tool_result');
    expectValidHistory(agent);
  });

  test('leaving the loop aborts the run and frees the agent for the next', async () => {
    let aborted = false;
    const endless = tool({
      name: 'endless',
      description: '',
      run: (_args, { signal, progress }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason);
          });
          progress({ progress: 0 });
        }),
    });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'endless' }] }, 'next'], { tools: [endless] });
    for await (const event of agent.stream('x')) if (event.type === 'tool_progress') break;
    expect(await agent.run('y')).toBe('next');
    expect(aborted).toBe(true);
    expectValidHistory(agent);
  });

  test('a reader that is 1,000 events behind gets text in larger pieces, and all of it', async () => {
    const text = Array.from({ length: 5_000 }, (_, index) => `word${index}`).join(' ');
    const { agent } = scriptedAgent([{ reasoning: text, text }]);
    const over = Promise.withResolvers<void>();
    agent.hooks.onEvent = ({ type }) => void (type === 'run_finished' && over.resolve());
    const stream = agent.stream('Tell me a lot.');
    await stream.next();
    await over.promise;
    const events = await collect(stream);
    const textOf = (type: 'text_delta' | 'reasoning_delta') =>
      events.map((event) => (event.type === type ? (event.data as { delta: string }).delta : '')).join('');
    expect([textOf('reasoning_delta'), textOf('text_delta')]).toEqual([text, text]);
    expect(events.length).toBeLessThan(1_010);
    expect(events.at(-1)?.type).toBe('run_finished');
  });

  test('the return value of the generator is the answer', async () => {
    const { agent } = scriptedAgent(['hello']);
    const stream = agent.stream('x');
    let last = await stream.next();
    while (!last.done) last = await stream.next();
    expect(last.value).toBe('hello');
  });

  test('events of sub-agents carry their path, at any depth, also when the parent streams', async () => {
    const deep = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel(['deep answer']), name: 'Deep' } });
    const middle = new PocketAgent({
      agentConfig: {
        llmModel: new ScriptedModel([
          { toolCalls: [{ name: 'Deep-message', arguments: { message: 'go' } }] },
          'middle answer',
        ]),
        name: 'Middle',
      },
      subAgents: [deep],
    });
    const { agent } = scriptedAgent(
      [{ toolCalls: [{ name: 'Middle-message', arguments: { message: 'go' } }] }, 'top'],
      { subAgents: [middle] },
    );
    const events = await collect(agent.stream('x'));
    const deltas = events
      .filter((event) => event.type === 'text_delta')
      .map((event) => [event.meta.path.join('/'), event.data.delta]);
    expect(deltas).toEqual([
      ['Tester/Middle/Deep', 'deep '],
      ['Tester/Middle/Deep', 'answer'],
      ['Tester/Middle', 'middle '],
      ['Tester/Middle', 'answer'],
      ['Tester', 'top'],
    ]);
    expect(events.filter((event) => event.meta.isSubAgent).length).toBeGreaterThan(4);
  });

  test('onEvent of a parent gets each event of its sub-agents once, also with shared hooks', async () => {
    const make = (hooks: ReturnType<typeof recordEvents>, own: ReturnType<typeof recordEvents>) => {
      const child = new PocketAgent({
        agentConfig: { llmModel: new ScriptedModel(['hi']), name: 'Child' },
        hooks: own,
      });
      return scriptedAgent([{ toolCalls: [{ name: 'Child-message', arguments: { message: 'x' } }] }, 'ok'], {
        subAgents: [child],
        hooks,
      }).agent;
    };
    const parent = recordEvents();
    const child = recordEvents();
    await make(parent, child).run('x');
    const fromChild = parent.events.filter((event) => event.meta.agentName === 'Child');
    expect(fromChild).toEqual(child.events);
    const shared = recordEvents();
    await make(shared, shared).run('x');
    expect(shared.events.filter((event) => event.type === 'new_message')).toHaveLength(6);
  });
});

describe('abort and deadline', () => {
  const hang = tool({ name: 'hang', description: '', run: () => new Promise(() => {}) });
  const callHang = { toolCalls: [{ name: 'hang' }, { name: 'add', arguments: { a: 1, b: 1 } }] };

  test('an abort during a tool that ignores it leaves a history that every model accepts', async () => {
    const controller = new AbortController();
    const { agent } = scriptedAgent([callHang, 'after'], {
      tools: [hang, add],
      hooks: {
        onEvent: (event) => {
          if (event.type === 'tool_result') controller.abort(new Error('user left'));
        },
      },
    });
    const failure = await agent.run('x', { signal: controller.signal }).catch((error: PocketError) => error);
    expect(failure).toMatchObject({ code: 'ABORTED', cause: { message: 'user left' } });
    expectValidHistory(agent);
    expect(await agent.run('go on')).toBe('after');
  });

  test('an abort during the model call ends it and the model sees the signal', async () => {
    const controller = new AbortController();
    const { agent, model } = scriptedAgent([{ text: 'late', delayMs: 60_000 }]);
    const run = agent.run('x', { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
    expectValidHistory(agent);
  });

  test('a run with an aborted signal does not call the model', async () => {
    const { agent, model } = scriptedAgent(['x']);
    await expect(agent.run('x', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' });
    expect(model.calls).toHaveLength(0);
  });

  test('limits.timeoutMs and timeoutMs of a run end it with TIMEOUT and a valid history', async () => {
    const limited = scriptedAgent([callHang], { tools: [hang, add], limits: { timeoutMs: 30 } });
    await expect(limited.agent.run('x')).rejects.toMatchObject({ code: 'TIMEOUT' });
    expectValidHistory(limited.agent);
    const single = scriptedAgent([callHang], { tools: [hang, add] });
    await expect(single.agent.run('x', { timeoutMs: 30 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  test('step takes a signal and a deadline too', async () => {
    const { agent } = scriptedAgent([callHang], { tools: [hang, add] });
    agent.addUserMessage('x');
    await expect(agent.step({ timeoutMs: 30 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expectValidHistory(agent);
  });

  test('a run that waits for its turn can be aborted without disturbing the one before it', async () => {
    const { agent } = scriptedAgent([{ text: 'first', delayMs: 30 }, 'third']);
    const controller = new AbortController();
    const first = agent.run('1');
    const second = agent.run('2', { signal: controller.signal });
    const third = agent.run('3');
    controller.abort();
    await expect(second).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await first).toBe('first');
    expect(await third).toBe('third');
    expect(JSON.stringify(agent.messages)).not.toContain('"2"');
  });

  test('a run leaves no listener on a long-lived signal', async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, args);
    };
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] }, 'x'], {
      tools: [add],
    });
    await agent.run('x', { signal });
    expect(listeners).toBe(0);
  });

  test('close() ends a run in progress', async () => {
    const { agent } = scriptedAgent([callHang], { tools: [hang, add] });
    const run = agent.run('x');
    setImmediate(() => agent.close());
    await expect(run).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
    expectValidHistory(agent);
  });

  test('await using closes an agent and its sub-agents and tool sources', async () => {
    let closed = 0;
    const source = {
      name: 'source',
      listTools: () => [],
      callTool: async () => ({ content: [] }),
      close: () => void closed++,
    };
    const child = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel([]), name: 'Child' },
      tools: [source],
      logger: silent,
    });
    {
      await using agent = scriptedAgent(['x'], { subAgents: [child], tools: [source] }).agent;
      await agent.run('x');
    }
    expect(closed).toBe(2);
    await expect(child.run('x')).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
  });
});

test('a history is valid as soon as the reader has left the stream', async () => {
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
