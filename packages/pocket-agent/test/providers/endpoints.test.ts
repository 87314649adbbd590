// Addresses and keys in the environment, in our spelling and in LiteLLM's; endpoints that are none, keys that are refused.
import { isPocketError, type ModelSettings, PocketAgent } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { RecordingEndpoint } from '../fixtures/providers/recording-endpoint.ts';
import { silent } from '../helpers.ts';

const endpoint = new RecordingEndpoint();
const refusedKey = endpoint.answer;
beforeAll(() => endpoint.start());
afterAll(() => endpoint.close());
beforeEach(() => {
  for (const name of Object.keys(process.env)) {
    if (/_(KEY|BASE|BASE_URL|ENDPOINT|VERSION|TOKEN)$/.test(name)) vi.stubEnv(name, undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
  endpoint.requests.length = 0;
  endpoint.answer = refusedKey;
});

async function failureOf(
  llmModel: string,
  { streaming = false, ...modelSettings }: ModelSettings & { streaming?: boolean },
) {
  await using agent = new PocketAgent({ llmModel, modelSettings, logger: silent });
  const error: unknown = await agent.run('Hello', { streaming }).then(
    () => expect.unreachable('it answered'),
    (reason) => reason,
  );
  if (!isPocketError(error)) throw error;
  return error;
}

test.each([
  ['openai/gpt-5', 'OPENAI_BASE_URL', '', '/v1/responses'],
  ['openai/gpt-5', 'OPENAI_BASE_URL', '/v1', '/v1/responses'],
  ['openai/gpt-5', 'OPENAI_BASE_URL', '/proxy/openai', '/proxy/openai/responses'],
  ['openai/gpt-5', 'OPENAI_API_BASE', '', '/v1/responses'],
  ['ollama/qwen3', 'OLLAMA_BASE_URL', '', '/v1/chat/completions'],
  ['ollama/qwen3', 'OLLAMA_BASE_URL', '/', '/v1/chat/completions'],
  ['ollama/qwen3', 'OLLAMA_BASE_URL', '/v1', '/v1/chat/completions'],
  ['ollama_chat/qwen3', 'OLLAMA_API_BASE', '', '/v1/chat/completions'],
  ['anthropic/claude-sonnet-5', 'ANTHROPIC_BASE_URL', '', '/v1/messages'],
  ['anthropic/claude-sonnet-5', 'ANTHROPIC_BASE_URL', '/v1', '/v1/messages'],
  ['anthropic/claude-sonnet-5', 'ANTHROPIC_API_BASE', '', '/v1/messages'],
  ['gemini/gemini-3-pro', 'GEMINI_API_BASE', '', '/v1beta/models/gemini-3-pro:generateContent'],
  ['mistral/mistral-large', 'MISTRAL_API_BASE', '', '/v1/chat/completions'],
  ['groq/llama-4', 'GROQ_API_BASE', '', '/openai/v1/chat/completions'],
  ['groq/llama-4', 'GROQ_BASE_URL', '/openai/v1', '/openai/v1/chat/completions'],
  ['azure/mine', 'AZURE_API_BASE', '/openai', '/openai/responses'],
  ['hosted_vllm/llama', 'HOSTED_VLLM_API_BASE', '', '/v1/chat/completions'],
  ['litellm_proxy/gpt', 'LITELLM_PROXY_API_BASE', '', '/v1/chat/completions'],
  ['lm_studio/qwen', 'LM_STUDIO_API_BASE', '/v1', '/v1/chat/completions'],
  ['openai-compatible/x', 'OPENAI_COMPATIBLE_BASE_URL', '', '/chat/completions'],
])('%s with %s=http://host%s calls %s', async (model, variable, path, asked) => {
  vi.stubEnv(variable, `${endpoint.origin}${path}`);
  await failureOf(model, { apiKey: 'sk-wrong' });
  expect(endpoint.requests.map((request) => request.path)).toEqual([asked]);
});

test.each([
  ['openai/gpt-5', 'OPENAI_API_KEY'],
  ['anthropic/claude-sonnet-5', 'ANTHROPIC_API_KEY'],
  ['gemini/gemini-3-pro', 'GEMINI_API_KEY'],
  ['gemini/gemini-3-pro', 'GOOGLE_API_KEY'],
  ['mistral/mistral-large', 'MISTRAL_API_KEY'],
  ['groq/llama-4', 'GROQ_API_KEY'],
  ['azure/mine', 'AZURE_OPENAI_API_KEY'],
  ['hosted_vllm/llama', 'HOSTED_VLLM_API_KEY'],
  ['v0/v0-1.5-md', 'V0_API_KEY'],
])('%s sends the key in %s', async (model, variable) => {
  vi.stubEnv(variable, 'sk-from-the-environment');
  await failureOf(model, { baseUrl: endpoint.origin });
  expect(JSON.stringify(endpoint.requests[0]?.headers)).toContain('sk-from-the-environment');
});

test.each([
  ['2024-10-21', '/openai/deployments/mine/chat/completions?api-version=2024-10-21'],
  ['v1', '/openai/responses'],
  [undefined, '/openai/responses'],
])('Azure with AZURE_API_VERSION=%s calls %s', async (version, path) => {
  vi.stubEnv('AZURE_API_KEY', 'sk-azure');
  vi.stubEnv('AZURE_API_BASE', `${endpoint.origin}/openai`);
  vi.stubEnv('AZURE_API_VERSION', version);
  await failureOf('azure/mine', {});
  expect(endpoint.requests.map((request) => request.path)).toEqual([path]);
});

/** One model for each wire format. */
const wires = [
  ['openai/gpt-5', 'OPENAI_API_KEY'],
  ['anthropic/claude-sonnet-5', 'ANTHROPIC_API_KEY'],
  ['google/gemini-3-pro', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ['mistral/mistral-large', 'MISTRAL_API_KEY'],
  ['groq/llama-4', 'GROQ_API_KEY'],
  ['openai-compatible/llama', 'OPENAI_COMPATIBLE_API_KEY'],
] as const;

test.each(
  wires.flatMap(([model, variable]) =>
    [401, 403].flatMap((status) => [false, true].map((streaming) => [model, status, streaming, variable] as const)),
  ),
)('%s: a key that is refused with %i (streaming: %s) is named and not retried: %s', async (...row) => {
  const [model, status, streaming, variable] = row;
  endpoint.answer = { ...refusedKey, status };
  const error = await failureOf(model, { apiKey: 'sk-wrong', baseUrl: endpoint.origin, streaming });
  expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { attempts: 1, refused: 'key', statusCode: status } });
  expect(error.message).toContain('Wrong key.');
  expect(error.message).toContain(`Check the key: ${variable}`);
  expect(endpoint.requests).toHaveLength(1);
});

test.each(
  wires.flatMap(([model]) =>
    [200, 403, 404].flatMap((status) => [false, true].map((streaming) => [model, status, streaming] as const)),
  ),
)('%s: a web page with status %i (streaming: %s) is named and not retried', async (model, status, streaming) => {
  endpoint.answer = { status, type: 'text/html; charset=utf-8', body: '<!doctype html><title>Log in</title>' };
  const error = await failureOf(model, { apiKey: 'sk-wrong', baseUrl: endpoint.origin, streaming });
  expect(error.message).toContain('sent a web page');
  expect(error.message).toMatch(/instead of an answer\. Check the base URL$/);
  expect(error).toMatchObject({ details: { attempts: 1 } });
  expect(endpoint.requests).toHaveLength(1);
});

test.each([
  [
    'bedrock/anthropic.claude-opus-4',
    { apiKey: 'none' },
    'needs a region: set AWS_REGION, or pass modelSettings.region.',
  ],
  [
    'bedrock/x',
    {},
    'set AWS_BEARER_TOKEN_BEDROCK, or pass modelSettings.apiKey, or set AWS_ACCESS_KEY_ID and AWS_SECRET',
  ],
  ['vertex_ai/gemini-3-pro', {}, 'needs a project: set GOOGLE_VERTEX_PROJECT, or pass modelSettings.project.'],
])('%s with the settings %j says what to set', async (model, settings, text) => {
  const names = ['AWS_REGION', 'AWS_REGION_NAME', 'AWS_DEFAULT_REGION', 'AWS_ACCESS_KEY_ID', 'GOOGLE_CLOUD_PROJECT'];
  for (const name of [...names, 'GOOGLE_VERTEX_PROJECT']) vi.stubEnv(name, undefined);
  expect((await failureOf(model, settings)).message).toContain(text);
});
