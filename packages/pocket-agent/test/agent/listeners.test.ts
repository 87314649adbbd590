// Listeners that run the agent they listen to.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type AgentEvent, type PocketAgent, tool } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { stdio } from '../fixtures/world.ts';
import { add, expectValidHistory, scriptedAgent } from '../helpers.ts';

/** An agent whose listener does something once, at the first event of a type, and waits for it. */
function listeningAgent(type: AgentEvent['type'], work: (agent: PocketAgent) => Promise<unknown>) {
  const outcome: { value?: unknown } = {};
  let isFirst = true;
  const made = scriptedAgent(['One.', 'Two.', 'Three.'], {
    tools: [add],
    hooks: {
      async onEvent(event) {
        if (event.type !== type || !isFirst) return;
        isFirst = false;
        outcome.value = await work(made.agent).catch((error) => error.code);
      },
    },
  });
  return { ...made, outcome };
}

describe('a listener that waits for', () => {
  test.each(['new_message', 'step_finished', 'run_finished'] as const)('a run at %s gets its answer', async (type) => {
    const { agent, outcome } = listeningAgent(type, (own) => own.run('More'));
    const answers = [await agent.run('Hi')];
    await expect.poll(() => outcome.value).toEqual(expect.any(String));
    answers.push(String(outcome.value));
    expect(answers.sort()).toEqual(['One.', 'Two.']);
    expect(await agent.run('And now?')).toBe('Three.');
    expectValidHistory(agent);
  });

  test.each(['step_finished', 'run_finished'] as const)('a step at %s gets its result', async (type) => {
    const { agent, outcome } = listeningAgent(type, async (own) => (await own.step()).finishReason);
    await agent.run('Hi');
    await expect.poll(() => outcome.value).toBe('stop');
    expect(await agent.run('And now?')).toBe('Three.');
  });

  test('a run with options of its own gets its answer', async () => {
    const { agent, outcome } = listeningAgent('step_finished', (own) => own.run('More', { timeoutMs: 60_000 }));
    expect(await agent.run('Hi')).toBe('One.');
    expect(outcome.value).toBe('Two.');
  });
});

test('a listener that runs its agent while a tool runs gets AGENT_CYCLE', async () => {
  const outcome: { value?: unknown } = {};
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'Done.'], {
    tools: [add],
    hooks: {
      async onEvent({ type }) {
        if (type === 'tool_call') outcome.value = await agent.run('More').catch((error) => error.code);
      },
    },
  });
  expect(await agent.run('Hi')).toBe('Done.');
  expect(outcome.value).toBe('AGENT_CYCLE');
});

test('a step waits for the listeners of its events', async () => {
  const order: string[] = [];
  const { agent } = scriptedAgent(['One.'], {
    hooks: {
      async onEvent({ type }) {
        if (type !== 'step_finished') return;
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push('heard');
      },
    },
  });
  await agent.step();
  order.push('step over');
  expect(order).toEqual(['heard', 'step over']);
});

test('a postStep that never settles does not hold a run beyond its deadline', async () => {
  const { agent } = scriptedAgent([{ text: 'late', delayMs: 600_000 }], {
    hooks: { postStep: () => new Promise(() => {}) },
  });
  const begun = performance.now();
  await expect(agent.run('Hi', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  expect(performance.now() - begun).toBeLessThan(4_000);
});

test('a listener whose timers cause the next event again and again leaks no memory', async () => {
  const CALLS = 20_000;
  const over = Promise.withResolvers<void>();
  const heap: number[] = [];
  let calls = 0;
  const next = () => {
    if (++calls % CALLS === 0) heap.push(heapInUse());
    if (calls < 2 * CALLS) agent.emit({ type: 'custom:next', data: undefined });
    else over.resolve();
  };
  const { agent } = scriptedAgent([], { hooks: { onEvent: () => void setImmediate(next) } });
  next();
  await over.promise;
  const [before = 0, after = 0] = heap;
  expect((after - before) / CALLS).toBeLessThan(16); // bytes for each call
});

test('a stream does not keep an event that was read, although others wait', async () => {
  const data: WeakRef<object>[] = [];
  const emitTwo = tool({
    name: 'emit',
    description: '',
    run: () => {
      for (let number = 0; number < 2; number++) {
        const each = { number };
        data.push(new WeakRef(each));
        agent.emit({ type: 'custom:data', data: each });
      }
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'emit' }] }, 'ok'], { tools: [emitTwo] });
  const events = agent.stream('x');
  const readOne = async () => {
    for (;;) {
      const { value } = await events.next();
      if ((value as AgentEvent).type === 'custom:data') return;
    }
  };
  await readOne();
  await new Promise(setImmediate);
  collectGarbage();
  expect(data.map((each) => each.deref())).toEqual([undefined, { number: 1 }]);
  await events.return('');
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

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
    const call = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] };
    const { agent } = scriptedAgent([call, 'ok'], { tools: [add] });
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
