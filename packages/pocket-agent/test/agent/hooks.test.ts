import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentEvent,
  AgentHooks,
  type HookContext,
  PocketAgent,
  PocketError,
  type ToolCall,
  type ToolContentPart,
  type ToolResult,
  tool,
} from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, expectValidHistory, fail, resultText, scriptedAgent, silent } from '../helpers.ts';

const callAdd = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] };

describe('hooks', () => {
  test('run in their order, with events between, and share one context per step', async () => {
    const order: string[] = [];
    const contexts = new Set<HookContext>();
    class Recording extends AgentHooks {
      #note(name: string, context: HookContext) {
        order.push(name);
        contexts.add(context);
        context.metadata[name] = true;
      }
      override async preStep(context: HookContext) {
        this.#note('preStep', context);
      }
      override async postStep(context: HookContext) {
        this.#note('postStep', context);
      }
      override async preToolCall(context: HookContext) {
        this.#note('preToolCall', context);
      }
      override async postToolCall(context: HookContext) {
        this.#note('postToolCall', context);
      }
      override async onLlmResponse(context: HookContext) {
        this.#note('onLlmResponse', context);
      }
      override onEvent(event: { type: string }) {
        order.push(`event:${event.type}`);
      }
    }
    const { agent } = scriptedAgent([callAdd], { tools: [add], hooks: new Recording() });
    agent.addUserMessage('hi');
    await agent.step();
    expect(order).toEqual([
      'event:new_message',
      'event:step_started',
      'preStep',
      'onLlmResponse',
      'event:new_message',
      'event:tool_call',
      'preToolCall',
      'postToolCall',
      'event:tool_result',
      'event:audit',
      'event:new_message',
      'event:step_finished',
      'postStep',
    ]);
    expect(contexts.size).toBe(1);
    expect([...contexts][0]?.agent).toBe(agent);
  });

  test('createHookContext may return a frozen object', async () => {
    const signals: AbortSignal[] = [];
    class Frozen extends PocketAgent {
      protected override createHookContext() {
        return Object.freeze({ agent: this, metadata: {} });
      }
    }
    const hooks = { preStep: ({ signal }: HookContext) => void signals.push(signal) };
    const agent = new Frozen({ llmModel: new ScriptedModel(['Done.']), hooks });
    expect(await agent.run('Hi')).toBe('Done.');
    expect(signals[0]).toBeInstanceOf(AbortSignal);
  });

  test('createHookContext can be overridden', async () => {
    const seen: unknown[] = [];
    class Tagged extends PocketAgent {
      protected override createHookContext() {
        return { agent: this, metadata: { tenant: 'a' } };
      }
    }
    const agent = new Tagged({
      agentConfig: { llmModel: new ScriptedModel(['x']) },
      hooks: { preStep: ({ metadata }) => void seen.push(metadata.tenant) },
    });
    await agent.run('hi');
    expect(seen).toEqual(['a']);
  });

  test('preToolCall may change the arguments, but not the id the model knows', async () => {
    const { agent } = scriptedAgent([callAdd, 'ok'], {
      tools: [add],
      hooks: { preToolCall: (_context, call) => ({ ...call, id: 'other', arguments: { a: 10, b: 20 } }) },
    });
    await agent.run('hi');
    expect(resultText(agent)).toBe('30');
    expectValidHistory(agent);
  });

  const circle: Record<string, unknown> = {};
  circle.self = circle;
  test.each([
    ['a BigInt', { id: 10n }],
    ['a circle', circle],
    ['a list', [1] as never],
  ])('preToolCall cannot change the arguments to %s: the run stops, with every call answered', async (_name, args) => {
    const auditFile = join(await mkdtemp(join(tmpdir(), 'pocket-agent-')), 'audit.jsonl');
    const { agent } = scriptedAgent([callAdd, 'ok'], {
      tools: [add],
      access: { auditFile },
      hooks: { preToolCall: (_context, call) => ({ ...call, arguments: args }) },
    });
    const message = expect.stringContaining('preToolCall returned invalid arguments for "add"');
    await expect(agent.run('hi')).rejects.toMatchObject({ code: 'CONFIG_INVALID', message });
    expect(resultText(agent)).toContain('they must be an object of JSON values');
    expectValidHistory(agent);
    await agent.close();
    expect(JSON.parse(await readFile(auditFile, 'utf8'))).toMatchObject({ tool: 'add', outcome: 'not run' });
  });

  test.each([[{}], [{ name: 5, arguments: {} }], ['add'], [[]]])(
    'preToolCall cannot return %j: the run stops, with every call answered',
    async (returned) => {
      const { agent } = scriptedAgent([callAdd, 'ok'], {
        tools: [add],
        hooks: { preToolCall: () => returned as unknown as ToolCall },
      });
      const message = expect.stringContaining('preToolCall returned an invalid call for "add"');
      await expect(agent.run('hi')).rejects.toMatchObject({ code: 'CONFIG_INVALID', message });
      expectValidHistory(agent);
    },
  );

  test('preToolCall may call another tool; its result answers the call of the model', async () => {
    const other = tool({ name: 'other', description: '', run: () => 'of other' });
    const { agent, model } = scriptedAgent([callAdd, 'ok'], {
      tools: [add, other],
      hooks: { preToolCall: (_context, call) => ({ ...call, name: 'other' }) },
    });
    await agent.run('hi');
    expect(model.calls[1]?.prompt.at(-1)?.content).toMatchObject([{ toolName: 'add', output: { value: 'of other' } }]);
    expect(agent.totals.byTool).toMatchObject({ other: { calls: 1 } });
  });

  test('preToolCall may deny, and the model reads why', async () => {
    const { agent } = scriptedAgent([callAdd, 'ok'], {
      tools: [add],
      hooks: { preToolCall: () => ({ deny: 'not on Sundays' }) },
    });
    expect(await agent.run('hi')).toBe('ok');
    expect(resultText(agent)).toContain('not on Sundays');
  });

  test('postToolCall may change the result', async () => {
    const { agent } = scriptedAgent([callAdd, 'ok'], {
      tools: [add],
      hooks: {
        postToolCall: (_context, _call, result) => ({
          ...result,
          toolResultContent: [{ type: 'text', text: 'three' }],
        }),
      },
    });
    await agent.run('hi');
    expect(resultText(agent)).toBe('three');
  });

  test.each([
    { type: 'file', data: 5 },
    { type: 'file', mediaType: 'image/png', data: { type: 'data' } },
    { type: 'file', data: { type: 'data', data: 'AAAA' } },
  ])('postToolCall cannot put the part %j into the history', async (part) => {
    let isBroken = true;
    const { agent } = scriptedAgent([callAdd, 'later'], {
      tools: [add],
      hooks: {
        postToolCall: (_context, _call, result) =>
          isBroken ? { ...result, toolResultContent: [part as unknown as ToolContentPart] } : undefined,
      },
    });
    const message = expect.stringContaining('file parts with mediaType and data');
    await expect(agent.run('hi')).rejects.toMatchObject({ code: 'CONFIG_INVALID', message });
    isBroken = false;
    expect(await agent.run('again')).toBe('later');
    expectValidHistory(agent);
  });

  test('onToolResult replaces the conversion', async () => {
    const data = tool({ name: 'data', description: '', run: () => ({ celsius: 21, noise: 'x' }) });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'data' }] }, 'ok'], {
      tools: [data],
      hooks: {
        onToolResult: async (_context, call, result) => ({
          toolCallId: call.id,
          toolCallName: call.name,
          toolResultContent: [
            { type: 'text', text: `only ${JSON.stringify(result.structuredContent).length} characters` },
          ],
          extra: {},
        }),
      },
    });
    await agent.run('hi');
    expect(resultText(agent)).toBe('only 26 characters');
  });

  test('a hook that throws stops the step after postStep, with every call answered', async () => {
    const order: string[] = [];
    const { agent } = scriptedAgent([{ toolCalls: [...callAdd.toolCalls, ...callAdd.toolCalls] }], {
      tools: [add],
      hooks: {
        preToolCall: () => {
          throw new Error('hook broke');
        },
        postStep: () => void order.push('postStep'),
      },
    });
    await expect(agent.run('hi')).rejects.toThrow('hook broke');
    expect(order).toEqual(['postStep']);
    expectValidHistory(agent);
  });

  test.each(['preStep', 'onLlmResponse'] as const)(
    'an error in %s comes out of step() after postStep',
    async (name) => {
      const order: string[] = [];
      const { agent } = scriptedAgent(['x'], {
        hooks: {
          [name]: () => {
            throw new Error(`${name} broke`);
          },
          postStep: () => void order.push('postStep'),
        },
      });
      await expect(agent.run('hi')).rejects.toThrow(`${name} broke`);
      expect(order).toEqual(['postStep']);
      expectValidHistory(agent);
    },
  );

  test('an error of the model comes out of step() after postStep, even when postStep fails too', async () => {
    const { agent } = scriptedAgent([{ error: new Error('no credit') }], {
      hooks: {
        postStep: () => {
          throw new Error('second');
        },
      },
    });
    await expect(agent.run('hi')).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('no credit'),
    });
  });

  test('an error in postStep of a good step is thrown', async () => {
    const { agent } = scriptedAgent(['x'], {
      hooks: {
        postStep: () => {
          throw new Error('post broke');
        },
      },
    });
    await expect(agent.run('hi')).rejects.toThrow('post broke');
  });

  test('a listener that throws or rejects does not change the run, and is waited for', async () => {
    const errors: string[] = [];
    let finished = 0;
    const { agent } = scriptedAgent(['x'], {
      logger: { ...silent, error: (text) => void errors.push(text) },
      hooks: {
        onEvent: async (event) => {
          await new Promise(setImmediate);
          finished++;
          throw new Error(event.type);
        },
      },
    });
    expect(await agent.run('hi')).toBe('x');
    expect(finished).toBeGreaterThanOrEqual(3);
    expect(errors[0]).toContain('listener to events failed');
    const sync = scriptedAgent(['x'], {
      hooks: {
        onEvent: () => {
          throw new Error('x');
        },
      },
    });
    expect(await sync.agent.run('hi')).toBe('x');
  });
});

