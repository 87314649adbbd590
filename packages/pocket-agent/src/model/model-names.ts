// Models: AI SDK LanguageModelV4 objects, and the names that stand for them.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import {
  closest,
  errorText,
  httpUrlHint,
  nullable,
  nullableString,
  OptionSet,
  PocketError,
  secretStringMap,
} from '@pocket-agent/kit';
import { modelFetch } from './model-fetch.ts';
import { omitFields } from './model-request.ts';

export type LanguageModel = LanguageModelV4;

/** For models given by name; a model object has its own settings. */
export interface ModelSettings {
  apiKey?: string;
  baseUrl?: string;
  headers?: Record<string, string>;
}

export const modelSettings = new OptionSet<ModelSettings>('agentConfig.modelSettings', {
  apiKey: { ...nullableString, isSecret: true },
  baseUrl: nullableString,
  headers: { ...secretStringMap, ...nullable(secretStringMap.expected, secretStringMap.accepts) },
});

interface Factory {
  languageModel(modelId: string): LanguageModelV4;
}

interface Provider {
  packageName: string;
  /** Variables with the key. */
  keys: readonly string[];
  needsKey: boolean;
  /** The variable with the base URL. */
  baseUrl?: string;
  /** There is no default address: this variable or a base URL must be set. */
  address?: string;
  /** The settings include those of the environment. `urlAdvice` says how to change the base URL. */
  load(settings: ModelSettings, urlAdvice: string): Promise<Factory>;
}

/** The demo model, which needs no key. */
const DEMO = 'demo';
const OLLAMA_URL = 'http://127.0.0.1:11434/v1';

const providers: Readonly<Record<string, Provider>> = {
  openai: {
    packageName: '@ai-sdk/openai',
    keys: ['OPENAI_API_KEY'],
    needsKey: true,
    baseUrl: 'OPENAI_BASE_URL',
    load: async (settings) => (await import('@ai-sdk/openai')).createOpenAI(common(settings)),
  },
  anthropic: {
    packageName: '@ai-sdk/anthropic',
    keys: ['ANTHROPIC_API_KEY'],
    needsKey: true,
    baseUrl: 'ANTHROPIC_BASE_URL',
    load: async (settings) => (await import('@ai-sdk/anthropic')).createAnthropic(common(settings)),
  },
  google: {
    packageName: '@ai-sdk/google',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    needsKey: true,
    load: async (settings) => (await import('@ai-sdk/google')).createGoogleGenerativeAI(common(settings)),
  },
  azure: {
    packageName: '@ai-sdk/azure',
    keys: ['AZURE_API_KEY'],
    needsKey: true,
    address: 'AZURE_RESOURCE_NAME',
    load: async (settings) => (await import('@ai-sdk/azure')).createAzure(common(withAzurePath(settings))),
  },
  ollama: {
    packageName: '@ai-sdk/openai-compatible',
    keys: [],
    needsKey: false,
    baseUrl: 'OLLAMA_BASE_URL',
    load: ({ baseUrl = OLLAMA_URL, ...settings }, urlAdvice) =>
      compatible('ollama', { ...settings, baseUrl: withPath(baseUrl, '/v1') }, fetchFromOllama(urlAdvice)),
  },
  'openai-compatible': {
    packageName: '@ai-sdk/openai-compatible',
    keys: ['OPENAI_COMPATIBLE_API_KEY'],
    needsKey: false,
    baseUrl: 'OPENAI_COMPATIBLE_BASE_URL',
    address: 'OPENAI_COMPATIBLE_BASE_URL',
    load: (settings) => compatible('openai-compatible', settings),
  },
};

