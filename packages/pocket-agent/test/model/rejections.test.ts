// Rejections by strict servers, loops that move to another model, and servers that are not model APIs.
import { type AgentEvent, type FunctionTool, PocketAgent, PocketError, Router, tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { API_KEY, type FakeAnswer } from '../fixtures/providers/fake-dialect.ts';
import { everyModel, FakeProviders, PIXEL } from '../fixtures/providers/fake-providers.ts';
import { silent } from '../helpers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => {
  vi.unstubAllGlobals();
  fake.reset();
});

const look: FunctionTool = tool({ name: 'look', description: 'Looks', run: () => 'a cat' });
const lookOnce: FakeAnswer = { reasoning: 'I should look.', toolCalls: [{ name: 'look', arguments: {} }] };

async function failureOf(run: Promise<unknown>): Promise<PocketError> {
  const error = await run.catch((reason: unknown) => reason);
  if (!(error instanceof PocketError)) throw new Error(`Expected a PocketError, got ${String(error)}`);
  return error;
}

describe.each(['mistral', 'groq'] as const)('%s through its copy of the OpenAI API', (vendor) => {
  test.each([false, true])(
    'is asked again without what it rejects, and then no more (streaming: %s)',
    async (streaming) => {
      const server = await FakeProviders.start();
      const config = { modelSettings: { baseUrl: server.baseUrl(vendor), apiKey: API_KEY } };
      // a rejection uses up an answer, so there are more of them than questions
      server.script(...Array.from({ length: 20 }, () => lookOnce));
      const agent = server.agent('openai-compatible/strict', { tools: [look], config, limits: { maxSteps: 2 } });
      await agent.run('Look.', { streaming }).catch(() => undefined);
      await agent.run('Look again.', { streaming }).catch(() => undefined);
      const rejections = server.rejected.length;
      await agent.run('And again.', { streaming }).catch(() => undefined);
      await agent.run('Once more.', { streaming }).catch(() => undefined);
      expect(server.rejected).toHaveLength(rejections);
      expect(agent.messages.filter(({ role }) => role === 'assistant')).toHaveLength(8);
      await server.close();
    },
  );

  test('accepts a conversation that Gemini began', async () => {
    fake.script(lookOnce, 'A cat.');
    const first = fake.agent('google/gemini-3-pro-preview', { tools: [look] });
    await first.run('What is there?');
    const messages = JSON.parse(JSON.stringify(first.messages));
    const server = await FakeProviders.start();
    server.script(...Array.from({ length: 8 }, () => 'Fine.'));
    const config = { modelSettings: { baseUrl: server.baseUrl(vendor), apiKey: API_KEY }, messages };
    const next = server.agent('openai-compatible/strict', { tools: [look], config });
    expect(await next.run('And now?')).toBe('Fine.');
    const rejections = server.rejected.length;
    expect(await next.run('Sure?')).toBe('Fine.');
    expect(server.rejected).toHaveLength(rejections);
    await server.close();
  });
});

test.each([
  ['openai/gpt-5.1', "Unsupported parameter: 'reasoning.effort' is not supported with this model."],
  ['openai/gpt-5.1', "Invalid value: 'reasoning.summary' is not supported."],
  ['anthropic/claude-sonnet-4-5', '"thinking.type.enabled" is not supported for this model.'],
])('a setting that %s rejects is an error, and nothing is left out: %s', async (model, message) => {
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, warn: (text: string) => void warnings.push(text), error() {} };
  const agent = fake.agent(model, { tools: [look], logger });
  fake.script(lookOnce, { status: 400, message });
  const before = fake.requests.length;
  expect(await failureOf(agent.run('Look.'))).toMatchObject({
    code: 'MODEL_FAILED',
    message: expect.stringContaining(message),
  });
  expect([warnings, fake.requests.length - before]).toEqual([[], 2]);
});

describe('Claude 4.5 with thinking on', () => {
  const thinking = { reasoning: 'high' } as const;

  test.each([false, true])('continues a loop that another model began (streaming: %s)', async (streaming) => {
    const deployment = (modelName: string, model: string, provider: 'openai' | 'anthropic') => ({
      modelName,
      params: { model, baseUrl: fake.baseUrl(provider), apiKey: API_KEY, id: modelName },
    });
    const router = new Router({
      models: [
        deployment('main', 'openai/gpt-5.1', 'openai'),
        deployment('claude', 'anthropic/claude-sonnet-4-5', 'anthropic'),
      ],
      fallbacks: { main: ['claude'] },
      retries: 0,
      logger: silent,
    });
    fake.script(lookOnce, { status: 500 }, 'It is a cat.', 'Fine.');
    const config = { llmModel: 'main', modelSettings: undefined, completionOptions: thinking };
    const agent = fake.agent('openai/gpt-5.1', { tools: [look], router, config });
    expect(await agent.run('What is there?', { streaming })).toBe('It is a cat.');
    expect(fake.lastBody.at('thinking').exists).toBe(false);
    expect(await agent.run('And now?', { streaming })).toBe('Fine.');
    expect(fake.rejected).toEqual([]);
  });

  test('keeps thinking in a loop of its own, and after the turn', async () => {
    fake.script(lookOnce, 'It is a cat.', 'Fine.');
    const agent = fake.agent('anthropic/claude-sonnet-4-5', { tools: [look], config: { completionOptions: thinking } });
    await agent.run('What is there?');
    expect(fake.lastBody.at('thinking', 'type').text).toBe('enabled');
    await agent.run('And now?');
    expect(fake.lastBody.at('thinking', 'type').text).toBe('enabled');
    expect(fake.rejected).toEqual([]);
  });
});

