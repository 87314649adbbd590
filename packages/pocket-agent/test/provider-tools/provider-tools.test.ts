// Tools that the provider of the model runs: offered by profile, and seen in events, audit, budget and history.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { type AgentEvent, PocketAgent, type PocketAgentOptions, type ProviderTool, Router, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { FakeAnswer, Json } from '../fixtures/providers/fake-dialect.ts';
import { FakeProviders } from '../fixtures/providers/fake-providers.ts';
import { add, silent } from '../helpers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

const claudeSearch: ProviderTool = {
  id: 'anthropic.web_search_20250305',
  args: { maxUses: 3, allowedDomains: ['example.com'] },
  capability: 'read',
};
const gptSearch: ProviderTool = { id: 'openai.web_search', capability: 'read' };
const geminiCode: ProviderTool = { id: 'google.code_execution', capability: 'create' };

const found = { type: 'web_search_result', url: 'https://example.com', title: 'An example', encrypted_content: 'abc' };
const claudeSearched: FakeAnswer = {
  serverBlocks: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'example' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ ...found, page_age: null }] },
  ],
  text: 'Found it.',
};
const secondSearch = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'web_search', input: { query: 'more' } };
const gptSearched: FakeAnswer = {
  serverBlocks: [{ type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'example' } }],
  text: 'Found it.',
};
const geminiComputed: FakeAnswer = {
  serverBlocks: [
    { type: 'code', executableCode: { language: 'PYTHON', code: 'print(6 * 7)' } },
    { type: 'result', codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
  ],
  text: 'Found it.',
};

const claudeCode: ProviderTool = { id: 'anthropic.code_execution_20250825', capability: 'create' };
const claudeComputed: FakeAnswer = {
  serverBlocks: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'bash_code_execution', input: { command: 'echo $((6 * 7))' } },
    {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'bash_code_execution_result', stdout: '42\n', stderr: '', return_code: 0, content: [] },
    },
  ],
  text: 'Found it.',
};
const gptCode: ProviderTool = { id: 'openai.code_interpreter', capability: 'create' };
const gptComputed: FakeAnswer = {
  serverBlocks: [
    {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      container_id: 'cntr_1',
      code: 'print("6 * 7 =", 6 * 7)',
      outputs: [{ type: 'logs', logs: '6 * 7 = 42\n' }],
    },
  ],
  text: 'Found it.',
};
const geminiSearch: ProviderTool = { id: 'google.google_search', capability: 'read' };
const geminiSearched: FakeAnswer = {
  serverBlocks: [
    {
      type: 'grounding',
      webSearchQueries: ['6 * 7'],
      searchEntryPoint: { renderedContent: '<div>42</div>' },
      groundingChunks: [{ web: { uri: 'https://example.com/42', title: 'example.com' } }],
      groundingSupports: [{ segment: { startIndex: 0, endIndex: 9, text: 'Found it.' }, groundingChunkIndices: [0] }],
    },
  ],
  text: 'Found it.',
};

const cases = [
  { model: 'anthropic/claude-sonnet-4-5', providerTool: claudeSearch, answer: claudeSearched, name: 'web_search' },
  { model: 'gpt-5.1', providerTool: gptSearch, answer: gptSearched, name: 'web_search' },
  { model: 'google/gemini-3-pro-preview', providerTool: geminiCode, answer: geminiComputed, name: 'code_execution' },
  {
    model: 'anthropic/claude-sonnet-4-5',
    providerTool: claudeCode,
    answer: claudeComputed,
    name: 'code_execution',
    shows: ['echo $((6 * 7))', '"stdout":"42'],
  },
  {
    model: 'gpt-5.1',
    providerTool: gptCode,
    answer: gptComputed,
    name: 'code_interpreter',
    shows: ['print(\\"6 * 7 =', '6 * 7 = 42'],
  },
  {
    model: 'google/gemini-3-pro-preview',
    providerTool: geminiSearch,
    answer: geminiSearched,
    name: 'google_search',
    shows: ['6 * 7', 'https://example.com/42'],
  },
];

/** The tools of the last request, by their type or, for Gemini, by their key. */
function offered(body: Json = fake.lastBody): string[] {
  return body.at('tools').list.flatMap((tool) => {
    const type = tool.at('type').text || tool.at('name').text;
    return type || Object.keys(tool.value ?? {});
  });
}

