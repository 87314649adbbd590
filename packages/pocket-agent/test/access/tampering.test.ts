// Hooks, listeners, tools, approvers and models are shown copies: what they do to those changes nothing that is
// approved, called or recorded.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentHooks,
  type ApprovalRequest,
  type HookContext,
  type LanguageModel,
  PocketAgent,
  type PocketAgentOptions,
  type ToolResult,
  tool,
} from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { folder } from '../fixtures/world.ts';
import { expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';

type Vandal = (value: unknown) => void;

/** Modifies everything inside a value that can be modified. Never throws. */
const vandalize: Vandal = (value) => spoil(value, new Set());

function spoil(value: unknown, seen: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || seen.has(value) || value instanceof PocketAgent) return;
  if (value instanceof AbortSignal || value instanceof Error) return;
  seen.add(value);
  for (const [key, item] of Object.entries(value)) {
    spoil(item, seen);
    if (typeof item === 'string') Reflect.set(value, key, 'spoiled');
    else if (typeof item === 'number') Reflect.set(value, key, 1_000_000);
    else if (typeof item === 'boolean') Reflect.set(value, key, !item);
  }
  Reflect.set(value, Array.isArray(value) ? value.length : 'spoiled', 'spoiled');
}

interface World {
  paid: unknown[];
  asked: unknown[];
  /** To the model. */
  shown: unknown[];
  agent: PocketAgent;
  auditFile: string;
}

interface Places {
  hooks?: (vandal: Vandal) => Partial<AgentHooks>;
  access?: (vandal: Vandal) => PocketAgentOptions['access'];
  inTool?: Vandal;
  inApprove?: Vandal;
  inModel?: Vandal;
}

const order = { to: { name: 'Ada', iban: ['DE', '00'] }, eur: 1 };

function makeWorld({ hooks, access, inTool = () => {}, inApprove = () => {}, inModel = () => {} }: Places): World {
  const auditFile = join(folder(), 'audit.jsonl');
  const paid: unknown[] = [];
  const asked: unknown[] = [];
  const shown: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    inputSchema: { type: 'object', properties: { to: { type: 'object' }, eur: { type: 'number' } } },
    run: (args) => {
      paid.push(structuredClone(args));
      inTool(args);
      return { receipt: { number: 7 } };
    },
  });
  const scripted = new ScriptedModel([
    {
      reasoning: 'think',
      toolCalls: [
        { id: 'call-1', name: 'pay', arguments: order },
        { id: 'call-2', name: 'none' },
      ],
    },
    { text: 'more', toolCalls: [{ id: 'call-3', name: 'pay', arguments: { eur: 2 } }] },
    'Paid.',
  ]);
  const agent = new PocketAgent({
    agentConfig: {
      llmModel: watchedModel(scripted, shown, inModel),
      name: 'Payer',
      agentId: 'payer',
      completionOptions: { providerOptions: { any: { level: 1 } } },
    },
    tools: [pay],
    toolCallMetadata: { order: { id: 'o-1' } },
    access: { confirm: 'always', auditFile, ...access?.(vandalize) },
    approve: (request: ApprovalRequest) => {
      const { signal: _signal, ...about } = request;
      asked.push(structuredClone(about));
      inApprove(request);
      return 'allow';
    },
    ...(hooks ? { hooks: hooks(vandalize) } : {}),
    logger: silent,
  });
  return { paid, asked, shown, agent, auditFile };
}

async function outcomeOf(places: Places, watch: Vandal = () => {}) {
  const { paid, asked, shown, agent, auditFile } = makeWorld(places);
  const answer = await agent.run('Pay.', { onEvent: watch });
  await agent.close();
  expectValidHistory(agent);
  const audit = readFileSync(auditFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => ({ ...JSON.parse(line), time: '', durationMs: 0 }));
  return { answer, paid, asked, shown, audit, messages: agent.messages, totals: agent.totals };
}

const everyHook = (vandal: Vandal): Partial<AgentHooks> => ({
  preToolCall: (_context, call) => vandal(call),
  postToolCall: (_context, call, result) => vandal([call, result]),
  onLlmResponse: (_context, response) => vandal(response),
  onToolError: (_context, call) => vandal(call),
  onEvent: (event) => vandal(event),
  preStep: ({ agent }) => vandal([agent.messages, agent.totals, agent.subAgents]),
  postStep: ({ agent }) => vandal([agent.messages, agent.totals]),
});

/** Keeps a copy of what it is given, then spoils it. */
function watchedModel(inner: LanguageModel, shown: unknown[], vandal: Vandal): LanguageModel {
  return {
    specificationVersion: 'v4',
    provider: inner.provider,
    modelId: inner.modelId,
    supportedUrls: {},
    doGenerate: ({ abortSignal: _signal, ...options }) => {
      shown.push(structuredClone(options));
      vandal(options);
      return inner.doGenerate(options);
    },
    doStream: (options) => inner.doStream(options),
  };
}