describe('a server that answers with a web page', () => {
  const page = '<!doctype html><html><body>Welcome!</body></html>';

  test.each([
    ['run', 404],
    ['stream', 404],
    ['run', 200],
    ['stream', 200],
    ['run', 501],
    ['stream', 501],
  ] as const)('is reported without a retry (%s, HTTP %i)', async (how, status) => {
    fake.script({ status, errorBody: page });
    const agent = fake.agent('openai-compatible/local-model');
    const error = await failureOf(agent.run('Hello', { streaming: how === 'stream' }));
    expect(error.message).toContain('sent a web page');
    expect(error.message).toContain('Check the base URL');
    expect(error.details.attempts).toBe(1);
  });

  test('is called again if its gateway is down for a moment', async () => {
    fake.script({ status: 502, errorBody: page, headers: { 'retry-after-ms': '1' } }, 'Hello.');
    expect(await fake.agent('openai-compatible/local-model').run('Hello')).toBe('Hello.');
  });
});

test('an unknown host is reported without retries', async () => {
  const gone = Object.assign(new Error('getaddrinfo ENOTFOUND nowhere.test'), { code: 'ENOTFOUND' });
  const asked = vi.fn(() => Promise.reject(new TypeError('fetch failed', { cause: gone })));
  vi.stubGlobal('fetch', asked);
  const error = await failureOf(fake.agent('openai-compatible/local-model').run('Hello'));
  expect(error.message).toContain('ENOTFOUND nowhere.test');
  expect(asked).toHaveBeenCalledTimes(1);
});

test('a port that fetch blocks is reported without retries', async () => {
  const config = { modelSettings: { baseUrl: 'http://127.0.0.1:9/v1' } };
  const error = await failureOf(fake.agent('openai-compatible/local-model', { config }).run('Hello'));
  expect(error.message).toContain('bad port');
  expect(error.details.attempts).toBe(1);
});

test('a server that was silent is not called again, because it may bill the call', async () => {
  const silence = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
  const asked = vi.fn(() => Promise.reject(new TypeError('fetch failed', { cause: silence })));
  vi.stubGlobal('fetch', asked);
  const error = await failureOf(fake.agent('openai/gpt-5.1').run('Hello'));
  expect(error.message).toContain('may bill the call');
  expect(asked).toHaveBeenCalledTimes(1);
});

test('a router calls a silent deployment only once, because it may bill the call', async () => {
  const silence = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
  const asked = vi.fn((_url: string) => Promise.reject(new TypeError('fetch failed', { cause: silence })));
  vi.stubGlobal('fetch', asked);
  const deployment = (id: string) => ({
    modelName: 'main',
    params: { model: 'openai/gpt-5.1', baseUrl: `http://${id}.test/v1`, apiKey: API_KEY, id },
  });
  const router = new Router({ models: [deployment('a'), deployment('b')], logger: silent });
  const agent = new PocketAgent({ agentConfig: { llmModel: 'main' }, router, logger: silent });
  expect((await failureOf(agent.run('Hello'))).message).toContain('Headers Timeout');
  expect(asked.mock.calls.map(([url]) => new URL(url).host).sort()).toEqual(['a.test', 'b.test']);
});

test.each([
  [{ message: 'the model is not loaded' }, 'the model is not loaded'],
  [{ detail: 'context length is 8192' }, 'context length is 8192'],
  [
    { detail: [{ loc: ['body', 'top_k'], msg: 'Extra inputs are not permitted' }] },
    'body.top_k: Extra inputs are not permitted',
  ],
  [{ error: 'model "x" not found' }, 'model "x" not found'],
  [{ object: 'error', message: { detail: [{ loc: ['body'], msg: 'bad' }] } }, 'body: bad'],
  [{}, 'Bad Request'],
])('an error body %j is shown', async (errorBody, text) => {
  for (const { model } of everyModel) {
    fake.script({ status: 400, errorBody });
    expect((await failureOf(fake.agent(model).run('Hello'))).message).toContain(text);
  }
});

type Retry = Extract<AgentEvent, { type: 'model_retry' }>['data'];

