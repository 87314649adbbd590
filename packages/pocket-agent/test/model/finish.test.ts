// Incomplete answers and aborted calls are reported, never returned as final, and leave a valid history.
import { type FunctionTool, type LanguageModel, PocketAgent, tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { everyModel, FakeProviders } from '../fixtures/providers/fake-providers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

async function drain(agent: PocketAgent, signal?: AbortSignal, onDelta: () => void = () => {}): Promise<void> {
  for await (const event of agent.stream('Tell me a story.', signal ? { signal } : {})) {
    if (event.type === 'text_delta') onDelta();
  }
}

const look: FunctionTool = tool({ name: 'look', description: 'Looks', run: () => 'a cat' });

describe.each(everyModel)('$model', ({ model, provider }) => {
  test.each([
    ['length', 'ANSWER_CUT_OFF'],
    ['content-filter', 'ANSWER_FILTERED'],
  ] as const)('finish reason %s is the error %s with the text so far, whole and streamed', async (finish, code) => {
    if (provider === 'mistral' && finish === 'content-filter') return; // Mistral has no such reason
    fake.script({ text: 'Once upon a', finish }, { text: 'Once upon a', finish }, 'The end.');
    const agent = fake.agent(model);
    const details = { text: 'Once upon a', finishReason: finish };
    await expect(agent.run('Tell me a story.')).rejects.toMatchObject({ code, details });
    await expect(drain(agent)).rejects.toMatchObject({ code, details });
    expect(await agent.run('Go on.')).toBe('The end.');
    expect(fake.rejected).toEqual([]);
  });

  test('an abort ends a call and its request, and the conversation can continue', async () => {
    fake.script(
      { toolCalls: [{ name: 'look', arguments: {} }] },
      { text: 'never', hang: 'immediately' },
      'Welcome back.',
    );
    const agent = fake.agent(model, { tools: [look] });
    const controller = new AbortController();
    const run = agent.run('What do you see?', { signal: controller.signal });
    await fake.arrived;
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
    await fake.left;
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(await agent.run('Hello?')).toBe('Welcome back.');
    expect(fake.rejected).toEqual([]);
  });

  test('an abort ends a stream in the middle', async () => {
    fake.script({ text: 'Once upon a time', hang: 'midway' }, 'Welcome back.');
    const agent = fake.agent(model);
    const controller = new AbortController();
    await expect(drain(agent, controller.signal, () => controller.abort())).rejects.toMatchObject({ code: 'ABORTED' });
    await fake.left;
    expect(agent.messages.map(({ role }) => role)).toEqual(['user']);
    expect(await agent.run('Hello?')).toBe('Welcome back.');
    expect(fake.rejected).toEqual([]);
  });
});

test('leaving the loop over a stream ends the call', async () => {
  fake.script({ text: 'Once upon a time', hang: 'midway' });
  for await (const event of fake.agent('anthropic/claude-sonnet-4-5').stream('Tell me a story.')) {
    if (event.type === 'text_delta') break;
  }
  await fake.left;
});

test('an abort ends the wait before a retry', async () => {
  fake.script({ status: 429, headers: { 'retry-after': '50' } });
  const controller = new AbortController();
  const hooks = { onEvent: ({ type }: { type: string }) => void (type === 'model_retry' && controller.abort()) };
  const agent = fake.agent('openai/gpt-5.1', { hooks });
  await expect(agent.run('Hello', { signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' });
  expect(fake.requests).toHaveLength(1);
  fake.script('Welcome back.');
  expect(await agent.run('Hello?')).toBe('Welcome back.');
});

describe('a model that never answers and ignores the signal', () => {
  const never = new Promise<never>(() => {});
  const deaf: LanguageModel = {
    specificationVersion: 'v4',
    provider: 'deaf',
    modelId: 'deaf',
    supportedUrls: {},
    doGenerate: () => never,
    doStream: async () => ({ stream: new ReadableStream({ pull: () => never }) }),
  };

  test.each([false, true])('is abandoned at an abort (streaming: %s)', async (streaming) => {
    const agent = new PocketAgent({ agentConfig: { llmModel: deaf } });
    const controller = new AbortController();
    const run = agent.run('Hello', { signal: controller.signal, streaming });
    setImmediate(() => controller.abort());
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
    expect(agent.messages).toHaveLength(1);
  });

  test.each([false, true])('is abandoned at the deadline (streaming: %s)', async (streaming) => {
    const agent = new PocketAgent({ agentConfig: { llmModel: deaf }, limits: { timeoutMs: 20 } });
    await expect(agent.run('Hello', { streaming })).rejects.toMatchObject({ code: 'TIMEOUT' });
  });
});

test('a model is not called after an abort', async () => {
  const agent = fake.agent('openai/gpt-5.1');
  await expect(agent.run('Hello', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' });
  expect(fake.requests).toEqual([]);
});
