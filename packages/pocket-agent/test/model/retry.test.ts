// What is retried, how often and after what time, and what is not.
import { type AgentEvent, type FunctionTool, PocketAgent, PocketError, Router, tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeProviders, models } from '../fixtures/providers/fake-providers.ts';
import { RecordingEndpoint } from '../fixtures/providers/recording-endpoint.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

const soon = { 'retry-after-ms': '1' };
const oncePerDialect = models.filter(({ model }) => model !== 'gpt-5.1' && !model.startsWith('azure/'));

async function failureOf(run: Promise<unknown>): Promise<PocketError> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof PocketError)) throw new Error(`Expected a PocketError, got ${String(error)}`);
  return error;
}

type Retry = Extract<AgentEvent, { type: 'model_retry' }>['data'];

/** An agent and the retries that it reports. */
function watched(
  model: string,
  modelRetries?: number,
  server = fake,
  tools: FunctionTool[] = [],
): { agent: PocketAgent; retries: Retry[] } {
  const retries: Retry[] = [];
  const onEvent = (event: AgentEvent) => {
    if (event.type === 'model_retry') retries.push(event.data);
  };
  const limits = modelRetries === undefined ? {} : { modelRetries };
  return { agent: server.agent(model, { hooks: { onEvent }, limits, tools }), retries };
}

async function streamed(agent: PocketAgent): Promise<{ answer: string; text: string }> {
  let text = '';
  const events = agent.stream('Hello');
  for (;;) {
    const { value, done } = await events.next();
    if (done) return { answer: value, text };
    if (value.type === 'text_delta') text += value.data.delta;
  }
}

describe.each(oncePerDialect)('$model', ({ model }) => {
  test.each([429, 500, 503, 529])('HTTP %i is retried after the time the provider asks for', async (status) => {
    fake.script({ status, headers: soon, message: 'Too busy.' }, { status, headers: soon }, 'At last.');
    const { agent, retries } = watched(model);
    expect(await agent.run('Hello')).toBe('At last.');
    expect(retries).toMatchObject([
      { attempt: 1, delayMs: 1, reason: expect.stringContaining('Too busy.') },
      { attempt: 2, delayMs: 1 },
    ]);
    expect(agent.messages).toHaveLength(2);
  });

  test('a stream that fails after its first delta is not retried', async () => {
    fake.script({ text: 'Half an answer.', streamError: { after: 'delta', message: 'Overloaded' } });
    const { agent, retries } = watched(model);
    const error = await failureOf(streamed(agent));
    expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { text: 'Half ', attempts: 1 } });
    expect(error.message).toContain('Overloaded');
    expect(retries).toEqual([]);
    fake.script('All is well.');
    expect(await agent.run('Again?')).toBe('All is well.');
    expect(fake.rejected).toEqual([]);
  });

  test('a stream that ends early after its first delta is an answer that was cut off', async () => {
    fake.script({ text: 'Half an answer.', endEarly: 'midway' });
    const error = await failureOf(streamed(watched(model).agent));
    expect(error).toMatchObject({ code: 'ANSWER_CUT_OFF', details: { text: 'Half ' } });
  });

  test('a bad request is not retried, and the error quotes the provider', async () => {
    fake.script({ status: 400, message: 'max_tokens is too large: 9999999.' });
    const { agent, retries } = watched(model);
    const error = await failureOf(agent.run('Hello'));
    expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { attempts: 1, statusCode: 400 } });
    expect(error.message).toContain('max_tokens is too large: 9999999.');
    expect(retries).toEqual([]);
    expect(fake.requests).toHaveLength(1);
  });
});

// each waits out a real backoff, so they do it side by side, with a server each
test.concurrent.each(oncePerDialect)('$model: a stream that fails before its first delta is retried', async (each) => {
  const own = await FakeProviders.start();
  own.script(
    { text: 'Never.', streamError: { after: 'nothing', message: 'Overloaded' } },
    { status: 503, headers: soon },
    'At last, an answer.',
  );
  const { agent, retries } = watched(each.model, undefined, own);
  expect(await streamed(agent)).toEqual({ answer: 'At last, an answer.', text: 'At last, an answer.' });
  expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(retries[0]?.reason).toContain('Overloaded');
  await own.close();
});

