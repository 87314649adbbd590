// Runs that are aborted at any moment, and runs in which two things fail at once: one error ends them, and the next run works.
import {
  type AgentEvent,
  type Approve,
  type Message,
  PocketAgent,
  PocketError,
  type RunOptions,
  tool,
} from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silent } from '../helpers.ts';

const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ name, arguments: {} })) });
const tools = [
  tool({ name: 'look', description: 'Looks', capability: 'read', run: () => 'seen' }),
  tool({
    name: 'write',
    description: 'Writes',
    capability: 'write',
    run: async (_args, { progress }) => {
      progress({ progress: 1, total: 2 });
      await new Promise((resolve) => setImmediate(resolve));
      return 'written';
    },
  }),
];

/** Two steps with tools, a question to the approver, and an answer. */
function busyAgent(): PocketAgent {
  const script = [{ text: 'I look.', ...calls('look', 'write') }, calls('write'), 'Done.', 'Again.', 'Again.'];
  const approve: Approve = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return 'allow' as const;
  };
  const access = { confirm: 'write' } as const;
  return new PocketAgent({ llmModel: new ScriptedModel(script), tools, approve, access, logger: silent });
}

function callsIn({ role, content }: Message): unknown[] {
  return role === 'assistant' ? content.filter(({ type }) => type === 'tool-call') : [];
}

async function outcomeOf(agent: PocketAgent, options: RunOptions): Promise<unknown> {
  try {
    return await agent.run('Work.', options);
  } catch (error) {
    return error;
  }
}

describe.each([true, false])('a run that is aborted (streaming: %s)', (streaming) => {
  test('at any of its events ends with ABORTED, and the conversation goes on', async () => {
    const events: AgentEvent[] = [];
    await busyAgent().run('Work.', { streaming, onEvent: (event) => void events.push(event) });
    expect(events.length).toBeGreaterThan(10);
    for (const moment of events.keys()) {
      const agent = busyAgent();
      const controller = new AbortController();
      let count = 0;
      const onEvent = () => {
        if (count++ === moment) controller.abort();
      };
      const outcome = await outcomeOf(agent, { streaming, onEvent, signal: controller.signal });
      const at = `${moment}: ${events[moment]?.type}`;
      if (outcome !== 'Done.')
        expect({ at, outcome }).toMatchObject({ outcome: { name: 'PocketError', code: 'ABORTED' } });
      const answers = agent.messages.filter(({ role }) => role === 'tool').length;
      const asked = agent.messages.flatMap(callsIn).length;
      expect({ at, answers }).toEqual({ at, answers: asked });
      await expect(agent.fork({ llmModel: new ScriptedModel(['Next.']) }).run('Go on.')).resolves.toBe('Next.');
      await agent.close();
    }
  });
});

