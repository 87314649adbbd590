// Router options in LiteLLM's spelling.
import { PocketAgent, Router, type RouterEvent } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { API_KEY } from '../fixtures/providers/fake-dialect.ts';
import { FakeProviders } from '../fixtures/providers/fake-providers.ts';
import { silent } from '../helpers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => {
  vi.unstubAllEnvs();
  fake.reset();
});

function logged() {
  const lines: string[] = [];
  return { lines, logger: { ...silent, warn: (text: string) => void lines.push(text) } };
}

test('a model list of LiteLLM works as it is, with one hint to our names', async () => {
  vi.stubEnv('MY_KEY', API_KEY);
  const { lines, logger } = logged();
  const events: RouterEvent[] = [];
  const options = {
    model_list: [
      {
        model_name: 'main',
        litellm_params: {
          model: 'anthropic/claude-sonnet-4-5',
          api_key: 'os.environ/MY_KEY',
          api_base: fake.baseUrl('anthropic'),
          rpm: 100,
          timeout: 30,
          max_parallel_requests: 4,
          extra_headers: { 'x-team': 'blue' },
        },
        model_info: { id: 'eu' },
      },
      {
        model_name: 'spare',
        litellm_params: { model: 'openai/gpt-5.1', api_key: API_KEY, api_base: fake.baseUrl('openai') },
      },
    ],
    routing_strategy: 'latency-based-routing',
    num_retries: 0,
    cooldown_time: 1,
    allowed_fails: 0,
    fallbacks: [{ main: ['spare'] }],
    logger,
    onEvent: (event: RouterEvent) => void events.push(event),
  };
  const router = new Router(options);
  fake.script('Hello.', { status: 500, message: 'down' }, 'Hello from the spare.');
  await using agent = new PocketAgent({ llmModel: 'main', router, logger: silent, limits: { modelRetries: 0 } });
  expect(await agent.run('Hi')).toBe('Hello.');
  expect(fake.requests[0]?.headers['x-team']).toBe('blue');
  expect(await agent.run('Again')).toBe('Hello from the spare.');
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'chosen', deployment: 'eu', because: 'lowest-latency' }),
  );
  expect(events).toContainEqual(expect.objectContaining({ type: 'failed', deployment: 'eu', cooldownMs: 1_000 }));
  new Router(options);
  expect(lines).toEqual([
    expect.stringMatching(/LiteLLM.*models \(model_list\).*modelName \(model_name\).*apiKey \(api_key\)/),
  ]);
});

test('costs per token become prices', async () => {
  const params = { model: 'openai/gpt-5.1', api_key: API_KEY, api_base: fake.baseUrl('openai') };
  const litellm_params = { ...params, input_cost_per_token: 0.001, output_cost_per_token: 0.002 };
  const router = new Router({ model_list: [{ model_name: 'main', litellm_params }], logger: silent });
  fake.script({ text: 'Hello.', usage: { input: 10, output: 5 } });
  await using agent = new PocketAgent({ llmModel: 'main', router, logger: silent });
  await agent.run('Hi');
  expect(agent.totals.usage.costUsd).toBeCloseTo(0.02);
});

test.each([
  [{ api_key: 'os.environ/ABSENT_KEY' }, 'apiKey is "os.environ/ABSENT_KEY", and ABSENT_KEY is not set.'],
  [{ mock_response: 'x' }, 'params of "main" has no option "mock_response".'],
  [{ rpm: 0 }, 'rpm must be a number, 1 or more'],
  [{ model: 'nonsense/x' }, 'Unknown model "nonsense/x".'],
])('litellm_params with %j are refused', (params, text) => {
  const litellm_params = { model: 'openai/gpt-5.1', ...params };
  expect(() => new Router({ model_list: [{ model_name: 'main', litellm_params }], logger: silent })).toThrow(text);
});

test('our own spelling gets no hint', () => {
  const { lines, logger } = logged();
  new Router({ models: [{ modelName: 'main', params: { model: 'openai/gpt-5.1' } }], logger });
  expect(lines).toEqual([]);
});
