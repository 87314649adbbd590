// What an agent does inside of its own run, and what a run leaves behind when it ends.
import { AsyncLocalStorage } from 'node:async_hooks';
import { PocketAgent, type ToolSource, tool } from 'pocket-agent';
import type { ScriptedAnswer, ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { expectValidHistory, scriptedAgent } from '../helpers.ts';

afterEach(() => void vi.useRealTimers());

const call = (name: string): ScriptedAnswer => ({ toolCalls: [{ name }] });
const textsOf = (model: ScriptedModel) => model.calls.map(({ prompt }) => JSON.stringify(prompt));

describe('a run that is started inside a run and not awaited', () => {
  test('delays the next run, so that two runs never share the history', async () => {
    const holder: { agent?: PocketAgent; follow?: Promise<string> } = {};
    const { agent, model } = scriptedAgent(['one done', { text: 'follow done', delayMs: 10 }, 'two done'], {
      hooks: {
        onEvent({ type }) {
          if (type === 'run_finished') holder.follow ??= holder.agent?.run('follow');
        },
      },
    });
    holder.agent = agent;
    expect(await Promise.all([agent.run('one'), agent.run('two')])).toEqual(['one done', 'two done']);
    expect(await holder.follow).toBe('follow done');
    expect(textsOf(model)[2]).toMatch(/one done.*follow done.*"two"/);
  });

  test('does not outlive an abort', async () => {
    const holder: { agent?: PocketAgent; follow?: Promise<unknown> } = {};
    const stop = new AbortController();
    const { agent } = scriptedAgent(['one done', { text: 'late', delayMs: 60_000 }, 'two done'], {
      hooks: {
        onEvent({ type }) {
          if (type !== 'run_finished' || holder.follow) return;
          holder.follow = holder.agent?.run('follow').catch((error) => error.code);
          setImmediate(() => stop.abort());
        },
      },
    });
    holder.agent = agent;
    expect(await agent.run('one', { signal: stop.signal })).toBe('one done');
    expect(await holder.follow).toBe('ABORTED');
    expect(await agent.run('two')).toBe('two done');
  });

  test('leaves every prompt valid, whichever tool ends first', async () => {
    const holder: { agent?: PocketAgent; side?: Promise<string> } = {};
    const fastIsDone = Promise.withResolvers<string>();
    const slow = tool({ name: 'slow', description: '', run: () => fastIsDone.promise });
    const fast = tool({ name: 'fast', description: '', run: () => 'quick' });
    const endSlow = () => {
      fastIsDone.resolve('at last');
      return 'side done';
    };
    const { agent, model } = scriptedAgent([call('slow'), call('fast'), endSlow, 'main done'], {
      tools: [slow, fast],
      hooks: {
        onLlmResponse() {
          holder.side ??= holder.agent?.run('side');
        },
      },
    });
    holder.agent = agent;
    expect(await agent.run('main')).toBe('main done');
    expect(await holder.side).toBe('side done');
    expectValidHistory(agent);
    const roles = model.calls[3]?.prompt.map(({ role }) => role);
    expect(roles).toEqual(['user', 'user', 'assistant', 'tool', 'assistant', 'tool', 'assistant']);
  });
});

describe('a timer that a finished run left behind', () => {
  /** An agent whose tool keeps the place it was called from, to start runs from there. */
  function leaving(options: Parameters<typeof scriptedAgent>[1] = {}) {
    let place: ReturnType<typeof AsyncLocalStorage.snapshot> = (work, ...args) => work(...args);
    const keep = tool({
      name: 'keep',
      description: '',
      meta: { capability: 'read' },
      run: () => {
        place = AsyncLocalStorage.snapshot();
      },
    });
    const made = scriptedAgent([call('keep'), 'one', call('keep'), 'two', call('keep'), 'three'], {
      ...options,
      tools: [keep, ...(options.tools ?? [])],
    });
    return { ...made, fromThere: (work: () => Promise<string>) => place(work) };
  }

  test('starts runs that are counted once, and have limits of their own', async () => {
    const { agent, fromThere } = leaving({ limits: { maxToolCalls: 1 } });
    expect(await agent.run('x')).toBe('one');
    expect(await fromThere(() => agent.run('again'))).toBe('two');
    expect(await fromThere(() => agent.run('again'))).toBe('three');
    expect(agent.totals.usage).toMatchObject({ modelCalls: 6, toolCalls: 3 });
  });

  test('starts runs that the signal and the listeners of the finished run do not reach', async () => {
    const stop = new AbortController();
    const heard: string[] = [];
    const { agent, fromThere } = leaving();
    const onEvent = ({ type }: { type: string }) => void heard.push(type);
    expect(await agent.run('x', { signal: stop.signal, onEvent })).toBe('one');
    heard.length = 0;
    stop.abort();
    expect(await fromThere(() => agent.run('again'))).toBe('two');
    expect(heard).toEqual([]);
  });

  test('starts runs with the profiles of the finished run, also through several runs', async () => {
    const erase = tool({ name: 'erase', description: '', meta: { capability: 'delete' }, run: () => {} });
    const { agent, model, fromThere } = leaving({ tools: [erase] });
    await agent.run('x', { profile: 'reader' });
    await fromThere(() => agent.run('again'));
    await fromThere(() => agent.run('again'));
    const offered = model.calls.map(({ tools = [] }) => tools.map(({ name }) => name).join());
    expect(new Set(offered)).toEqual(new Set(['keep']));
  });
});

describe('code that goes on after its run was aborted', () => {
  let erased = 0;
  const erase = tool({ name: 'erase', description: '', capability: 'delete', run: () => ++erased });
  const script = [call('erase'), 'done'];

  beforeEach(() => {
    erased = 0;
  });

  test.each([
    ['run', (agent: PocketAgent) => PocketAgent.prototype.run.call(agent, 'x')],
    ['step', (agent: PocketAgent) => agent.step()],
  ])('cannot start a %s in an overridden run()', async (_name, start) => {
    vi.useFakeTimers();
    const { agent, model } = scriptedAgent(script, { tools: [erase], limits: { timeoutMs: 100 } });
    const isOver = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    agent.run = async () => {
      await isOver.promise;
      late = start(agent);
      await late;
      return '';
    };
    const outcome = expect(agent.run('x')).rejects.toMatchObject({ code: 'TIMEOUT' });
    await vi.advanceTimersByTimeAsync(5_000);
    await outcome;
    isOver.resolve();
    await vi.advanceTimersByTimeAsync(1);
    await expect(late).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect([model.calls.length, erased]).toEqual([0, 0]);
  });

  test('cannot start a run of another agent, also not out of a run that ended normally', async () => {
    const sub = scriptedAgent(script, { tools: [erase] }).agent;
    const stop = new AbortController();
    const places: ReturnType<typeof AsyncLocalStorage.snapshot>[] = [];
    const keep = tool({ name: 'keep', description: '', run: () => void places.push(AsyncLocalStorage.snapshot()) });
    const inner = scriptedAgent([call('keep'), 'inner'], { tools: [keep] }).agent;
    const hang = tool({
      name: 'hang',
      description: '',
      run: async () => {
        await inner.run('x');
        places.push(AsyncLocalStorage.snapshot());
        stop.abort();
        return new Promise<string>(() => {});
      },
    });
    const { agent } = scriptedAgent([call('hang')], { tools: [hang] });
    await expect(agent.run('x', { signal: stop.signal })).rejects.toMatchObject({ code: 'ABORTED' });
    expect(places).toHaveLength(2);
    for (const place of places) await expect(place(() => sub.run('go on'))).rejects.toMatchObject({ code: 'ABORTED' });
    expect(erased).toBe(0);
  });
});

test('a run inside a run streams if it asks for that', async () => {
  const holder: { agent?: PocketAgent; inner?: Promise<string> } = {};
  const types: string[] = [];
  const { agent } = scriptedAgent(['outer', 'inner'], {
    hooks: {
      onEvent: ({ type }) => void types.push(type),
      onLlmResponse() {
        holder.inner ??= holder.agent?.run('inner', { streaming: true });
      },
    },
  });
  holder.agent = agent;
  await agent.run('outer');
  expect(await holder.inner).toBe('inner');
  expect(types).toContain('text_delta');
});

test('a run that is refused for its profile leaves no timer behind', async () => {
  vi.useFakeTimers();
  const { agent } = scriptedAgent(['x'], { limits: { timeoutMs: 50 } });
  await expect(agent.run('x', { profile: 'reeder' as 'reader' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['lists its tools', { listTools: () => new Promise<never>(() => {}) }],
  ['lists them again', { listTools: listsOnce() }],
])('a source that never %s does not hold a run beyond its time', async (_what, { listTools }) => {
  let revision = 0;
  const source: ToolSource = {
    name: 'stuck',
    get revision() {
      return revision++;
    },
    listTools,
    callTool: async () => ({ content: [] }),
  };
  const { agent } = scriptedAgent([call('there'), 'x'], { tools: [source], limits: { timeoutMs: 30 } });
  await expect(agent.run('x')).rejects.toMatchObject({ code: 'TIMEOUT' });
});

function listsOnce(): ToolSource['listTools'] {
  let lists = 0;
  const there = { name: 'there', inputSchema: { type: 'object' as const } };
  return () => (lists++ === 0 ? [there] : new Promise<never>(() => {}));
}

test('the answer is dropped if the conversation was reset while the model answered', async () => {
  const holder: { agent?: PocketAgent } = {};
  const { agent } = scriptedAgent([
    () => {
      holder.agent?.resetMessages();
      return 'too late';
    },
  ]);
  holder.agent = agent;
  expect(await agent.run('hi')).toBe('too late');
  expect(agent.messages).toEqual([]);
});