function watched(model: string): { agent: PocketAgent; retries: Retry[] } {
  const retries: Retry[] = [];
  const onEvent = (event: AgentEvent) => {
    if (event.type === 'model_retry') retries.push(event.data);
  };
  return { agent: fake.agent(model, { hooks: { onEvent } }), retries };
}

test('Gemini says in its body how long to wait', async () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.002s' }];
  const errorBody = { error: { code: 429, message: 'Quota.', status: 'RESOURCE_EXHAUSTED', details } };
  fake.script({ status: 429, errorBody }, 'At last.');
  const { agent, retries } = watched('google/gemini-2.5-flash');
  expect(await agent.run('Hello')).toBe('At last.');
  expect(retries).toMatchObject([{ delayMs: 2 }]);
});

test.each([false, true])(
  'a request is repeated if Gemini could not read the tool call (streaming: %s)',
  async (streaming) => {
    fake.script({ rawFinish: 'MALFORMED_FUNCTION_CALL' }, 'At last.');
    const { agent, retries } = watched('google/gemini-2.5-flash');
    expect(await agent.run('Hello', { streaming })).toBe('At last.');
    expect(retries).toHaveLength(1);
    // the attempt that failed was paid for
    expect(agent.totals.usage).toMatchObject({ inputTokens: 24, outputTokens: 14 });
  },
);

test('the cost of a stream that failed midway is in the totals', async () => {
  fake.script({ text: 'Half an answer.', streamError: { after: 'delta', message: 'Overloaded' } });
  const agent = fake.agent('anthropic/claude-sonnet-4-5');
  await failureOf(agent.run('Hello', { streaming: true }));
  expect(agent.totals.usage).toMatchObject({ modelCalls: 1, outputTokens: expect.toSatisfy((tokens) => tokens > 0) });
});

test('a request above the limit per minute is not retried', async () => {
  const message = 'Request too large for gpt-5.1 on tokens per min (TPM): Limit 30000, Requested 40000.';
  fake.script({ status: 429, message, errorCode: 'rate_limit_exceeded' });
  const { agent, retries } = watched('openai/gpt-5.1');
  expect((await failureOf(agent.run('Hello'))).message).toContain('Request too large');
  expect(retries).toEqual([]);
});

test.each([false, true])(
  'an option that a provider package leaves out is logged once (streaming: %s)',
  async (streaming) => {
    const warnings: string[] = [];
    const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
    const schema = { type: 'object', properties: { city: { type: 'string' } } } as const;
    const config = { completionOptions: { responseFormat: { type: 'json', schema } as const } };
    fake.script('{}', '{}');
    const agent = fake.agent('openai-compatible/local-model', { config, logger });
    await agent.run('Hello', { streaming });
    await agent.run('And now?', { streaming });
    expect(warnings).toEqual([
      expect.stringMatching(/local-model does not support responseFormat, which is left out: JSON .* schema/),
    ]);
  },
);

describe.each([false, true])('an unfinished answer (streaming: %s)', (streaming) => {
  test('a turn that Claude paused is continued', async () => {
    fake.script({ text: 'I have searched', rawFinish: 'pause_turn' }, 'and found it.');
    const agent = fake.agent('anthropic/claude-sonnet-4-5');
    expect(await agent.run('Search.', { streaming })).toBe('and found it.');
    expect(fake.lastBody.at('messages').list.map((message) => message.at('role').text)).toEqual(['user', 'assistant']);
  });

  test('an answer that Gemini broke off is not final', async () => {
    fake.script({ text: 'Half an', rawFinish: 'OTHER' });
    const error = await failureOf(fake.agent('google/gemini-3-pro-preview').run('Tell.', { streaming }));
    expect(error).toMatchObject({ code: 'ANSWER_CUT_OFF', details: { text: 'Half an' } });
  });

  test('a full context window is an error', async () => {
    fake.script({ text: 'Half an', rawFinish: 'model_context_window_exceeded' });
    const error = await failureOf(fake.agent('anthropic/claude-sonnet-4-5').run('Tell.', { streaming }));
    expect(error.code).toBe('ANSWER_CUT_OFF');
    expect(error.message).toContain('larger window');
    expect(error.message).not.toContain('maxOutputTokens');
  });
});

test.each(everyModel)('$model: a rejected image is left out, and the next one is sent', async ({ model }) => {
  fake.script({ status: 400, message: 'Could not process image' }, 'Nothing.', 'A dot.');
  const agent = fake.agent(model, { config: { allowImages: true } });
  expect(await agent.run({ text: 'Look.', images: [PIXEL] })).toBe('Nothing.');
  expect(`${fake.lastBody}`).not.toContain(PIXEL);
  expect(await agent.run({ text: 'And this?', images: [`${PIXEL.slice(0, -4)}AAAA`] })).toBe('A dot.');
  expect(`${fake.lastBody}`).toContain(`${PIXEL.slice(0, -4)}AAAA`);
  expect(`${fake.lastBody}`).toContain('the provider rejected it');
});