describe.each(cases)('$model with $providerTool.id', ({ model, providerTool, answer, name, shows = [] }) => {
  test.each(['run', 'stream'] as const)('shows the call in events and history, and goes on (%s)', async (how) => {
    fake.script(answer, 'As I said.');
    const events: AgentEvent[] = [];
    const agent = fake.agent(model, { providerTools: [providerTool], tools: [add] });
    const onEvent = (event: AgentEvent) => void events.push(event);
    const streaming = how === 'stream';
    expect(await agent.run('Search.', { onEvent, streaming })).toBe('Found it.');
    expect(fake.rejected).toEqual([]);
    expect(offered()).toHaveLength(2);
    const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event.data] : []));
    const results = events.flatMap((event) => (event.type === 'tool_result' ? [event.data] : []));
    expect(calls).toMatchObject([{ toolName: name, providerExecuted: true }]);
    expect(results).toMatchObject([{ toolName: name, providerExecuted: true, toolCallId: calls[0]?.toolCallId }]);
    const [call, result] = [calls[0]?.arguments, results[0]?.toolResultContent];
    expect([JSON.stringify(call), JSON.stringify(result).replaceAll('\\"', '"')]).toEqual(
      ['', ''].map((_, index) => expect.stringContaining(shows[index] ?? '')),
    );
    const content = agent.messages.at(1)?.content ?? [];
    const types = content.map(({ type }) => type).filter((type) => type !== 'custom');
    expect(types).toEqual(['tool-call', 'tool-result', 'text']);
    // what the provider ran goes back to it, and the conversation can be saved
    expect(await agent.run('Sure?')).toBe('As I said.');
    expect(fake.rejected).toEqual([]);
    expect(JSON.parse(JSON.stringify(agent.messages))).toEqual(agent.messages);
    expect(agent.totals.usage.toolCalls).toBe(1);
    expect(agent.totals.byTool[name]).toMatchObject({ calls: 1 });
  });

  test('is shown while the model streams, before its text', async () => {
    fake.script(answer);
    const events: string[] = [];
    const agent = fake.agent(model, { providerTools: [providerTool] });
    for await (const { type } of agent.stream('Search.')) events.push(type);
    const [call, result, text] = ['tool_call', 'tool_result', 'text_delta'].map((type) => events.indexOf(type)) as [
      number,
      number,
      number,
    ];
    expect(call).toBeLessThan(result);
    // Gemini says only at the end that it has searched
    expect(result < text).toBe(name !== 'google_search');
    expect(events.filter((type) => type.startsWith('tool_'))).toEqual(['tool_call', 'tool_result']);
  });

  test('is offered only if the profile allows its capability', async () => {
    const { capability } = providerTool;
    const read = fake.agent(model, { providerTools: [providerTool], access: { profile: 'reader' } });
    fake.script('Hello.');
    await read.run('Hi.');
    expect(offered()).toHaveLength(capability === 'read' ? 1 : 0);
    const admin = fake.agent(model, { providerTools: [providerTool] });
    fake.script('One.', 'Two.');
    await admin.run('Hi.', { profile: { capabilities: ['read', 'create'], deny: [name] } });
    expect(offered()).toEqual([]);
    await admin.run('Hi.');
    expect(offered()).toHaveLength(1);
  });
});

test('a stream that breaks off after a call fails the run, because the provider may bill the call', async () => {
  fake.script({ ...claudeSearched, text: '', endAfter: 9 });
  const events: string[] = [];
  const agent = fake.agent('anthropic/claude-sonnet-4-5', { providerTools: [claudeSearch] });
  const onEvent = ({ type }: AgentEvent) => void events.push(type);
  const failed = await agent.run('Search.', { onEvent }).catch((error: { code: string }) => error.code);
  expect(failed).toMatch(/MODEL_FAILED|ANSWER_CUT_OFF/);
  expect(fake.requests).toHaveLength(1);
  expect(events).toContain('tool_call');
  expect(events).not.toContain('model_retry');
});

test('a call with the id of an earlier one has the same new id in events and history', async () => {
  fake.script(claudeSearched, claudeSearched);
  const agent = fake.agent('anthropic/claude-sonnet-4-5', { providerTools: [claudeSearch] });
  const ids: string[] = [];
  const onEvent = (event: AgentEvent) => {
    if (event.type === 'tool_call' || event.type === 'tool_result') ids.push(event.data.toolCallId);
  };
  await agent.run('Search.', { onEvent });
  await agent.run('Again.', { onEvent });
  const saved = agent.messages.flatMap(({ content }) =>
    content.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])),
  );
  expect(saved.slice(0, 2)).toEqual(['srvtoolu_1', 'srvtoolu_1']);
  expect(new Set(saved).size).toBe(2);
  expect(ids).toEqual(saved);
});