test.concurrent.each(oncePerDialect)('$model: a stream that ends before its first delta is retried', async (each) => {
  const own = await FakeProviders.start();
  own.script({ text: 'Never.', endEarly: 'immediately' }, 'An answer.');
  const { agent, retries } = watched(each.model, undefined, own);
  expect((await streamed(agent)).answer).toBe('An answer.');
  expect(retries).toHaveLength(1);
  await own.close();
});

test.each(['immediately', 'midway'] as const)('a connection cut %s is retried with backoff', async (cut) => {
  fake.script({ text: 'Never heard.', cut }, 'At last.');
  const { agent, retries } = watched('openai/gpt-5.1');
  expect(await agent.run('Hello')).toBe('At last.');
  expect(retries).toHaveLength(1);
  expect(retries[0]?.delayMs).toBeGreaterThanOrEqual(250);
  expect(retries[0]?.delayMs).toBeLessThanOrEqual(500);
});

test('a stream whose connection is cut is retried before its first delta, and not after', async () => {
  fake.script({ text: 'Never.', cut: 'immediately' }, { text: 'Half an answer.', cut: 'midway' });
  const { agent, retries } = watched('anthropic/claude-sonnet-4-5');
  expect(await failureOf(streamed(agent))).toMatchObject({ code: 'MODEL_FAILED', details: { text: 'Half ' } });
  expect(retries).toHaveLength(1);
});

test.each(models)(
  '$model: a server that ignores `stream` is asked for a whole answer from then on',
  async ({ model }) => {
    const ignoresStream = true;
    const name = 'add';
    fake.script(
      { text: 'Never read.', ignoresStream },
      { text: 'I add.', toolCalls: [{ name, arguments: { a: 1, b: 2 } }] },
      { text: 'It is 3.', ignoresStream },
    );
    const add = tool({ name, description: 'Adds.', run: () => '3' });
    const { agent, retries } = watched(model, undefined, fake, [add]);
    expect(await streamed(agent)).toEqual({ answer: 'It is 3.', text: 'I add.It is 3.' });
    expect({ retries, requests: fake.requests.length, rejected: fake.rejected }).toEqual({
      retries: [],
      requests: 3,
      rejected: [],
    });
  },
);

test.each(['text/plain', ''])(
  'a server that ignores `stream` and calls its JSON "%s" is not retried either',
  async (type) => {
    const headers = { 'content-type': type };
    fake.script({ text: 'Never read.', ignoresStream: true, headers }, { text: 'Hi.', ignoresStream: true, headers });
    const { agent, retries } = watched('openai-compatible/local-model');
    expect(await streamed(agent)).toEqual({ answer: 'Hi.', text: 'Hi.' });
    expect({ retries, requests: fake.requests.length }).toEqual({ retries: [], requests: 2 });
  },
);

test('a router asks a deployment that ignores `stream` for a whole answer', async () => {
  fake.script({ text: 'Never read.', ignoresStream: true }, 'All at once.');
  const { llmModel, modelSettings } = fake.modelConfig('openai-compatible/local-model');
  const params = { ...modelSettings, model: llmModel };
  const router = new Router({ models: [{ modelName: 'any', params }], retries: 0 });
  const agent = new PocketAgent({ llmModel: router.languageModel('any'), limits: { modelRetries: 0 } });
  expect(await streamed(agent)).toEqual({ answer: 'All at once.', text: 'All at once.' });
  await router.close();
});

