// Spans and metrics of runs, checked against the semantic conventions of OpenTelemetry.
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { PocketAgent, Router, type RouterOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { add, fail, scriptedAgent, silent } from '../helpers.ts';
import { collect, kindOf, textOfSpans } from './collector.ts';

const known = new Set<unknown>([
  ...Object.values(conventions),
  // newer than the package of the conventions
  'gen_ai.invoke_agent.duration',
  'gen_ai.execute_tool.duration',
]);

function desk() {
  const script = [{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'three'];
  const math = new PocketAgent({
    name: 'Math',
    roleDescription: 'Does sums',
    llmModel: new ScriptedModel(script, { provider: 'anthropic.messages', modelId: 'claude-x' }),
    tools: [add],
    logger: silent,
  });
  const ask = { toolCalls: [{ name: 'Math-message', arguments: { message: '1 + 2?' } }] };
  return scriptedAgent([ask, 'It is three.'], { subAgents: [math], agentConfig: { name: 'Desk', agentId: 'desk-1' } });
}

describe('the spans of a run', () => {
  test('are a tree of agents, model calls and tool calls', async () => {
    const collector = collect();
    await desk().agent.run('What is 1 + 2?');
    expect(collector.tree()).toEqual([
      'invoke_agent Desk',
      '  chat script',
      '  execute_tool Math-message',
      '    invoke_agent Math',
      '      chat claude-x',
      '      execute_tool add',
      '      chat claude-x',
      '  chat script',
    ]);
  });

  test('have the names and kinds of the conventions', async () => {
    const collector = collect();
    const { agent } = desk();
    for await (const _ of agent.stream('What is 1 + 2?', { caller: 'ada' }));
    const names = collector.spans().flatMap(({ attributes }) => Object.keys(attributes));
    expect(names.filter((name) => !known.has(name) && !name.startsWith('pocket_agent.'))).toEqual([]);
    const run = collector.span('invoke_agent Desk');
    expect(kindOf(run)).toBe('INTERNAL');
    expect(run.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'script',
      'gen_ai.agent.name': 'Desk',
      'gen_ai.agent.id': 'desk-1',
      'gen_ai.usage.input_tokens': 40,
      'gen_ai.usage.output_tokens': 20,
      'user.id': 'ada',
    });
    expect(collector.span('invoke_agent Math').attributes).toMatchObject({
      'gen_ai.agent.description': 'Does sums',
      'gen_ai.provider.name': 'anthropic',
    });
    const chat = collector.spans().find(({ name }) => name === 'chat claude-x');
    if (!chat) throw new Error('There is no span of the model call.');
    expect(kindOf(chat)).toBe('CLIENT');
    expect(chat.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-x',
      'gen_ai.request.stream': true,
      'gen_ai.response.finish_reasons': ['tool-calls'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
    });
    const streamed = collector.spans().filter(({ name }) => name === 'chat claude-x')[1];
    expect(streamed?.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThanOrEqual(0);
    const call = collector.span('execute_tool add');
    expect(kindOf(call)).toBe('INTERNAL');
    expect(call.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'add',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'call-1',
      'gen_ai.agent.name': 'Math',
      'pocket_agent.tool.decision': 'allowed',
      'pocket_agent.tool.decided_by': 'policy',
      'pocket_agent.tool.capability': 'read',
    });
  });

  test('are around what tools do, and within what the application does', async () => {
    const collector = collect();
    const tracer = trace.getTracer('app');
    const look = tool({
      name: 'look',
      description: 'Looks',
      run: () => tracer.startActiveSpan('SELECT', (span) => span.end()),
    });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'done'], { tools: [look] });
    await tracer.startActiveSpan('POST /chat', async (span) => {
      await agent.run('go');
      span.end();
    });
    expect(collector.tree()).toEqual([
      'POST /chat',
      '  invoke_agent Tester',
      '    chat script',
      '    execute_tool look',
      '      SELECT',
      '    chat script',
    ]);
  });

  test('continue the trace of the option traceparent, unless they are part of it already', async () => {
    const collector = collect();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await scriptedAgent(['hi']).agent.run('go', { traceparent });
    const run = collector.span('invoke_agent');
    expect(run.parentSpanContext).toMatchObject({ spanId: 'b7ad6b7169203331', isRemote: true });
    const around = trace.getTracer('app').startSpan('request');
    const { traceId } = around.spanContext();
    await context.with(trace.setSpan(context.active(), around), () =>
      scriptedAgent(['hi']).agent.run('go', { traceparent: `00-${traceId}-b7ad6b7169203331-01` }),
    );
    expect(collector.spans().filter(({ name }) => name.startsWith('invoke'))[1]?.parentSpanContext?.spanId).toBe(
      around.spanContext().spanId,
    );
  });

  test('of concurrent runs do not mix', async () => {
    const collector = collect();
    const script = [{ delayMs: 5, toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'done'];
    await Promise.all(Array.from({ length: 20 }, () => scriptedAgent(script, { tools: [add] }).agent.run('go')));
    const traces = Map.groupBy(collector.spans(), (span) => span.spanContext().traceId);
    expect(traces.size).toBe(20);
    for (const spans of traces.values()) expect(spans).toHaveLength(4);
  });
});