describe('nothing changes what is approved, called and recorded when', () => {
  test.each<[string, Places, Vandal?]>([
    ['hooks spoil what they are shown', { hooks: everyHook }],
    ['a listener of the run spoils events', {}, vandalize],
    ['a tool spoils its arguments', { inTool: vandalize }],
    ['an approver spoils the request', { inApprove: vandalize }],
    [
      'rules spoil tools and arguments',
      {
        access: (vandal) => ({
          confirm: (judged, args) => {
            vandal([judged, args]);
            return true;
          },
          filter: (judged) => {
            vandal(judged);
            return true;
          },
        }),
      },
    ],
    ['a model spoils prompt, tools and options', { inModel: vandalize }],
  ])('%s', async (_who, places, watch) => {
    expect(await outcomeOf(places, watch)).toEqual(await outcomeOf({}));
  });
});

test('the approved call is made even if a listener keeps and changes it', async () => {
  const held: { arguments: Record<string, unknown>; name: string }[] = [];
  const { agent, paid } = makeWorld({
    hooks: () => ({ onEvent: (event) => void (event.type === 'tool_call' && held.push(event.data)) }),
    inApprove: () => {
      for (const call of held) {
        Reflect.set(call, 'name', 'wipe');
        Reflect.set(call.arguments, 'eur', 1_000_000);
      }
    },
  });
  await agent.run('Pay.');
  expect(paid).toEqual([order, { eur: 2 }]);
});

test('arguments changed by an approver are recorded as they were used', async () => {
  const edited = { eur: 3 };
  const pay = tool({ name: 'pay', description: 'Pays', run: () => void Reflect.set(edited, 'eur', 1_000_000) });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay' }] }, 'Done.'], {
    tools: [pay],
    access: { confirm: 'always' },
    approve: () => ({ allow: edited }),
  });
  await agent.run('Pay.');
  expect(resultText(agent)).toContain('{"eur":3}');
});

test('a hook changes a call or a result by returning it', async () => {
  const { agent, paid } = makeWorld({
    hooks: () => ({
      preToolCall: (_context, call) => {
        call.arguments.eur = 5;
        return call;
      },
      postToolCall: (_context, _call, result) => {
        result.toolResultContent.push({ type: 'text', text: 'checked' });
        return result;
      },
    }),
  });
  await agent.run('Pay.');
  expect(paid).toEqual([{ ...order, eur: 5 }, { eur: 5 }]);
  expect(resultText(agent)).toMatch(/checked$/);
});

test('a result that a hook made is recorded as it was returned', async () => {
  const made: ToolResult[] = [];
  const { agent } = makeWorld({
    hooks: (vandal) => ({
      onToolResult: (_context, call) => {
        vandal(call);
        const own = { toolCallId: '', toolCallName: '', toolResultContent: [{ type: 'text' as const, text: 'mine' }] };
        made.push({ ...own, extra: {} });
        return made.at(-1) as ToolResult;
      },
      onEvent: () => vandal(made),
    }),
  });
  await agent.run('Pay.');
  expect(resultText(agent)).toBe('mine');
});

test('messages of the history are frozen; the list that a program gets is its own', async () => {
  const { agent } = scriptedAgent(['Hello.']);
  await agent.run('Hi');
  const before = agent.messages;
  expect(() => Reflect.apply(Array.prototype.push, before, [{}])).toThrow(TypeError);
  agent.addUserMessage('again');
  expect([before.length, agent.messages.length]).toEqual([2, 3]);
});

test('a frozen value is copied once: models and listeners share the messages of the history', async () => {
  const call = (count: number) => ({ name: 'echo', arguments: { deep: { count } } });
  const echo = tool({ name: 'echo', description: 'Echo', run: () => 'echo' });
  const { agent, model } = scriptedAgent([{ toolCalls: [1, 2, 3].map(call) }, 'done'], { tools: [echo] });
  const seen: unknown[] = [];
  await agent.run('hi', { onEvent: ({ type, data }) => void (type === 'tool_call' && seen.push(data.arguments)) });
  const [, answer, ...others] = agent.messages;
  const inputs = answer?.role === 'assistant' ? answer.content.map((part) => 'input' in part && part.input) : [];
  expect(seen.map((args, index) => args === inputs[index])).toEqual([true, true, true]);
  const joined = model.calls.at(-1)?.prompt.at(-1)?.content ?? [];
  const results = others.flatMap((message) => (message.role === 'tool' ? message.content : []));
  expect(results.map((part, index) => part === joined[index])).toEqual([true, true, true]);
});

test('a prompt that a model keeps does not grow with later steps', async () => {
  const { agent, model } = scriptedAgent(['One.', 'Two.']);
  await agent.run('Hi');
  await agent.run('Hi');
  expect(model.calls.map(({ prompt }) => prompt.length)).toEqual([1, 3]);
});

test('an object that createHookContext returns repeatedly is not modified', async () => {
  const signals: AbortSignal[] = [];
  const shared: Omit<HookContext, 'signal'> & { greet(): string } = Object.assign(
    Object.create({ greet: () => 'hello' }),
    { metadata: {} },
  );
  class Sharing extends PocketAgent {
    protected override createHookContext() {
      shared.agent = this;
      return shared;
    }
  }
  const agent = new Sharing({
    agentConfig: { llmModel: new ScriptedModel(['One.', 'Two.']) },
    hooks: {
      preStep(context) {
        signals.push(context.signal);
        expect('greet' in context && typeof context.greet).toBe('function');
      },
    },
  });
  await agent.run('Hi');
  await agent.run('Hi');
  expect(new Set(signals).size).toBe(2);
  expect(shared).not.toHaveProperty('signal');
});