describe('a server that answers with nothing', () => {
  const endpoint = new RecordingEndpoint();
  beforeAll(() => endpoint.start());
  afterAll(() => endpoint.close());

  const names = [
    'openai/gpt-5',
    'azure/mine',
    'openai-compatible/x',
    'anthropic/claude-sonnet-4-5',
    'google/gemini-3-pro',
  ];
  const bodies = [
    ['application/json', '{}'],
    ['application/json', ''],
    ['text/event-stream', ''],
    ['text/event-stream', 'data: [DONE]\n\n'],
  ] as const;
  test.each(names.flatMap((name) => bodies.map(([type, body]) => [name, type, body] as const)))(
    '%s, %s %j: is an error, and never an empty answer',
    async (llmModel, type, body) => {
      endpoint.answer = { status: 200, type, body };
      const modelSettings = { baseUrl: `${endpoint.origin}/v1`, apiKey: 'test-key' };
      const make = () => new PocketAgent({ llmModel, modelSettings, limits: { modelRetries: 0 } });
      for (const ask of [() => make().run('Hello'), () => streamed(make())]) {
        const error = await failureOf(ask());
        expect(error.code).toBe('MODEL_FAILED');
        expect(error.message).toMatch(/empty (answer|stream)|another format|returned no output/);
        expect(error.message).not.toMatch(/expected|[\n[]\s*{/);
      }
    },
  );

  test('an error that came with status 200 is quoted', async () => {
    endpoint.answer = { status: 200, body: '{"error":{"message":"No worker is free."}}' };
    const modelSettings = { baseUrl: endpoint.origin };
    const agent = new PocketAgent({ llmModel: 'openai-compatible/x', modelSettings, limits: { modelRetries: 0 } });
    for (const ask of [() => agent.run('Hello'), () => streamed(agent)])
      expect((await failureOf(ask())).message).toBe('Model openai-compatible/x failed: No worker is free.');
  });
});

test('an unreachable server is an error that says so, after the retries', async () => {
  const gone = await FakeProviders.start();
  const baseUrl = gone.baseUrl('openai-compatible');
  await gone.close();
  const config = { modelSettings: { baseUrl, apiKey: 'none' } };
  const agent = fake.agent('openai-compatible/local-model', { config, limits: { modelRetries: 1 } });
  const error = await failureOf(agent.run('Hello'));
  expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { attempts: 2 } });
  expect(error.message).toMatch(/after 2 attempts.*(ECONNREFUSED|connect)/);
});

test('limits.modelRetries limits the attempts', async () => {
  const busy = { status: 500, headers: soon, message: 'Still busy.' };
  fake.script(busy, busy, busy);
  const { agent, retries } = watched('openai/gpt-5.1', 2);
  const error = await failureOf(agent.run('Hello'));
  expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { attempts: 3, statusCode: 500 } });
  expect(error.message).toContain('after 3 attempts: Still busy.');
  expect(retries).toHaveLength(2);
  fake.script(busy);
  expect((await failureOf(watched('openai/gpt-5.1', 0).agent.run('Hello'))).details.attempts).toBe(1);
});

test('retry-after in seconds and as a date is honoured', async () => {
  fake.script(
    { status: 429, headers: { 'retry-after': '0.002' } },
    { status: 429, headers: { 'retry-after': new Date(Date.now() - 1000).toUTCString() } },
    'At last.',
  );
  const { agent, retries } = watched('anthropic/claude-sonnet-4-5');
  expect(await agent.run('Hello')).toBe('At last.');
  expect(retries.map(({ delayMs }) => delayMs)).toEqual([2, 0]);
});

test('a very long Retry-After is not waited for, and the run ends', async () => {
  fake.script({ status: 429, headers: { 'retry-after': '3600' }, message: 'Come back in an hour.' });
  const { agent, retries } = watched('google/gemini-3-pro-preview');
  expect((await failureOf(agent.run('Hello'))).message).toContain('Come back in an hour.');
  expect(retries).toEqual([]);
});

test('an account without credit is not retried, although its status is 429', async () => {
  fake.script({ status: 429, headers: soon, message: 'You exceeded your quota.', errorCode: 'insufficient_quota' });
  const { agent, retries } = watched('openai/gpt-5.1');
  expect((await failureOf(agent.run('Hello'))).message).toContain('You exceeded your quota.');
  expect(retries).toEqual([]);
});