describe('failures', () => {
  test('of a tool mark its span, not the run', async () => {
    const collector = collect();
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'fail' }] }, 'Sorry.'], { tools: [fail] });
    await agent.run('go');
    const { attributes, status } = collector.span('execute_tool fail');
    expect(attributes['error.type']).toBe('Error');
    expect(status).toEqual({ code: 2 }); // the message may quote what a user wrote
    expect(collector.span('invoke_agent').status.code).toBe(0);
  });

  test('that stop a run do not show what a tool said, unless content is shown', async () => {
    for (const traceContent of [false, true]) {
      const collector = collect();
      const hooks = { onToolError: () => false as const };
      const broken = tool({
        name: 'pay',
        description: 'Pays',
        run: () => {
          throw new Error('no account of Grace, token=abc123456789');
        },
      });
      const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay' }] }], { tools: [broken], hooks, traceContent });
      await expect(agent.run('go')).rejects.toThrow('Grace');
      const said = textOfSpans(collector.spans());
      expect(said.includes('no account of Grace')).toBe(traceContent);
      expect(said).not.toContain('abc123456789');
      expect(collector.span('invoke_agent').attributes['error.type']).toBe('TOOL_FAILED');
      for (const part of [trace, metrics, propagation, context]) part.disable();
    }
  });

  test('of a model are on its span with the message of the provider, without keys', async () => {
    const collector = collect();
    const error = Object.assign(new Error('Invalid key sk-abcdefghijklmnop1234567890'), { statusCode: 401 });
    await expect(scriptedAgent([{ error }]).agent.run('secret question')).rejects.toThrow('Invalid key');
    const chat = collector.span('chat');
    expect(chat.attributes['error.type']).toBe('MODEL_FAILED');
    expect(chat.status.message).toContain('Invalid key [redacted]');
    expect(collector.span('invoke_agent').attributes['error.type']).toBe('MODEL_FAILED');
  });

  test('that are retried are events of the model call', async () => {
    const collector = collect();
    const error = Object.assign(new Error('overloaded'), { statusCode: 503, isRetryable: true });
    await scriptedAgent([{ error }, 'fine']).agent.run('go');
    const [retry] = collector.span('chat').events;
    expect(retry).toMatchObject({
      name: 'pocket_agent.model.retry',
      attributes: { attempt: 1, delay_ms: expect.any(Number), reason: 'overloaded' },
    });
  });

  test('of a run that is aborted end all of its spans', async () => {
    const collector = collect();
    const stop = new AbortController();
    const { agent } = scriptedAgent([{ delayMs: 60_000, text: 'late' }]);
    const running = agent.run('go', { signal: stop.signal });
    await expect.poll(() => agent.messages.length).toBe(1);
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('aborted');
    expect(collector.tree()).toEqual(['invoke_agent Tester', '  chat script']);
  });
});