describe('onToolError', () => {
  test('sees every kind of failure', async () => {
    const codes: string[] = [];
    const { agent } = scriptedAgent(
      [
        {
          toolCalls: [
            { name: 'fail' },
            { name: 'unknown_tool' },
            { name: 'add', arguments: '{' },
            { name: 'add', arguments: {} },
          ],
        },
        'ok',
      ],
      {
        tools: [add, fail],
        hooks: {
          onToolError: (_context, call, error) => {
            codes.push(`${call.name} ${error instanceof PocketError ? error.code : error.message}`);
          },
        },
      },
    );
    expect(await agent.run('go')).toBe('ok');
    expect(codes.sort()).toEqual([
      'add TOOL_ARGUMENTS_INVALID',
      'add TOOL_ARGUMENTS_INVALID',
      'fail the disk is full',
      'unknown_tool TOOL_UNKNOWN',
    ]);
  });

  test('a string becomes the result', async () => {
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'fail' }] }, 'ok'], {
      tools: [fail],
      hooks: { onToolError: () => 'use the other disk' },
    });
    await agent.run('go');
    expect(resultText(agent)).toBe('use the other disk');
  });

  test('false stops the run with a typed error, after all calls are answered', async () => {
    const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'fail' }, ...callAdd.toolCalls] }, 'never'], {
      tools: [add, fail],
      hooks: { onToolError: () => false },
    });
    await expect(agent.run('go')).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      cause: { message: 'the disk is full' },
    });
    expectValidHistory(agent);
    expect(resultText(agent, 1)).toBe('3');
    expect(model.calls).toHaveLength(1);
  });
});

