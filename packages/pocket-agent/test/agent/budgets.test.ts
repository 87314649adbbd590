import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { PocketAgent, PocketError, Router, type RunTotals, tool } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { add, expectValidHistory, scriptedAgent, silent } from '../helpers.ts';

const callAdd = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] };
const prices = { script: { input: 1_000_000, output: 2_000_000 } }; // a dollar in, two dollars out, for each token

async function budgetError(run: Promise<unknown>): Promise<PocketError & { details: { totals?: RunTotals } }> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof PocketError)) throw new Error(`No PocketError but ${error}`);
  return error;
}

function child(name: string, script: ConstructorParameters<typeof ScriptedModel>[0], options = {}) {
  const llmModel = new ScriptedModel(script);
  const agent = new PocketAgent({ agentConfig: { llmModel, name }, tools: [add], logger: silent, prices, ...options });
  return { agent, llmModel };
}

describe('usage and cost', () => {
  test('every step and every run reports tokens and dollars', async () => {
    const seen: unknown[] = [];
    const { agent } = scriptedAgent(
      [
        { ...callAdd, usage: { input: 10, output: 4 } },
        { text: 'ok', usage: { input: 20, output: 1 } },
      ],
      {
        tools: [add],
        prices,
        hooks: {
          onEvent: (event) => {
            if (event.type === 'step_finished') seen.push(event.data.usage.costUsd);
            if (event.type === 'run_finished') seen.push(event.data.totals.usage);
          },
        },
      },
    );
    await agent.run('x');
    const usage = {
      inputTokens: 30,
      cachedInputTokens: 0,
      outputTokens: 5,
      reasoningTokens: 0,
      costUsd: 40,
      modelCalls: 2,
      toolCalls: 1,
    };
    expect(seen).toEqual([18, 22, usage]);
    expect(agent.totals.usage).toEqual(usage);
  });

  test('an unknown price is undefined, never 0', async () => {
    const { agent } = scriptedAgent(['ok']);
    await agent.run('x');
    expect(agent.totals.usage).toMatchObject({ inputTokens: 10, costUsd: undefined });
  });

  test('cached and written tokens have prices of their own', async () => {
    const answer = {
      content: [{ type: 'text' as const, text: 'ok' }],
      finishReason: { unified: 'stop' as const, raw: 'stop' },
      usage: {
        inputTokens: { total: 100, noCache: 20, cacheRead: 50, cacheWrite: 30 },
        outputTokens: { total: 10, text: 4, reasoning: 6 },
      },
      warnings: [],
    };
    const llmModel = new ScriptedModel([]);
    llmModel.doGenerate = async (_options: LanguageModelV4CallOptions) => answer;
    const price = { input: 1e6, output: 1e6, cachedInput: 1e5, cacheWrite: 2e6 };
    const agent = new PocketAgent({ agentConfig: { llmModel }, prices: { 'scripted/script': price } });
    agent.addUserMessage('x');
    const { usage } = await agent.step();
    expect(usage).toMatchObject({ cachedInputTokens: 50, reasoningTokens: 6 });
    expect(usage.costUsd).toBeCloseTo(20 + 5 + 60 + 10);
  });

  test('prices of known models come from the table', async () => {
    const llmModel = new ScriptedModel([{ text: 'ok', usage: { input: 1_000_000, output: 0 } }], {
      provider: 'openai.responses',
      modelId: 'gpt-5-nano',
    });
    const agent = new PocketAgent({ agentConfig: { llmModel } });
    await agent.run('x');
    expect(agent.totals.usage.costUsd).toBeCloseTo(0.05, 2);
  });

  test('totals are kept by agent, by sub-agent and by tool', async () => {
    const sub = child('Sub', [callAdd, 'sub says 3']);
    const { agent } = scriptedAgent(
      [
        {
          toolCalls: [
            { name: 'Sub-message', arguments: { message: 'go' } },
            { name: 'add', arguments: {} },
          ],
        },
        'ok',
      ],
      { tools: [add], subAgents: [sub.agent], prices },
    );
    await agent.run('x');
    const { usage, byAgent, byTool } = agent.totals;
    expect(usage).toMatchObject({ modelCalls: 4, inputTokens: 40, toolCalls: 3 });
    expect(byAgent.Tester).toMatchObject({ modelCalls: 2, toolCalls: 2 });
    expect(byAgent['Tester/Sub']).toMatchObject({ modelCalls: 2, toolCalls: 1 });
    expect(byTool.add).toMatchObject({ calls: 2, errors: 1 });
    expect(byTool['Sub-message']).toMatchObject({ calls: 1, errors: 0 });
    expect(sub.agent.totals.usage.modelCalls).toBe(2);
  });

  test('the next call measures the cost of tool results', async () => {
    const long = tool({ name: 'long', description: '', run: () => 'x'.repeat(300) });
    const short = tool({ name: 'short', description: '', run: () => 'y' });
    const { agent } = scriptedAgent(
      [
        { toolCalls: [{ name: 'long' }, { name: 'short' }], usage: { input: 100, output: 20 } },
        { text: 'ok', usage: { input: 420, output: 5 } },
      ],
      { tools: [long, short] },
    );
    await agent.run('x');
    const { byTool } = agent.totals;
    expect((byTool.long?.resultTokens ?? 0) + (byTool.short?.resultTokens ?? 0)).toBe(300);
    expect(byTool.long?.resultTokens).toBeGreaterThan(200);
  });

  test('without a next call the cost of tool results is estimated', async () => {
    const long = tool({ name: 'long', description: '', run: () => 'x'.repeat(350) });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'long' }] }], { tools: [long], limits: { maxSteps: 1 } });
    await expect(agent.run('x')).rejects.toMatchObject({ code: 'MAX_STEPS' });
    expect(agent.totals.byTool.long?.resultTokens).toBeGreaterThan(80);
  });
});