/** Prefixes of other programs: the prefix to use here, or the OpenAI-compatible API of the provider. */
const otherPrefixes: Readonly<Record<string, { prefix: string } | { baseUrl: string; packageName?: string }>> = {
  gemini: { prefix: 'google' },
  vertex_ai: { prefix: 'google' },
  claude: { prefix: 'anthropic' },
  chatgpt: { prefix: 'openai' },
  ollama_chat: { prefix: 'ollama' },
  mistral: { baseUrl: 'https://api.mistral.ai/v1', packageName: '@ai-sdk/mistral' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', packageName: '@ai-sdk/groq' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1' },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', packageName: '@ai-sdk/deepseek' },
  xai: { baseUrl: 'https://api.x.ai/v1', packageName: '@ai-sdk/xai' },
  together_ai: { baseUrl: 'https://api.together.xyz/v1' },
  fireworks_ai: { baseUrl: 'https://api.fireworks.ai/inference/v1' },
  bedrock: { baseUrl: '', packageName: '@ai-sdk/amazon-bedrock' },
};

const bareNames: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|chatgpt-|o[1-9](-|$))/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(gemini|gemma)-/, 'google'],
];

/** Resolves a model name. `where` names the settings in errors. */
export async function resolveModel(
  model: string | LanguageModel,
  settings: ModelSettings = {},
  where = 'agentConfig.modelSettings',
): Promise<LanguageModel> {
  if (typeof model !== 'string') return model;
  modelSettings.check(settings, where);
  if (model === DEMO) return (await import('../demo/model.ts')).createDemoModel();
  const { provider, modelId } = findProvider(model);
  const { keys, packageName, address } = provider;
  const apiKey = settings.apiKey || keys.map((key) => process.env[key]).find(Boolean);
  const urlVariable = settings.baseUrl ? undefined : provider.baseUrl;
  const baseUrl = settings.baseUrl || (urlVariable && process.env[urlVariable]);
  if (baseUrl) checkBaseUrl(urlVariable ?? `${where}.baseUrl`, baseUrl);
  if (!apiKey && provider.needsKey) {
    const text = `Model "${model}" needs a key: set ${keys.join(' or ')}, or pass ${where}.apiKey.`;
    throw new PocketError('MODEL_KEY_MISSING', text);
  }
  if (address && !baseUrl && !process.env[address]) {
    const text = `Model "${model}" needs an address: set ${address} or ${where}.baseUrl.`;
    throw new PocketError('CONFIG_INVALID', text);
  }
  const { headers } = settings;
  const all = { ...(apiKey && { apiKey }), ...(baseUrl && { baseUrl }), ...(headers && { headers }) };
  try {
    const urlAdvice = urlVariable ? `set ${urlVariable}` : `correct ${where}.baseUrl`;
    return (await provider.load(all, urlAdvice)).languageModel(modelId);
  } catch (error) {
    if (error instanceof PocketError || !isMissing(error, packageName)) throw error;
    const text = `Model "${model}" needs the package ${packageName}: npm install ${packageName}`;
    throw new PocketError('MODEL_PACKAGE_MISSING', text, { cause: error });
  }
}

/** The name as users write it: `anthropic/claude-sonnet-5` for a model of `anthropic.messages`. */
export function modelName({ provider, modelId }: Pick<LanguageModel, 'provider' | 'modelId'>): string {
  return `${prefixOf(provider)}/${modelId}`;
}

/** What to do after a provider refused the key or the name of a model. `where` names the settings. */
export function adviceAfterRefusal(
  refused: 'key' | 'model',
  { provider, modelId }: LanguageModel,
  where = 'modelSettings',
): string {
  if (refused === 'model') {
    return `The provider does not know "${modelId}": check the name, and the base URL if you set one.`;
  }
  const prefix = prefixOf(provider);
  const known = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined;
  return known ? `Check the key: ${[...known.keys, `${where}.apiKey`].join(' or ')}.` : 'Check the key.';
}

/** `anthropic` for `anthropic.messages`. */
export function prefixOf(provider: string): string {
  const end = provider.indexOf('.');
  return end < 0 ? provider : provider.slice(0, end);
}

/** Throws for an unknown name, without loading anything. */
export function checkModelName(model: string): void {
  if (model === DEMO) return;
  findProvider(model);
}

/** The provider in a model name; undefined if there is none, as in "demo". */
export function providerOf(model: string): string | undefined {
  const slash = model.indexOf('/');
  return slash > 0 ? model.slice(0, slash) : bareNames.find(([pattern]) => pattern.test(model))?.[1];
}