describe('events', () => {
  test('every message of the history is an event, and nothing else is', async () => {
    const recorder = recordEvents();
    const { agent } = scriptedAgent([callAdd, 'ok'], { tools: [add], hooks: recorder });
    await agent.run('hi');
    agent.addMessage({ role: 'user', content: [{ type: 'text', text: 'more' }] }, { source: 'chat' });
    const messages = recorder.events.flatMap((event) => (event.type === 'new_message' ? [event.data] : []));
    expect(messages).toEqual(agent.messages);
    expect(recorder.events.at(-1)?.meta).toMatchObject({
      source: 'chat',
      agentName: 'Tester',
      isSubAgent: false,
      path: ['Tester'],
    });
  });

  test('own events are named custom:…', async () => {
    const recorder = recordEvents();
    const { agent } = scriptedAgent(['ok'], { hooks: recorder });
    agent.emit({ type: 'custom:hello', data: { n: 1 } }, { agentName: 'cannot be faked' });
    expect(recorder.events[0]).toMatchObject({ type: 'custom:hello', data: { n: 1 }, meta: { agentName: 'Tester' } });
  });

  test('carry the time and a run id; events of a sub-agent carry the run id of its caller', async () => {
    const sub = scriptedAgent(['from below'], { agentConfig: { name: 'Sub', roleDescription: 'helps' } }).agent;
    const recorder = recordEvents();
    const script = [{ toolCalls: [{ name: 'Sub-message', arguments: { message: 'hi' } }] }, 'one', 'two'];
    const { agent } = scriptedAgent(script, { subAgents: [sub], hooks: recorder });
    const before = Date.now();
    await agent.run('first');
    const first = recorder.events.splice(0);
    await agent.run('second');
    const times = [before, ...first.map(({ meta }) => meta.time), Date.now()];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const own = first.filter(({ meta }) => !meta.isSubAgent);
    const ofSub = first.filter(({ meta }) => meta.isSubAgent);
    const [runId] = new Set(own.map(({ meta }) => meta.runId));
    expect(runId).toEqual(expect.any(String));
    expect(own.every(({ meta }) => meta.runId === runId && meta.parentRunId === undefined)).toBe(true);
    expect(ofSub.length).toBeGreaterThan(0);
    expect(ofSub.every(({ meta }) => meta.parentRunId === runId && meta.runId !== runId)).toBe(true);
    const [secondRunId] = new Set(recorder.events.map(({ meta }) => meta.runId));
    expect(secondRunId).not.toBe(runId);
    agent.addUserMessage('between runs');
    expect(recorder.events.at(-1)?.meta.runId).toBeUndefined();
  });

  test('of a run that a tool call started carry the id of that call', async () => {
    const helper = (name: string) => scriptedAgent(['done'], { agentConfig: { name, roleDescription: 'helps' } }).agent;
    const viaTool = helper('Third');
    const delegate = tool({ name: 'delegate', description: '', run: () => viaTool.run('x') });
    const recorder = recordEvents();
    const args = { message: 'x' };
    const toolCalls = [
      { name: 'First-message', arguments: args },
      { name: 'Second-message', arguments: args },
      { name: 'delegate' },
    ];
    const { agent } = scriptedAgent([{ toolCalls }, 'ok'], {
      subAgents: [helper('First'), helper('Second')],
      tools: [delegate],
      hooks: recorder,
    });
    await agent.run('x');
    const calls = recorder.events.flatMap((event) => (event.type === 'tool_call' ? [event.data.toolCallId] : []));
    const idsOf = (name: string) => [
      ...new Set(recorder.events.flatMap(({ meta }) => (meta.agentName === name ? [meta.parentToolCallId] : []))),
    ];
    expect(['First', 'Second', 'Third'].map(idsOf)).toEqual(calls.map((id) => [id]));
    expect(idsOf('Tester')).toEqual([undefined]);
  });

  test('report the start and the end of a run and of each step', async () => {
    const recorder = recordEvents();
    const { agent } = scriptedAgent([callAdd, 'ok', { error: new Error('no model') }], {
      tools: [add],
      hooks: recorder,
      limits: { modelRetries: 0 },
    });
    await agent.run('1 + 2?');
    await agent.run({ text: 'again' }).catch(() => {});
    const progress = recorder.events.flatMap(({ type, data }) => (/^(run|step)_/.test(type) ? [{ type, data }] : []));
    expect(progress).toMatchObject([
      { type: 'run_started', data: { input: '1 + 2?' } },
      { type: 'step_started', data: { step: 1 } },
      { type: 'step_finished', data: { step: 1, finishReason: 'tool-calls' } },
      { type: 'step_started', data: { step: 2 } },
      { type: 'step_finished', data: { step: 2, finishReason: 'stop' } },
      { type: 'run_finished', data: { answer: 'ok' } },
      { type: 'run_started', data: { input: 'again' } },
      { type: 'step_started', data: { step: 1 } },
      { type: 'run_failed', data: { code: 'MODEL_FAILED', message: expect.stringContaining('no model') } },
    ]);
  });

  describe('of sub-agents come before the end of the run around them', () => {
    const slow = tool({ name: 'slow', description: '', run: () => new Promise(() => {}) });
    const callSlow = { toolCalls: [{ name: 'slow' }] };
    const delegate = (to: string) => ({ toolCalls: [{ name: `${to}-message`, arguments: { message: 'x' } }] });

    /** Three agents, each asks the next one; the last one waits for a tool that never answers. */
    function chain(Last: typeof PocketAgent = PocketAgent) {
      const config = (name: string) => ({ name, roleDescription: 'helps', logger: silent });
      const last = new Last({ ...config('Last'), llmModel: new ScriptedModel([callSlow]), tools: [slow] });
      const middle = new PocketAgent({
        ...config('Middle'),
        llmModel: new ScriptedModel([delegate('Last')]),
        subAgents: [last],
      });
      const recorder = recordEvents();
      const root = new PocketAgent({
        ...config('Root'),
        llmModel: new ScriptedModel([delegate('Middle')]),
        subAgents: [middle],
        hooks: recorder,
      });
      const calls = () => recorder.events.filter(({ type }) => type === 'tool_call').length;
      return { root, recorder, isWaiting: () => calls() === 3 };
    }

    const runsIn = (events: readonly AgentEvent[]) =>
      events.flatMap(({ type, meta }) => (type.startsWith('run_') ? [`${meta.agentName} ${type}`] : []));
    const starts = ['Root run_started', 'Middle run_started', 'Last run_started'];
    const failures = ['Last run_failed', 'Middle run_failed', 'Root run_failed'];

    test('after an abort, for hooks, listeners of the run and streams', async () => {
      const { root, recorder, isWaiting } = chain();
      const aborter = new AbortController();
      const heard: AgentEvent[] = [];
      const onEvent = (event: AgentEvent) => {
        heard.push(event);
        if (event.type === 'tool_call' && event.meta.agentName === 'Last') aborter.abort();
      };
      await expect(root.run('x', { signal: aborter.signal, onEvent })).rejects.toMatchObject({ code: 'ABORTED' });
      expect(isWaiting()).toBe(true);
      expect(runsIn(recorder.events)).toEqual([...starts, ...failures]);
      expect(runsIn(heard)).toEqual([...starts, ...failures]);
    });

    test('after a timeout', async () => {
      const { root, recorder } = chain();
      await expect(root.run('x', { timeoutMs: 300 })).rejects.toMatchObject({ code: 'TIMEOUT' });
      expect(runsIn(recorder.events).slice(-3)).toEqual(failures);
    });

    test('also of one whose own run() does not react to the abort', async () => {
      const answer = Promise.withResolvers<string>();
      class Deaf extends PocketAgent {
        override async run(): Promise<string> {
          return answer.promise;
        }
      }
      const { root, recorder } = chain(Deaf as typeof PocketAgent);
      const aborter = new AbortController();
      const onEvent = ({ type, meta }: AgentEvent) => {
        if (type === 'run_started' && meta.agentName === 'Last') setTimeout(() => aborter.abort());
      };
      await expect(root.run('x', { signal: aborter.signal, onEvent })).rejects.toMatchObject({ code: 'ABORTED' });
      expect(runsIn(recorder.events)).toEqual([...starts, ...failures]);
      answer.resolve('late');
      await new Promise((resolve) => setTimeout(resolve));
      expect(runsIn(recorder.events)).toEqual([...starts, ...failures]);
    });

    test('when it succeeds', async () => {
      const { agent: helper } = scriptedAgent(['done'], { agentConfig: { name: 'Helper', roleDescription: 'helps' } });
      const recorder = recordEvents();
      const { agent } = scriptedAgent([delegate('Helper'), 'ok'], { subAgents: [helper], hooks: recorder });
      await agent.run('x');
      expect(runsIn(recorder.events)).toEqual([
        'Tester run_started',
        'Helper run_started',
        'Helper run_finished',
        'Tester run_finished',
      ]);
    });
  });

  test('name a tool and its call by the same keys in call, progress and result', async () => {
    const recorder = recordEvents();
    const counting = tool({ name: 'count', description: '', run: (_args, { progress }) => progress({ progress: 1 }) });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'count', id: 'c1' }] }, 'ok'], {
      tools: [counting],
      hooks: recorder,
    });
    await agent.run('go');
    const ofTool = recorder.events.filter(({ type }) => type.startsWith('tool_'));
    expect(ofTool.map(({ type }) => type)).toEqual(['tool_call', 'tool_progress', 'tool_result']);
    for (const { data } of ofTool) expect(data).toMatchObject({ toolName: 'count', toolCallId: 'c1' });
  });
});

describe('hooks of a run', () => {
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
