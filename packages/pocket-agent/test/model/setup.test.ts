// Errors before the first answer: a missing package, key or address, or an unknown model name.
import { isPocketError, type LanguageModel, PocketAgent, Router, resolveModel } from 'pocket-agent';
import { knownProviders } from 'pocket-agent/internal';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { API_KEY } from '../fixtures/providers/fake-dialect.ts';
import { FakeProviders, models } from '../fixtures/providers/fake-providers.ts';
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

/** All that models read from the environment. */
const variables = knownProviders.flatMap(
  ({ keyVariables, urlVariables, insteadOfKey = [], addressVariable, settings = {} }) => [
    ...keyVariables,
    ...urlVariables,
    ...insteadOfKey,
    ...(addressVariable ? [addressVariable] : []),
    ...Object.values(settings).flatMap((setting) => setting.variables),
  ],
);
/** With their rows in the table of providers. */
const known = [
  ...models,
  { model: 'claude-sonnet-4-5', provider: 'anthropic' as const },
  { model: 'gemini-3-pro-preview', provider: 'google' as const },
].flatMap(({ model, provider }) =>
  knownProviders.filter(({ prefix }) => prefix === provider).map((row) => ({ model, provider, row })),
);

function bareEnvironment(set: Record<string, string> = {}): void {
  for (const name of variables) vi.stubEnv(name, set[name]);
}

async function failure(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}

test.each(known.flatMap(({ model, row }) => (row.needsKey ? [[model, row.keyVariables.join(' or ')]] : [])))(
  '%s without a key says to set %s',
  async (llmModel, variable) => {
    bareEnvironment();
    const agent = new PocketAgent({ agentConfig: { llmModel } });
    const error = await failure(() => agent.run('Hello'));
    expect(error).toMatchObject({ code: 'MODEL_KEY_MISSING', message: expect.stringContaining(`set ${variable}`) });
    expect(String(error)).toContain(llmModel);
  },
);

test('a key set after a failure is found by the next run, and the history stays valid', async () => {
  bareEnvironment();
  const modelSettings = { baseUrl: fake.baseUrl('openai') };
  const agent = new PocketAgent({ agentConfig: { llmModel: 'gpt-5.1', modelSettings } });
  expect(await failure(() => agent.run('Hello'))).toMatchObject({ code: 'MODEL_KEY_MISSING' });
  vi.stubEnv('OPENAI_API_KEY', API_KEY);
  fake.script('Hello yourself.');
  expect(await agent.run('Hello again')).toBe('Hello yourself.');
});

test.each(
  known.flatMap(({ model, provider, row }) => row.keyVariables.map((variable) => [model, variable, provider] as const)),
)('%s takes its key from %s', async (llmModel, variable, provider) => {
  bareEnvironment({ [variable]: API_KEY });
  fake.script('Hello.');
  const modelSettings = { baseUrl: fake.baseUrl(provider) };
  expect(await new PocketAgent({ agentConfig: { llmModel, modelSettings } }).run('Hi')).toBe('Hello.');
});

test('addresses can come from the environment, headers from the settings, and Ollama needs no key', async () => {
  bareEnvironment({ OLLAMA_BASE_URL: fake.baseUrl('ollama'), OPENAI_COMPATIBLE_BASE_URL: fake.baseUrl('ollama') });
  fake.script('Hello.', 'Hello again.');
  const modelSettings = { headers: { 'x-team': 'blue' } };
  expect(await new PocketAgent({ agentConfig: { llmModel: 'ollama/qwen3:8b', modelSettings } }).run('Hi')).toBe(
    'Hello.',
  );
  expect(fake.requests[0]?.headers['x-team']).toBe('blue');
  expect(fake.lastBody.at('model').text).toBe('qwen3:8b');
  expect(await new PocketAgent({ agentConfig: { llmModel: 'openai-compatible/org/name' } }).run('Hi')).toContain(
    'again',
  );
  expect(fake.lastBody.at('model').text).toBe('org/name');
});

test('the base URL of Ollama works without the path of its API', async () => {
  bareEnvironment({ OLLAMA_BASE_URL: fake.origin });
  fake.script('Hello.');
  expect(await new PocketAgent({ agentConfig: { llmModel: 'ollama/qwen3:8b' } }).run('Hi')).toBe('Hello.');
});

test('the base URL of an Azure resource works without the path of its API', async () => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (input: string | URL | Request) => {
    asked.push(String(input));
    return new Response('{"error":{"message":"no such deployment"}}', { status: 404 });
  });
  const modelSettings = { baseUrl: 'https://mine.openai.azure.com', apiKey: API_KEY };
  await failure(() => new PocketAgent({ agentConfig: { llmModel: 'azure/mine', modelSettings } }).run('Hi'));
  vi.unstubAllGlobals();
  expect(asked[0]).toMatch(/^https:\/\/mine\.openai\.azure\.com\/openai\/v1\/responses/);
});