function findProvider(model: string): { provider: Provider; modelId: string } {
  const name = providerOf(model);
  const modelId = model.slice(model.indexOf('/') + 1);
  const provider = name !== undefined && Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (!provider || !modelId) throw unknownModel(model);
  return { provider, modelId };
}

function unknownModel(model: string): PocketError {
  const names = Object.keys(providers);
  const prefixes = names.map((name) => `${name}/…`).join(', ');
  const slash = model.indexOf('/');
  const prefix = model.slice(0, Math.max(slash, 0));
  const instead = insteadOf(prefix, model.slice(slash + 1));
  if (instead) return new PocketError('MODEL_UNKNOWN', `Unknown model "${model}". ${instead}`);
  const near = slash < 0 ? closest(model, [DEMO]) : closest(prefix, names);
  const meant = near && near !== prefix ? ` Did you mean "${near}${slash < 0 ? '' : model.slice(slash)}"?` : '';
  const ofRouter = slash < 0 ? ' The name of a routed model needs the option "router" of the agent.' : '';
  return new PocketError(
    'MODEL_UNKNOWN',
    `Unknown model "${model}".${meant} Write one of ${prefixes}, a bare gpt-…, claude-… or gemini-… name, "${DEMO}", or pass an AI SDK model object.${ofRouter}`,
  );
}

/** How to write a model name with the prefix of another program. */
function insteadOf(prefix: string, modelId: string): string | undefined {
  const known = Object.hasOwn(otherPrefixes, prefix) ? otherPrefixes[prefix] : undefined;
  if (!known || !modelId) return undefined;
  if ('prefix' in known) return `Write "${known.prefix}/${modelId}".`;
  const { baseUrl, packageName } = known;
  const compatible = baseUrl && `Write "openai-compatible/${modelId}" with the base URL ${baseUrl}`;
  const object = packageName && `pass a model object of the package ${packageName}`;
  return `${[compatible, object].filter(Boolean).join(', or ')}.`.replace(/^pass/, 'Pass');
}

function common({ baseUrl, ...settings }: ModelSettings) {
  return { ...settings, ...(baseUrl && { baseURL: baseUrl }), fetch: modelFetch };
}

async function compatible(name: string, settings: ModelSettings, fetch = modelFetch): Promise<Factory> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const omitted = new Set<string>();
  const factory = createOpenAICompatible({
    ...common(settings),
    name,
    baseURL: settings.baseUrl ?? '',
    includeUsage: true,
    fetch,
    transformRequestBody: (body) => Object.fromEntries(Object.entries(body).filter(([field]) => !omitted.has(field))),
  });
  return {
    languageModel(modelId) {
      const model = factory.languageModel(modelId);
      omitFields(model, omitted);
      return model;
    },
  };
}

/** Ollama and Azure give their addresses without the path of the API. */
function withPath(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  return url.pathname === '/' ? new URL(path, url).href : baseUrl;
}

function withAzurePath(settings: ModelSettings): ModelSettings {
  const { baseUrl } = settings;
  const isAzure = baseUrl && /\.azure\.com$/.test(new URL(baseUrl).hostname);
  return isAzure ? { ...settings, baseUrl: withPath(baseUrl, '/openai') } : settings;
}

/** Adds what to do when Ollama is not running. The AI SDK recognises a network error by its message and shows its cause. */
function fetchFromOllama(urlAdvice: string): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await modelFetch(input, init);
    } catch (error) {
      const reason = errorText(error);
      if (!(error instanceof TypeError) || !/ECONNREFUSED|ENOTFOUND/.test(reason)) throw error;
      const text = `${reason.replace('fetch failed: ', '')}. Is Ollama running? Start Ollama or ${urlAdvice}.`;
      throw new TypeError(error.message, { cause: new Error(text, { cause: error }) });
    }
  };
}

function checkBaseUrl(name: string, baseUrl: string): void {
  const instead = httpUrlHint(baseUrl);
  if (instead === undefined) return;
  throw new PocketError(
    'CONFIG_INVALID',
    `${name} must be a whole URL such as "http://localhost:8000/v1", got "${baseUrl}". ${instead}`,
  );
}

function isMissing(error: unknown, packageName: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    errorText(error).includes(packageName)
  );
}