describe('limits', () => {
  test('maxTokens stops before the next model call, with a valid history and the totals', async () => {
    const { agent, model } = scriptedAgent([callAdd, callAdd, 'never'], { tools: [add], limits: { maxTokens: 25 } });
    const error = await budgetError(agent.run('x'));
    expect(error).toMatchObject({ code: 'BUDGET_REACHED', details: { limit: 'maxTokens' } });
    expect(error.message).toMatch(/limits\.maxTokens \(25\): 30 tokens used/);
    expect(error.details.totals?.usage).toMatchObject({ modelCalls: 2, inputTokens: 20 });
    expect(model.calls).toHaveLength(2);
    expectValidHistory(agent);
  });

  test('a budget covers one run, and the next run starts with a new one', async () => {
    const { agent } = scriptedAgent(['a', 'b'], { limits: { maxTokens: 15 } });
    expect(await agent.run('x')).toBe('a');
    expect(await agent.run('y')).toBe('b');
  });

  test('maxCostUsd stops before the next model call', async () => {
    const { agent, model } = scriptedAgent([callAdd, 'never'], { tools: [add], prices, limits: { maxCostUsd: 20 } });
    const error = await budgetError(agent.run('x'));
    expect(error).toMatchObject({ code: 'BUDGET_REACHED', details: { limit: 'maxCostUsd' } });
    expect(model.calls).toHaveLength(1);
    expectValidHistory(agent);
  });

  test.each([
    ['desk', 'desk'],
    [undefined, 'an agent without a name'],
  ])('the error calls an agent with the name %s %s', async (name, shown) => {
    const agentConfig = { name };
    const { agent } = scriptedAgent([callAdd, 'never'], { tools: [add], agentConfig, limits: { maxTokens: 1 } });
    expect((await budgetError(agent.run('x'))).message).toContain(`The run of ${shown} reached limits.`);
  });

  test('maxCostUsd with a model of unknown price is refused before it costs anything', async () => {
    const { agent, model } = scriptedAgent(['x'], { limits: { maxCostUsd: 1 } });
    await expect(agent.run('x')).rejects.toMatchObject({
      code: 'PRICE_UNKNOWN',
      message: expect.stringContaining('prices'),
    });
    expect(model.calls).toHaveLength(0);
  });

  test('a local model is free, so a budget in dollars works with it', async () => {
    const agent = new PocketAgent({ agentConfig: { llmModel: 'demo' }, limits: { maxCostUsd: 1 }, logger: silent });
    expect(await agent.run('Hello')).toContain('demo model');
    expect(agent.totals.usage.costUsd).toBe(0);
  });

  test('behind a router the price is that of the model that answered, and an unknown price stops the run', async () => {
    const make = (price: object) => {
      const model = new ScriptedModel([callAdd, callAdd, 'never']);
      const router = new Router({ models: [{ modelName: 'any', params: { model } }] });
      const agent = new PocketAgent({
        agentConfig: { llmModel: 'any' },
        router,
        tools: [add],
        logger: silent,
        limits: { maxCostUsd: 30 },
        ...price,
      });
      return { agent, model };
    };
    const priced = make({ prices });
    expect(await budgetError(priced.agent.run('x'))).toMatchObject({
      code: 'BUDGET_REACHED',
      details: { limit: 'maxCostUsd' },
    });
    expect(priced.model.calls).toHaveLength(2);
    const unpriced = make({});
    expect(await budgetError(unpriced.agent.run('x'))).toMatchObject({ code: 'PRICE_UNKNOWN' });
    expect(unpriced.model.calls).toHaveLength(1);
    expectValidHistory(unpriced.agent);
  });

  test('maxToolCalls answers the call above the limit with an error and stops', async () => {
    let ran = 0;
    const count = tool({ name: 'count', description: '', run: () => ++ran });
    const three = { toolCalls: [{ name: 'count' }, { name: 'count' }, { name: 'count' }] };
    const { agent } = scriptedAgent([three, 'never'], { tools: [count], limits: { maxToolCalls: 2 } });
    expect(await budgetError(agent.run('x'))).toMatchObject({
      code: 'BUDGET_REACHED',
      details: { limit: 'maxToolCalls' },
    });
    expect(ran).toBe(2);
    expectValidHistory(agent);
  });

  test('sub-agents use what is left of the budget of their parent', async () => {
    const sub = child('Sub', [callAdd, callAdd, callAdd, 'never']);
    const { agent, model } = scriptedAgent(
      [{ toolCalls: [{ name: 'Sub-message', arguments: { message: 'go' } }] }, 'never'],
      {
        subAgents: [sub.agent],
        limits: { maxTokens: 40 },
      },
    );
    expect(await budgetError(agent.run('x'))).toMatchObject({ code: 'BUDGET_REACHED' });
    expect(sub.llmModel.calls).toHaveLength(2);
    expect(model.calls).toHaveLength(1);
    expectValidHistory(agent);
    expectValidHistory(sub.agent);
  });

  test('a sub-agent also keeps its own limit, and its parent continues', async () => {
    const sub = child('Sub', [callAdd, 'never'], { limits: { maxTokens: 10 } });
    const { agent } = scriptedAgent(
      [{ toolCalls: [{ name: 'Sub-message', arguments: { message: 'go' } }] }, 'I gave up on Sub.'],
      { subAgents: [sub.agent] },
    );
    expect(await agent.run('x')).toBe('I gave up on Sub.');
  });

  test('sampling requests of a server count', async () => {
    const { McpServer } = await import('@modelcontextprotocol/server');
    const server = new McpServer({ name: 's', version: '1' });
    server.registerTool('ask', { inputSchema: z.object({}) }, async () => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }];
      const { content } = await server.server.createMessage({ messages, maxTokens: 5 });
      return { content: [{ type: 'text', text: JSON.stringify(content) }] };
    });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'ask' }] }, 'sampled', 'ok'], {
      mcpConfig: server,
      samplingHandler: 'agent-model',
    });
    expect(await agent.run('x')).toBe('ok');
    expect(agent.totals.usage.modelCalls).toBe(3);
    await agent.close();
  });

  test('sampling through a fork counts for the fork', async () => {
    const { McpServer } = await import('@modelcontextprotocol/server');
    const server = new McpServer({ name: 's', version: '1' });
    server.registerTool('ask', { inputSchema: z.object({}) }, async () => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }];
      await server.server.createMessage({ messages, maxTokens: 5 });
      return { content: [{ type: 'text', text: 'asked' }] };
    });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'ask' }] }, 'sampled', 'never'], {
      mcpConfig: server,
      samplingHandler: 'agent-model',
      limits: { maxTokens: 30 },
    });
    const fork = agent.fork();
    expect(await budgetError(fork.run('x'))).toMatchObject({ code: 'BUDGET_REACHED' });
    expect(fork.totals.usage.modelCalls).toBe(2);
    await agent.close();
  });

  test('a timeout error contains the totals', async () => {
    const hang = tool({ name: 'hang', description: '', run: () => new Promise(() => {}) });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'hang' }] }], { tools: [hang], limits: { timeoutMs: 30 } });
    expect((await budgetError(agent.run('x'))).details.totals?.usage).toMatchObject({ modelCalls: 1, toolCalls: 1 });
  });

  test('the prices of a parent apply to its sub-agents', async () => {
    const sub = child('Sub', ['done'], { prices: {} });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'Sub-message', arguments: { message: 'go' } }] }, 'ok'], {
      subAgents: [sub.agent],
      prices,
      limits: { maxCostUsd: 1_000 },
    });
    expect(await agent.run('x')).toBe('ok');
    expect(agent.totals.usage.costUsd).toBe(60);
  });

  describe('a provider that reports no usage, or a wrong one,', () => {
    const odd = (usage: object) => {
      const llmModel = new ScriptedModel(Array.from({ length: 40 }, () => callAdd));
      const generate = llmModel.doGenerate.bind(llmModel);
      llmModel.doGenerate = async (options) => ({ ...(await generate(options)), usage: usage as never });
      return new PocketAgent({ agentConfig: { llmModel }, tools: [add], logger: silent, limits: { maxTokens: 60 } });
    };
    test.each([
      [{ inputTokens: {}, outputTokens: {} }],
      [{ inputTokens: { total: Number.NaN }, outputTokens: { total: Number.NaN } }],
      [{ inputTokens: { total: -5 }, outputTokens: { total: Number.POSITIVE_INFINITY } }],
      [{}],
    ])('%j is held to its budget by an estimate', async (usage) => {
      const agent = odd(usage);
      expect(await budgetError(agent.run('x'))).toMatchObject({ code: 'BUDGET_REACHED' });
      expect(agent.totals.usage.inputTokens).toBeGreaterThan(0);
    });

    test('is held to its budget also if it parses the input of tool calls', async () => {
      const { agent, model } = scriptedAgent([callAdd, callAdd, 'never'], { tools: [add], limits: { maxTokens: 5 } });
      const parsed = { type: 'tool-call', toolCallId: 'one', toolName: 'add', input: { a: 1, b: 2 } } as never;
      const generate = model.doGenerate.bind(model);
      const usage = { inputTokens: {}, outputTokens: {} } as never;
      model.doGenerate = async (options) => ({ ...(await generate(options)), content: [parsed], usage });
      expect(await budgetError(agent.run('x'))).toMatchObject({ code: 'BUDGET_REACHED' });
      expect(agent.totals.usage).toMatchObject({
        modelCalls: 1,
        outputTokens: Math.ceil('{"a":1,"b":2}'.length / 3.5),
      });
    });
  });

  test('invented tool names do no harm', async () => {
    const names = ['__proto__', 'constructor', 'toString'];
    const { agent } = scriptedAgent([{ toolCalls: names.map((name) => ({ name })) }, 'ok'], { tools: [add] });
    await agent.run('x');
    expect(({} as Record<string, unknown>).errors).toBeUndefined();
    expect(Object.keys(agent.totals.byTool).sort()).toEqual([...names].sort());
  });

  test('a failure of the price table does not fail the run', async () => {
    const llmModel = new ScriptedModel(['kept'], { provider: 'openai', modelId: 'gpt-4o' });
    const generate = llmModel.doGenerate.bind(llmModel);
    const usage = {
      inputTokens: { total: 10, noCache: 0, cacheRead: 50, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    llmModel.doGenerate = async (options) => ({ ...(await generate(options)), usage });
    expect(await new PocketAgent({ agentConfig: { llmModel } }).run('x')).toBe('kept');
  });

  test('limits reach agents behind overridden runs and function tools', async () => {
    const inner = child('Inner', [callAdd, callAdd, 'never']);
    const viaTool = tool({ name: 'via', description: '', run: () => inner.agent.run('go') });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'via' }] }, 'never'], {
      tools: [viaTool],
      limits: { maxTokens: 30 },
    });
    expect(await budgetError(agent.run('x'))).toMatchObject({ code: 'BUDGET_REACHED' });
    expect(inner.llmModel.calls).toHaveLength(1);
  });

  test('limits apply to endless calls of an MCP tool', async () => {
    const spin = tool({ name: 'spin', description: '', run: () => 'again' });
    const { agent } = scriptedAgent(
      Array.from({ length: 10 }, () => ({ toolCalls: [{ name: 'spin' }] })),
      {
        mcpConfig: await scriptedServer([spin]),
        limits: { maxToolCalls: 3 },
      },
    );
    await expect(agent.run('x')).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
    expect(agent.totals.byTool.spin?.calls).toBe(3);
    await agent.close();
  });
});