test('previews of an image that a provider draws are not results', async () => {
  const image = { type: 'image_generation_call', id: 'ig_1', result: 'QUJDREVGRw==' };
  fake.script({ serverBlocks: [image], text: 'Drawn.' });
  const drawing: ProviderTool = { id: 'openai.image_generation', args: { partialImages: 1 }, capability: 'create' };
  const results: unknown[] = [];
  const onEvent = (event: AgentEvent) => void (event.type === 'tool_result' && results.push(event.data));
  const agent = fake.agent('gpt-5.1', { providerTools: [drawing] });
  expect(await agent.run('Draw.', { onEvent })).toBe('Drawn.');
  expect(JSON.stringify(results)).toContain('QUJDREVGRw==');
  expect(results).toHaveLength(1);
  expect(agent.messages[1]?.content.map(({ type }) => type)).toEqual(['tool-call', 'tool-result', 'text']);
});

test('the settings of the tool reach the provider, also from a tool object of its package', async () => {
  fake.script('One.', 'Two.');
  const { tools } = createAnthropic({ apiKey: 'x' });
  const made = {
    ...tools.webSearch_20250305({ maxUses: 3, allowedDomains: ['example.com'] }),
    capability: 'read',
  } as const;
  for (const providerTool of [claudeSearch, made as ProviderTool]) {
    await fake.agent('anthropic/claude-sonnet-4-5', { providerTools: [providerTool] }).run('Hi.');
    expect(fake.lastBody.at('tools', 0).value).toMatchObject({
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 3,
      allowed_domains: ['example.com'],
    });
  }
});

test('forks offer it, and listTools() lists it', async () => {
  fake.script('One.');
  const agent = fake.agent('gpt-5.1', { providerTools: [gptSearch] });
  await agent.fork().run('Hi.');
  expect(offered()).toEqual(['web_search']);
  expect(await agent.listTools()).toMatchObject([{ name: 'web_search', capability: 'read', from: 'config' }]);
});

describe('a profile that may do less than a reader', () => {
  const nothing = { capabilities: [] } as const;

  test('is offered no tool of the provider, wherever the profile is set', async () => {
    const options = { providerTools: [gptSearch], tools: [add] };
    fake.script('One.', 'Two.', 'Three.', 'Four.');
    await fake.agent('gpt-5.1', { ...options, access: { profile: nothing } }).run('Hi.');
    await fake.agent('gpt-5.1', options).run('Hi.', { profile: nothing });
    await fake.agent('gpt-5.1', { ...options, access: { profile: nothing } }).run('Hi.', { profile: 'admin' });
    await fake
      .agent('gpt-5.1', { ...options, access: { profile: nothing }, exposure: 'direct' })
      .fork()
      .run('Hi.');
    expect(fake.requests.map(({ body }) => offered(body))).toEqual([[], [], [], []]);
  });

  test('cannot get it through a choice, a hook or another tool', async () => {
    const call = (name: string) => ({ toolCalls: [{ name, arguments: {} }] });
    fake.script(call('web_search'), call('relay'), 'Done.');
    const audit: unknown[] = [];
    const relay = tool({
      name: 'relay',
      description: 'Calls the search',
      capability: 'read',
      run: async (_, { tools }) => String(await tools?.call('web_search', {}).catch((error: Error) => error.message)),
    });
    const agent = fake.agent('gpt-5.1', {
      providerTools: [gptSearch],
      tools: [relay],
      access: { profile: { ...nothing, allow: ['relay'] } },
      hooks: {
        onEvent: ({ type, data }) => void (type === 'audit' && audit.push(data)),
        preToolCall: (_context, made) => (made.name === 'relay' ? undefined : { ...made, name: 'web_search' }),
      },
    });
    await agent.run('Hi.');
    expect(fake.requests.flatMap(({ body }) => offered(body))).toEqual(['function', 'function', 'function']);
    expect(audit).toMatchObject([
      { tool: 'web_search', outcome: 'not run' },
      { tool: 'web_search', outcome: 'not run', via: 'tool' },
      { tool: 'relay', outcome: 'done' },
    ]);
  });

  test('reads in the audit and the log what a provider ran although it was not offered', async () => {
    fake.script(claudeSearched);
    const audit: unknown[] = [];
    const warnings: string[] = [];
    const agent = fake.agent('anthropic/claude-sonnet-4-5', {
      providerTools: [claudeSearch],
      access: { profile: nothing },
      logger: { ...silent, warn: (text: string) => void warnings.push(text) },
      hooks: { onEvent: ({ type, data }) => void (type === 'audit' && audit.push(data)) },
    });
    await agent.run('Search.');
    const reason = 'the provider of the model ran it, although it was not offered';
    expect(audit).toMatchObject([{ tool: 'web_search', outcome: 'done', reason }]);
    expect(warnings).toEqual([expect.stringContaining('ran "web_search", which was not offered')]);
  });
});

