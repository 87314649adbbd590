// Provider packages: which one a prefix needs, where it is found, and which versions of it work.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type LanguageModel, PocketAgent, Router, resolveModel } from 'pocket-agent';
import { knownProviders } from 'pocket-agent/internal';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const source = new URL('../../src/index.ts', import.meta.url).href;
const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-providers-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function node(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['-C', 'pocket-agent/source', program, ...args], { cwd });
  return stdout;
}

/** By package: every prefix, those of LiteLLM included. */
const packages = {
  '@ai-sdk/alibaba': ['alibaba', 'dashscope'],
  '@ai-sdk/amazon-bedrock': ['amazon-bedrock', 'bedrock', 'bedrock_converse'],
  '@ai-sdk/anthropic': ['anthropic', 'claude'],
  '@ai-sdk/azure': ['azure'],
  '@ai-sdk/baseten': ['baseten'],
  '@ai-sdk/cerebras': ['cerebras'],
  '@ai-sdk/cohere': ['cohere', 'cohere_chat'],
  '@ai-sdk/deepinfra': ['deepinfra'],
  '@ai-sdk/deepseek': ['deepseek'],
  '@ai-sdk/fireworks': ['fireworks', 'fireworks_ai'],
  '@ai-sdk/gateway': ['gateway', 'vercel_ai_gateway'],
  '@ai-sdk/google': ['google', 'gemini'],
  '@ai-sdk/google-vertex': ['google-vertex', 'vertex', 'vertex_ai', 'vertex_ai_beta'],
  '@ai-sdk/groq': ['groq'],
  '@ai-sdk/huggingface': ['huggingface'],
  '@ai-sdk/minimax': ['minimax'],
  '@ai-sdk/mistral': ['mistral'],
  '@ai-sdk/moonshotai': ['moonshotai', 'moonshot'],
  '@ai-sdk/open-responses': ['open-responses'],
  '@ai-sdk/openai': ['openai', 'chatgpt'],
  '@ai-sdk/openai-compatible': [
    'openai-compatible',
    'ollama',
    'ollama_chat',
    'vercel',
    'v0',
    'lmstudio',
    'lm_studio',
    'vllm',
    'hosted_vllm',
    'litellm',
    'litellm_proxy',
    'openai_like',
    'custom_openai',
  ],
  '@ai-sdk/perplexity': ['perplexity'],
  '@ai-sdk/togetherai': ['togetherai', 'together_ai', 'together'],
  '@ai-sdk/xai': ['xai'],
  '@openrouter/ai-sdk-provider': ['openrouter'],
};

test('without the package of a provider, the error is the npm install line', async () => {
  const program = fileURLToPath(new URL('../fixtures/programs/without-providers.ts', import.meta.url));
  const rows = Object.entries(packages).flatMap(([name, prefixes]) => prefixes.map((prefix) => ({ name, prefix })));
  const known = knownProviders.flatMap(({ prefix, aliases }) => [prefix, ...aliases]);
  expect(rows.map(({ prefix }) => prefix).sort()).toEqual(known.sort());
  const models = rows.map(({ prefix }) => `${prefix}/some-model`);
  const stdout = await node(program, ['sk-secret', ...models], folder);
  expect(JSON.parse(stdout)).toEqual(
    rows.map(({ name, prefix }) => ({
      code: 'MODEL_PACKAGE_MISSING',
      message: `Model "${prefix}/some-model" needs a package that is not installed: npm install ${name}`,
    })),
  );
});

test('the error for a missing package lists the providers that are installed', async () => {
  const error = resolveModel('cohere/command', { apiKey: 'none' });
  await expect(error).rejects.toMatchObject({
    code: 'MODEL_PACKAGE_MISSING',
    message: expect.stringMatching(/\(installed: anthropic, openai, .*\): npm install @ai-sdk\/cohere$/),
  });
});