describe('approvals', () => {
  test.each([
    ['allow', { allowed: true, by: 'approver', edited: false }, undefined],
    ['deny', { allowed: false, by: 'approver', edited: false }, 'ACCESS_DENIED'],
  ] as const)('an answer "%s" is an event of the tool call', async (answer, attributes, failure) => {
    const collector = collect();
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'done'], {
      tools: [add],
      access: { confirm: 'always' },
      approve: () => answer,
    });
    await agent.run('go');
    const span = collector.span('execute_tool');
    expect(span.events.map(({ name, attributes: about }) => [name, about])).toEqual([
      ['pocket_agent.approval.requested', { tool: 'add', capability: 'read' }],
      ['pocket_agent.approval.answered', attributes],
    ]);
    expect(span.attributes['error.type']).toBe(failure);
  });
});

describe('a router', () => {
  const down = Object.assign(new Error('overloaded'), { statusCode: 503, isRetryable: true });
  const newRouter = (options: RouterOptions) => {
    const router = new Router(options);
    onTestFinished(() => router.close());
    return router;
  };
  const models = (first: ScriptedModel, second: ScriptedModel) => [
    { modelName: 'smart', params: { id: 'first', model: first } },
    { modelName: 'smart', params: { id: 'second', model: second } },
  ];

  test.each(['run', 'stream'] as const)('shows each attempt of a %s', async (way) => {
    const collector = collect();
    const first = new ScriptedModel([{ error: down }], { provider: 'openai.chat', modelId: 'gpt-x' });
    const second = new ScriptedModel(['hello'], { provider: 'anthropic.messages', modelId: 'claude-x' });
    const router = newRouter({ random: () => 0, models: models(first, second) });
    const agent = new PocketAgent({ name: 'Tester', llmModel: 'smart', router, logger: silent });
    if (way === 'run') await agent.run('go');
    else for await (const _ of agent.stream('go'));
    expect(collector.tree()).toEqual([
      'invoke_agent Tester',
      '  chat smart',
      '    attempt first',
      '    attempt second',
    ]);
    expect(collector.span('attempt first').attributes).toMatchObject({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-x',
      'pocket_agent.router.deployment': 'first',
      'error.type': expect.any(String),
    });
    expect(collector.span('chat').attributes).toMatchObject({
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'smart',
      'gen_ai.response.model': 'claude-x',
    });
  });

  test('notes a fallback to another model', async () => {
    const collector = collect();
    const router = newRouter({
      models: [
        { modelName: 'smart', params: { id: 'first', model: new ScriptedModel([{ error: down }]) } },
        { modelName: 'small', params: { id: 'second', model: new ScriptedModel(['hello']) } },
      ],
      fallbacks: { smart: ['small'] },
      retries: 0,
    });
    await new PocketAgent({ llmModel: 'smart', router, logger: silent }).run('go');
    expect(collector.span('chat').events.map(({ name, attributes }) => [name, attributes?.to])).toEqual([
      ['pocket_agent.router.fallback', 'small'],
    ]);
  });
});