test('a sub-agent does not offer what its parent agent may not use', async () => {
  fake.script({ toolCalls: [{ name: 'Tester-message', arguments: { message: 'Hi' } }] }, 'Inner.', 'Outer.');
  const inner = fake.agent('gpt-5.1', { providerTools: [{ ...gptSearch, capability: 'create' }] });
  const outer = fake.agent('gpt-5.1', { subAgents: [inner], access: { profile: 'reader' }, config: { name: 'Outer' } });
  expect(await outer.run('Go.')).toBe('Outer.');
  expect(fake.requests.map(({ body }) => offered(body))).toEqual([['function'], [], ['function']]);
});

describe('models of other providers', () => {
  const warnings: string[] = [];
  const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
  afterEach(() => void warnings.splice(0));

  test.each([
    ['gpt-5.1', 'it is a tool of anthropic'],
    ['ollama/qwen3:8b', 'it is a tool of anthropic'],
    ['google/gemini-3-pro-preview', 'it is a tool of anthropic'],
  ])('%s does not get a tool of Anthropic, with one warning', async (model, reason) => {
    fake.script('One.', 'Two.');
    const agent = fake.agent(model, { providerTools: [claudeSearch], tools: [add], logger });
    await agent.run('Hi.');
    await agent.run('Hi.');
    expect(fake.rejected).toEqual([]);
    expect(`${fake.lastBody.at('tools')}`).not.toContain('web_search');
    expect(`${fake.lastBody.at('tools')}`).toContain('add');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('does not get the provider tool "anthropic.web_search_20250305"');
    expect(warnings[0]).toContain(reason);
  });

  test('the chat completions API does not get tools of OpenAI', async () => {
    fake.script('One.');
    await fake.agent('openai-chat/gpt-5.1', { providerTools: [gptSearch], logger }).run('Hi.');
    expect(fake.lastBody.at('tools').exists).toBe(false);
    expect(warnings).toHaveLength(1);
  });

  test('Gemini 2 keeps its functions and does not get the tool; without functions it gets it', async () => {
    fake.script('One.', 'Two.');
    const agent = fake.agent('google/gemini-2.5-flash', { providerTools: [geminiCode], tools: [add], logger });
    await agent.run('Hi.');
    expect(offered()).toEqual(['functionDeclarations']);
    expect(warnings[0]).toContain('Gemini before version 3 takes either functions or tools of its provider');
    await fake.agent('google/gemini-2.5-flash', { providerTools: [geminiCode], logger }).run('Hi.');
    expect(offered()).toEqual(['codeExecution']);
  });

  test('a router offers it to the deployments that can take it', async () => {
    const models = ['anthropic/claude-sonnet-4-5', 'gpt-5.1'].map((name) => {
      const { llmModel, modelSettings } = fake.modelConfig(name);
      return { modelName: 'both', params: { model: llmModel, ...modelSettings, rpm: 100 } };
    });
    const router = new Router({ models, logger: silent, strategy: 'usage-based' });
    onTestFinished(() => router.close());
    const agent = new PocketAgent({ llmModel: 'both', router, logger, providerTools: [claudeSearch] });
    fake.script('One.', 'Two.');
    await agent.run('Hi.');
    await agent.fork().run('Hello.');
    const byProvider = Object.fromEntries(fake.requests.map(({ provider, body }) => [provider, offered(body)]));
    expect(byProvider).toEqual({ anthropic: ['web_search_20250305'], openai: [] });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('gpt-5.1');
  });
});