test.each([
  ['openai-compatible/local-model', {}, /OPENAI_COMPATIBLE_BASE_URL/],
  ['azure/my-deployment', { apiKey: API_KEY }, /AZURE_RESOURCE_NAME/],
  ['azure/my-deployment', { apiKey: API_KEY, baseUrl: 'my-resource' }, /modelSettings\.baseUrl.*"my-resource"/],
  ['openai/gpt-5.1', { apiKey: API_KEY, baseUrl: 'localhost/v1' }, /modelSettings\.baseUrl.*"localhost\/v1"/],
])('%s with settings %j says what to set', async (llmModel, modelSettings, text) => {
  bareEnvironment();
  const error = await failure(() => new PocketAgent({ agentConfig: { llmModel, modelSettings } }).run('Hello'));
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(text) });
  expect(String(error)).not.toContain(API_KEY);
});

test.each(['nonsense/large', 'llama3', 'openai/', '/gpt-5.1', 'constructor/x', '__proto__/x'])(
  '"%s" is refused when the agent is created, with the valid forms of names',
  async (llmModel) => {
    const error = await failure(async () => new PocketAgent({ agentConfig: { llmModel } }));
    expect(error).toMatchObject({ code: 'MODEL_UNKNOWN', message: expect.stringContaining('Write provider/model, ') });
    expect(await failure(() => resolveModel(llmModel))).toMatchObject({ code: 'MODEL_UNKNOWN' });
  },
);

test.each([
  ['antropic/claude-sonnet-5', 'Did you mean "anthropic/claude-sonnet-5"?'],
  ['mistrla/mistral-large', 'Did you mean "mistral/mistral-large"?'],
  [
    'nonsense/large',
    /Installed providers: anthropic, openai, google, azure, mistral and \d+ more; docs\/models\.md of this package lists all\.$/,
  ],
  ['main', 'The name of a routed model needs the option "router" of the agent.'],
])('"%s" is refused with a suggestion', (llmModel, text) => {
  expect(() => new PocketAgent({ agentConfig: { llmModel } })).toThrow(text);
});

test('an agent resolves its model once, and a model object is used as it is', async () => {
  let resolved = 0;
  const model: LanguageModel = new ScriptedModel(['One.', 'Two.', 'Three.']);
  const router = {
    languageModel() {
      resolved += 1;
      return model;
    },
  };
  const agent = new PocketAgent({ agentConfig: { llmModel: 'any-name' }, router });
  expect(resolved).toBe(0);
  await agent.run('1');
  await agent.run('2');
  expect(resolved).toBe(1);
  expect(await resolveModel(model)).toBe(model);
});

test('a wrong key is not retried, and the error quotes the provider', async () => {
  for (const { model, provider } of models) {
    if (provider === 'ollama') continue;
    fake.script('never said');
    const modelSettings = { baseUrl: fake.baseUrl(provider), apiKey: 'sk-wrong-but-still-secret' };
    const agent = new PocketAgent({ agentConfig: { llmModel: model, modelSettings } });
    const error = await failure(() => agent.run('Hello'));
    expect(isPocketError(error, 'MODEL_FAILED')).toBe(true);
    expect(error).toMatchObject({ details: { attempts: 1, statusCode: provider === 'google' ? 400 : 401 } });
    expect(String(error)).toMatch(/incorrect api key|invalid x-api-key|api key not valid/i);
    expect(String(error)).toContain(`Model ${provider}/${model.replace(/^.*\//, '')} failed: `);
    const variable =
      provider === 'google' ? 'GOOGLE_GENERATIVE_AI_API_KEY' : `${provider.toUpperCase().replace('-', '_')}_API_KEY`;
    expect(String(error)).toMatch(new RegExp(`Check the key: ${variable}.* or modelSettings\\.apiKey\\.$`));
    expect(String(error)).not.toContain('sk-wrong-but-still-secret');
  }
});

test.each([
  [{ status: 404, message: 'The model does not exist.' }, true],
  [{ status: 404, message: 'No file with this id.' }, false],
  [{ status: 400, message: 'The model takes no images.' }, false],
])('an error about an unknown model contains its name as the user wrote it: %j', async (answer, isUnknown) => {
  fake.script(answer);
  const modelSettings = { baseUrl: fake.baseUrl('anthropic'), apiKey: API_KEY };
  const agent = new PocketAgent({ agentConfig: { llmModel: 'anthropic/claude-sonett', modelSettings } });
  const text = String(await failure(() => agent.run('Hello')));
  expect(text).toContain(`Model anthropic/claude-sonett failed: ${answer.message}`);
  expect(text.includes('The provider does not know "claude-sonett": check the name')).toBe(isUnknown);
});

test.each([
  [{ status: 404, message: 'The model does not exist.' }, 'The provider does not know "claude-sonett": check the name'],
  [{ status: 401, message: 'Wrong key.' }, 'main#1: Wrong key. Check the key: ANTHROPIC_API_KEY or params.apiKey.'],
])('a router says what to check in the deployment whose request was rejected: %j', async (answer, advice) => {
  fake.script(answer);
  const params = { model: 'anthropic/claude-sonett', baseUrl: fake.baseUrl('anthropic'), apiKey: API_KEY };
  const router = new Router({ models: [{ modelName: 'main', params }], retries: 0, logger: silent });
  const agent = new PocketAgent({ agentConfig: { llmModel: 'main' }, router, logger: silent });
  const error = await failure(() => agent.run('Hello'));
  expect(String(error)).toContain(advice);
  expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { statusCode: answer.status } });
});
