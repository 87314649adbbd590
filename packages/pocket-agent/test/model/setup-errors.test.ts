// Errors of a model given by name: they contain that name and say what to do.
import { type AddressInfo, createServer } from 'node:net';
import { PocketAgent, PocketError, Router, resolveModel } from 'pocket-agent';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silent } from '../helpers.ts';

const variables = [
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'OLLAMA_BASE_URL',
  'OPENAI_COMPATIBLE_BASE_URL',
  'AZURE_RESOURCE_NAME',
];
beforeEach(() => variables.forEach((name) => void vi.stubEnv(name, undefined)));
afterEach(() => vi.unstubAllEnvs());

/** An address where nothing listens any longer. */
async function nowhere(host: string): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://${host}:${port}/v1`;
}

async function failureOf(llmModel: string, more: object): Promise<Error> {
  const options = { logger: silent, limits: { modelRetries: 0 }, ...more };
  await using agent = new PocketAgent({ ...options, agentConfig: { llmModel, ...Reflect.get(more, 'agentConfig') } });
  return await agent.run('Hello').then(
    () => expect.unreachable('it answered'),
    (error) => error,
  );
}

const routed = (params: { model: string; baseUrl?: string; apiKey?: string }) =>
  failureOf('main', { router: new Router({ models: [{ modelName: 'main', params }], retries: 0, logger: silent }) });

test('the error for a missing key names the place to set it', async () => {
  expect((await routed({ model: 'openai/gpt-5-nano' })).message).toContain(
    'set OPENAI_API_KEY, or pass params.apiKey.',
  );
  expect((await failureOf('openai/gpt-5-nano', {})).message).toContain('or pass modelSettings.apiKey.');
});

test('the error for a missing base URL names the place to set it', async () => {
  const compatible = await routed({ model: 'openai-compatible/x' });
  expect(compatible.message).toContain('set OPENAI_COMPATIBLE_BASE_URL or params.baseUrl.');
  const azure = await routed({ model: 'azure/x', apiKey: 'none' });
  expect(azure.message).toContain('set AZURE_RESOURCE_NAME or params.baseUrl.');
});

test.each(['127.0.0.1', 'localhost'])('the error says to start Ollama if it does not run at %s', async (host) => {
  const baseUrl = await nowhere(host);
  vi.stubEnv('OLLAMA_BASE_URL', baseUrl);
  expect((await failureOf('ollama/llama', {})).message).toMatch(
    /connect ECONNREFUSED .*:\d+\. Is Ollama running\? Start Ollama or set OLLAMA_BASE_URL\.$/,
  );
  expect((await routed({ model: 'ollama/llama', baseUrl })).message).toMatch(
    /connect ECONNREFUSED .*:\d+\. Is Ollama running\? Start Ollama or correct params\.baseUrl\.$/,
  );
});

test.each([
  ['ollama/llama', 'OLLAMA_BASE_URL'],
  ['openai-compatible/x', 'OPENAI_COMPATIBLE_BASE_URL'],
  ['openai/gpt-5-nano', 'OPENAI_BASE_URL'],
])('a base URL for %s without http:// in %s is refused with a correction', async (name, variable) => {
  vi.stubEnv(variable, 'localhost:11434/v1');
  await expect(resolveModel(name, { apiKey: 'none' })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `${variable} must be a whole URL such as "http://localhost:8000/v1", got "localhost:11434/v1". Write http://localhost:11434/v1.`,
  });
});

test('a base URL without http:// in the settings is refused with the name of the setting', async () => {
  const baseUrl = 'localhost:8000/v1';
  const modelSettings = { baseUrl };
  const ofAgent = await failureOf('openai-compatible/x', { agentConfig: { modelSettings } });
  expect(ofAgent.message).toContain('modelSettings.baseUrl must be a whole URL');
  const ofRouter = await routed({ model: 'openai-compatible/x', baseUrl });
  expect(ofRouter.message).toContain(
    `params.baseUrl must be a whole URL such as "http://localhost:8000/v1", got "${baseUrl}"`,
  );
});

test('a misspelt "demo" gets a suggestion', async () => {
  await expect(resolveModel('dmeo')).rejects.toThrow('Unknown model "dmeo". Did you mean "demo"?');
});

test.each(['', 'openai/', 'amazon-bedrock/'])('errors show the beginning of a very long name: %s…', async (prefix) => {
  const error = await resolveModel(`${prefix}${'x'.repeat(100_000)}`).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(PocketError);
  expect(error.message.length).toBeLessThan(2_000);
});

test('an unknown setting is refused wherever the model is resolved', async () => {
  const settings = { baseURL: 'http://127.0.0.1' } as object;
  await expect(resolveModel('ollama/x', settings)).rejects.toThrow('Did you mean "baseUrl"?');
});