describe('content', () => {
  const script = () => [
    { toolCalls: [{ name: 'pay', arguments: { to: 'Grace Hopper', password: 'hunter2', note: 'card 4111-2222' } }] },
    { text: 'Paid to Grace.' },
  ];
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    inputSchema: { type: 'object' },
    run: () => 'receipt for Grace, key sk-abcdefghijklmnop1234567890',
  });
  const options = (traceContent: boolean) => ({
    tools: [pay],
    traceContent,
    agentConfig: { systemPrompt: 'Be kind to Grace.' },
    access: { redact: [/\d{4}-\d{4}/] },
  });

  test('is not shown by default, in no span, event or status', async () => {
    const collector = collect();
    await scriptedAgent(script(), options(false)).agent.run('Pay Grace');
    expect(collector.spans()).toHaveLength(4);
    expect(textOfSpans(collector.spans())).not.toMatch(/Grace|hunter2|4111|Paid|receipt/);
  });

  test('is shown with traceContent, as the conventions write it and redacted like the audit', async () => {
    const collector = collect();
    await scriptedAgent(script(), options(true)).agent.run('Pay Grace');
    const call = collector.span('execute_tool').attributes;
    const args = { to: 'Grace Hopper', password: '[redacted]', note: 'card [redacted]' };
    expect(JSON.parse(String(call['gen_ai.tool.call.arguments']))).toEqual(args);
    expect(call['gen_ai.tool.call.result']).toContain('receipt for Grace, key [redacted]');
    const chat = collector.spans().filter(({ name }) => name.startsWith('chat'))[1]?.attributes ?? {};
    expect(JSON.parse(String(chat['gen_ai.system_instructions']))).toEqual([
      { type: 'text', content: 'Be kind to Grace.' },
    ]);
    expect(JSON.parse(String(chat['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Pay Grace' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'call-1', name: 'pay', arguments: args }] },
      {
        role: 'tool',
        parts: [{ type: 'tool_call_response', id: 'call-1', result: 'receipt for Grace, key [redacted]' }],
      },
    ]);
    expect(JSON.parse(String(chat['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'Paid to Grace.' }], finish_reason: 'stop' },
    ]);
    expect(textOfSpans(collector.spans())).not.toMatch(/hunter2|4111|sk-abc/);
  });

  test('of a long conversation is cut to its newest messages', async () => {
    const collector = collect();
    const messages = Array.from({ length: 100 }, (_, index) => ({
      role: 'user' as const,
      content: [{ type: 'text' as const, text: `${index} ${'x'.repeat(30_000)}` }],
    }));
    const agentConfig = { messages };
    await scriptedAgent(['done'], { agentConfig, traceContent: true }).agent.run('the newest');
    const shown = String(collector.span('chat').attributes['gen_ai.input.messages']);
    expect(shown.length).toBeLessThan(250_000);
    expect(JSON.parse(shown).at(-1)).toEqual({ role: 'user', parts: [{ type: 'text', content: 'the newest' }] });
  });

  test('of a sub-agent is its own choice', async () => {
    const collector = collect();
    const child = new PocketAgent({ name: 'Child', llmModel: new ScriptedModel(['private words']), logger: silent });
    const ask = { toolCalls: [{ name: 'Child-message', arguments: { message: 'hello' } }] };
    await scriptedAgent([ask, 'done'], { subAgents: [child], traceContent: true }).agent.run('go');
    expect(collector.span('invoke_agent Child').attributes['gen_ai.output.messages']).toBeUndefined();
    expect(collector.span('invoke_agent Tester').attributes['gen_ai.output.messages']).toContain('done');
  });
});

describe('metrics', () => {
  test('count tokens, cost and durations by model, with the names and units of the conventions', async () => {
    const collector = collect();
    const model = new ScriptedModel(['hi'], { provider: 'openai.responses', modelId: 'gpt-x' });
    const prices = { 'gpt-x': { input: 1, output: 2 } };
    await new PocketAgent({ name: 'Desk', llmModel: model, prices, logger: silent }).run('go');
    const all = await collector.metrics();
    const about = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-x',
    };
    expect(all).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          name: 'gen_ai.client.token.usage',
          unit: '{token}',
          attributes: { ...about, 'gen_ai.token.type': 'input' },
          sum: 10,
        }),
        expect.objectContaining({
          name: 'gen_ai.client.token.usage',
          attributes: { ...about, 'gen_ai.token.type': 'output' },
          sum: 5,
        }),
        expect.objectContaining({ name: 'gen_ai.client.operation.duration', unit: 's', attributes: about, count: 1 }),
        expect.objectContaining({
          name: 'gen_ai.invoke_agent.duration',
          unit: 's',
          attributes: { 'gen_ai.agent.name': 'Desk' },
          count: 1,
        }),
        expect.objectContaining({ name: 'pocket_agent.client.cost', unit: 'USD', attributes: about }),
      ]),
    );
    expect(all.find(({ name }) => name.endsWith('cost'))?.sum).toBeCloseTo(20 / 1_000_000);
    const named = all.map(({ name }) => name).filter((name) => !name.startsWith('pocket_agent.'));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test('tell failed operations from others', async () => {
    const collector = collect();
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'fail' }] }, { error: new Error('down') }], {
      tools: [fail],
    });
    await expect(agent.run('go')).rejects.toThrow('down');
    const failed = (await collector.metrics()).filter(({ attributes }) => 'error.type' in attributes);
    expect(failed.map(({ name }) => name).sort()).toEqual([
      'gen_ai.client.operation.duration',
      'gen_ai.execute_tool.duration',
      'gen_ai.invoke_agent.duration',
    ]);
  });
});