/** A package that answers with its own settings. */
async function installPackage(project: string, name: string, specificationVersion: string): Promise<void> {
  const path = join(project, 'node_modules', name);
  await mkdir(path, { recursive: true });
  const exports = { '.': { import: './index.js', default: './index.js' } };
  await writeFile(join(path, 'package.json'), JSON.stringify({ name, type: 'module', exports }));
  const code = `export const createCohere = ({ apiKey, baseURL }) => ({
    languageModel: (modelId) => ({
      specificationVersion: '${specificationVersion}', provider: 'cohere.chat', modelId, supportedUrls: {},
      doGenerate() {}, doStream() {}, settings: [apiKey, baseURL],
    }),
  });`;
  await writeFile(join(path, 'index.js'), code);
}

const program = `import { resolveModel } from ${JSON.stringify(source)};
const outcome = await resolveModel('cohere/command', { apiKey: 'my-key', baseUrl: 'http://127.0.0.1:9' }).then(
  ({ modelId, settings }) => [modelId, ...settings], ({ code, message }) => [code, message]);
console.log(JSON.stringify(outcome));`;

async function project(name: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  await writeFile(join(path, 'program.mjs'), program);
  return path;
}

test('a package is found in the folder of the program', async () => {
  const own = await project('own');
  await installPackage(own, '@ai-sdk/cohere', 'v4');
  expect(await node(join(own, 'program.mjs'), [], folder)).toBe('["command","my-key","http://127.0.0.1:9/v2"]\n');
});

test('the code of the working folder is not loaded', async () => {
  const [downloaded, other] = [await project('downloaded'), await project('other')];
  await installPackage(downloaded, '@ai-sdk/cohere', 'v4');
  const [code, message] = JSON.parse(await node(join(other, 'program.mjs'), [], downloaded));
  expect(code).toBe('MODEL_PACKAGE_MISSING');
  expect(message).toMatch(
    /; the one in the working folder does not belong to this program\): npm install @ai-sdk\/cohere$/,
  );
});

test('a package that is too old is refused with the version to install', async () => {
  const path = await project('old');
  await installPackage(path, '@ai-sdk/cohere', 'v3');
  expect(JSON.parse(await node(join(path, 'program.mjs'), [], path))).toEqual([
    'CONFIG_INVALID',
    'Model "cohere/command" is a model of AI SDK 6 (V3); only models of AI SDK 7 (V4) work: npm install @ai-sdk/cohere@latest',
  ]);
});

/** A model object as an older version of a provider package makes it. */
function oldModel(specificationVersion: string, provider: string): LanguageModel {
  const model: object = Object.assign(new ScriptedModel(['Hi.']), { specificationVersion });
  Object.defineProperty(model, 'provider', { value: provider });
  return model as LanguageModel;
}

test.each([
  ['v2', '5 (V2)', 'mistral.chat', 'npm install @ai-sdk/mistral@latest'],
  ['v3', '6 (V3)', 'openrouter', 'npm install @openrouter/ai-sdk-provider@latest'],
  ['v3', '6 (V3)', 'google.vertex.chat', 'npm install @ai-sdk/google-vertex@latest'],
  ['v3', '6 (V3)', 'my-own.thing', 'install a version of its package for AI SDK 7'],
])('a model object of version %s is refused wherever a model is taken: AI SDK %s, %s', async (...row) => {
  const [version, sdk, provider, wayOut] = row;
  const model = oldModel(version, provider);
  const text = ` is a model of AI SDK ${sdk}; only models of AI SDK 7 (V4) work: ${wayOut}`;
  expect(() => new PocketAgent({ llmModel: model })).toThrow(`llmModel${text}`);
  expect(() => new PocketAgent({ llmModel: 'demo', compaction: { model } })).toThrow(`compaction.model${text}`);
  const models = [{ modelName: 'main', params: { model } }];
  expect(() => new Router({ models })).toThrow(`Router: params of "main": model${text}`);
  await expect(resolveModel(model)).rejects.toThrow(`The model${text}`);
});