describe('two failures at once', () => {
  const failing = tool({
    name: 'fail',
    description: 'Fails',
    run: () => {
      throw new Error('the tool failed');
    },
  });
  const options = { logger: silent, limits: { modelRetries: 0 } };
  const modelFails = { error: new Error('the model failed') };

  test('a tool that throws and then the model: the error is that of the model', async () => {
    const llmModel = new ScriptedModel([calls('fail'), modelFails, 'Next.']);
    const agent = new PocketAgent({ ...options, llmModel, tools: [failing] });
    await expect(agent.run('Work.')).rejects.toMatchObject({ code: 'MODEL_FAILED', message: /the model failed/ });
    expect(await agent.run('Again.')).toBe('Next.');
  });

  test('a tool of a sub-agent, its model and its siblings: the parent reads what failed', async () => {
    const child = new PocketAgent({
      ...options,
      name: 'child',
      roleDescription: 'Works',
      llmModel: new ScriptedModel([calls('fail', 'fail'), modelFails]),
      tools: [failing],
    });
    const llmModel = new ScriptedModel([
      {
        toolCalls: [
          { name: 'child-message', arguments: { message: 'Work.' } },
          { name: 'fail', arguments: {} },
        ],
      },
      'Both failed.',
    ]);
    const agent = new PocketAgent({ ...options, llmModel, tools: [failing], subAgents: [child] });
    expect(await agent.run('Work.')).toBe('Both failed.');
    expect(JSON.stringify(agent.messages)).toMatch(/the model failed.*the tool failed/s);
  });

  test('a tool that throws while the stream of the model breaks: one error, with the text that was shown', async () => {
    const llmModel = new ScriptedModel([calls('fail'), 'Next.']);
    const stream = llmModel.doStream.bind(llmModel);
    let answers = 0;
    llmModel.doStream = async (call) => {
      if (answers++ !== 1) return stream(call);
      const parts = new ReadableStream({
        start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] });
          controller.enqueue({ type: 'text-delta', id: '1', delta: 'Half' });
        },
        pull: (controller) => controller.error(new Error('the stream broke')),
        cancel: () => Promise.reject(new Error('the stream cannot be cancelled')),
      });
      return { stream: parts };
    };
    const agent = new PocketAgent({ ...options, llmModel, tools: [failing] });
    const error = await outcomeOf(agent, { streaming: true });
    expect(error).toMatchObject({ code: 'MODEL_FAILED', message: /the stream broke/, details: { text: 'Half' } });
    expect(await agent.run('Again.', { streaming: true })).toBe('Next.');
  });

  test('a listener and a hook that throw while the model fails: the error is that of the model', async () => {
    const agent = new PocketAgent({
      ...options,
      llmModel: new ScriptedModel([modelFails, 'Next.']),
      hooks: {
        onEvent: () => {
          throw new Error('the hook failed');
        },
      },
    });
    const onEvent = () => {
      throw new Error('the listener failed');
    };
    await expect(agent.run('Work.', { onEvent })).rejects.toMatchObject({ code: 'MODEL_FAILED' });
    expect(await agent.run('Again.')).toBe('Next.');
  });

  test('the time runs out in the same moment in which the caller aborts: one error, by whichever came first', async () => {
    const controller = new AbortController();
    const llmModel = new ScriptedModel([{ text: 'late', delayMs: 60_000 }, 'Next.']);
    const agent = new PocketAgent({ ...options, llmModel });
    setTimeout(() => controller.abort(), 20);
    const error = await outcomeOf(agent, { timeoutMs: 20, signal: controller.signal });
    expect(error).toBeInstanceOf(PocketError);
    expect(['TIMEOUT', 'ABORTED']).toContain((error as PocketError).code);
    expect(await agent.run('Again.')).toBe('Next.');
  });

  test('a conversation that neither saves nor is released does not keep the next run waiting', async () => {
    const agent = new PocketAgent({ ...options, llmModel: new ScriptedModel(['One.', 'Two.']) });
    const fail = () => {
      throw new Error('the disk failed');
    };
    await agent.continueConversation({
      read: async () => ({ messages: [], replaces: false }),
      begin: async () => ({ messages: [], replaces: false }),
      append: fail,
      end: fail,
    });
    await expect(agent.run('Work.')).rejects.toThrow('the disk failed');
    await expect(agent.run('Again.')).rejects.toThrow('the disk failed');
  });
});

describe.each([
  [
    'a revoked proxy',
    () => {
      const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
      revoke();
      return proxy;
    },
  ],
  [
    'a proxy whose traps throw',
    () => {
      const get = () => {
        throw new Error('trap');
      };
      return new Proxy({}, { get });
    },
  ],
  ['an error whose message is a symbol', () => Object.assign(new Error('x'), { message: Symbol('x') })],
])('%s', (_what, make) => {
  const thrower = () => {
    throw make();
  };

  test('thrown by a tool is its result', async () => {
    const llmModel = new ScriptedModel([calls('break'), 'Done.']);
    const broken = tool({ name: 'break', description: 'Breaks', run: thrower });
    await using agent = new PocketAgent({ llmModel, tools: [broken], logger: silent });
    expect(await agent.run('Work.')).toBe('Done.');
    expect(JSON.stringify(llmModel.calls.at(-1)?.prompt.at(-1))).toMatch(
      /thrown value that cannot be shown|Symbol\(x\)/,
    );
  });

  test('thrown by a model is MODEL_FAILED', async () => {
    await using agent = new PocketAgent({ llmModel: new ScriptedModel([thrower]), logger: silent });
    await expect(agent.run('Work.')).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(/thrown value that cannot be shown|Symbol\(x\)/),
    });
  });
});
