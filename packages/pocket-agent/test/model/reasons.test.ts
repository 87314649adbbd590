// Why a named model cannot be used, in the words of whoever named it, with the way out.
import { type AddressInfo, createServer } from 'node:net';
import { PocketAgent, Router, resolveModel } from 'pocket-agent';
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

test('a key that is missing is asked for where it can be given', async () => {
  expect((await routed({ model: 'openai/gpt-5-nano' })).message).toContain(
    'set OPENAI_API_KEY, or pass params.apiKey.',
  );
  expect((await failureOf('openai/gpt-5-nano', {})).message).toContain('or pass agentConfig.modelSettings.apiKey.');
});

test('a base URL that is missing is asked for where it can be given', async () => {
  const compatible = await routed({ model: 'openai-compatible/x' });
  expect(compatible.message).toContain('set params.baseUrl or OPENAI_COMPATIBLE_BASE_URL.');
  const azure = await routed({ model: 'azure/x', apiKey: 'none' });
  expect(azure.message).toContain('set AZURE_RESOURCE_NAME or params.baseUrl.');
});

test.each(['127.0.0.1', 'localhost'])('Ollama that does not run at %s is to be started', async (host) => {
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
])('a base URL for %s without http:// in %s is named, with what to write', async (name, variable) => {
  vi.stubEnv(variable, 'localhost:11434/v1');
  await expect(resolveModel(name, { apiKey: 'none' })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `${variable} must be a whole URL such as "http://localhost:8000/v1", got "localhost:11434/v1". Write http://localhost:11434/v1.`,
  });
});

test('a base URL without http:// in the settings is named by where it stands', async () => {
  const baseUrl = 'localhost:8000/v1';
  const modelSettings = { baseUrl };
  const ofAgent = await failureOf('openai-compatible/x', { agentConfig: { modelSettings } });
  expect(ofAgent.message).toContain('agentConfig.modelSettings.baseUrl must be a whole URL');
  const ofRouter = await routed({ model: 'openai-compatible/x', baseUrl });
  expect(ofRouter.message).toContain(
    `params.baseUrl must be a whole URL such as "http://localhost:8000/v1", got "${baseUrl}"`,
  );
});

test('a demo with letters swapped is recognized', async () => {
  await expect(resolveModel('dmeo')).rejects.toThrow('Unknown model "dmeo". Did you mean "demo"?');
});

test('a setting that does not exist is refused, whoever resolves the model', async () => {
  const settings = { baseURL: 'http://127.0.0.1' } as object;
  await expect(resolveModel('ollama/x', settings)).rejects.toThrow('Did you mean "baseUrl"?');
});