test('a tool that needs an approval is not offered, because the provider runs it without asking', async () => {
  fake.script('One.', 'Two.');
  const options: Partial<PocketAgentOptions> = { providerTools: [geminiCode], approve: () => 'allow' };
  await fake.agent('google/gemini-3-pro-preview', { ...options, access: { confirm: 'write' } }).run('Hi.');
  expect(offered()).toEqual([]);
  await fake.agent('google/gemini-3-pro-preview', { ...options, access: { confirm: 'destructive' } }).run('Hi.');
  expect(offered()).toEqual(['codeExecution']);
});

test('calls are audited with their capability, and failed ones as failed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pocket-audit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const auditFile = join(folder, 'audit.jsonl');
  const failed = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };
  fake.script({
    serverBlocks: [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a', password: 'hush' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: failed },
    ],
    text: 'It failed.',
  });
  const agent = fake.agent('anthropic/claude-sonnet-4-5', { providerTools: [claudeSearch], access: { auditFile } });
  await agent.run('Search.', { caller: 'ann' });
  await agent.close();
  const records = (await readFile(auditFile, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(records).toMatchObject([
    { tool: 'web_search', caller: 'ann', capability: 'read', decision: 'allowed', outcome: 'failed' },
  ]);
  expect(JSON.stringify(records)).not.toContain('hush');
});

test('calls above maxToolCalls end the run after the answer', async () => {
  fake.script({ ...claudeSearched, serverBlocks: [...(claudeSearched.serverBlocks ?? []), secondSearch] });
  const options = { providerTools: [claudeSearch], limits: { maxToolCalls: 1 } };
  const agent = fake.agent('anthropic/claude-sonnet-4-5', options);
  await expect(agent.run('Search.')).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
  expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
});

test('calls count for maxToolCalls, and functions of the same answer are still answered', async () => {
  const call = { type: 'server_tool_use', name: 'web_search', input: { query: 'a' } };
  fake.script({
    serverBlocks: [1, 2].map((number) => ({ ...call, id: `srvtoolu_${number}` })),
    toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }],
  });
  const agent = fake.agent('anthropic/claude-sonnet-4-5', {
    providerTools: [claudeSearch],
    tools: [add],
    limits: { maxToolCalls: 1 },
  });
  await expect(agent.run('Search.')).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
  expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
});

test('a call that the provider did not run is answered with an error', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'web_search', arguments: {} }] }, 'Sorry.'], {
    provider: 'anthropic.messages',
  });
  const agent = new PocketAgent({ llmModel: model, providerTools: [claudeSearch], logger: silent });
  expect(await agent.run('Search.')).toBe('Sorry.');
  expect(JSON.stringify(agent.messages[2])).toContain(
    'is run by the provider of the model, which did not run this call',
  );
});

test('a tool of another source with the same name is renamed, and both work', async () => {
  fake.script(claudeSearched);
  const own = { ...add.definition, name: 'web_search' };
  const source = { name: 'own', listTools: () => [own], callTool: async () => ({ content: [] }) };
  const agent = fake.agent('anthropic/claude-sonnet-4-5', { providerTools: [claudeSearch], tools: [source] });
  await agent.run('Search.');
  const names = fake.lastBody.at('tools').list.map((tool) => tool.at('name').text);
  expect(names[0]).toBe('web_search');
  expect(names[1]).toMatch(/^web_search_[0-9a-f]{6}$/);
});

test.each([
  ['without an id', { capability: 'read' }, 'needs an id such as "anthropic.web_search_20250305"'],
  ['without a provider', { id: 'web_search', capability: 'read' }, 'needs an id such as'],
  ['without a capability', { id: 'openai.web_search' }, "needs a capability, such as capability: 'read'"],
  ['with an unknown capability', { id: 'openai.web_search', capability: 'raed' }, 'did you mean "read"?'],
  ['with a misspelt option', { id: 'openai.web_search', capabilty: 'read' }, 'Did you mean "capability"?'],
  ['run by the program', { id: 'anthropic.bash_20250124', capability: 'delete' }, 'is run by your program'],
])('a provider tool %s is refused', (_what, providerTool, message) => {
  const options = { llmModel: 'demo', providerTools: [providerTool] } as unknown as PocketAgentOptions;
  expect(() => new PocketAgent(options)).toThrow(message);
});
