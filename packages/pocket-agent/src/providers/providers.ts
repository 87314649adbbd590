// The model providers that the prefix of a model name can mean: one entry for each.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { errorText, nullable, nullableString, OptionSet, secretStringMap } from '@pocket-agent/kit';
import { modelFetch } from './model-fetch.ts';
import { omitFields } from './omitted-fields.ts';

/** For models given by name; a model object has its own settings. */
export interface ModelSettings {
  apiKey?: string;
  baseUrl?: string;
  headers?: Record<string, string>;
}

export const modelSettings = new OptionSet<ModelSettings>('modelSettings', {
  apiKey: { ...nullableString, isSecret: true },
  baseUrl: nullableString,
  headers: { ...secretStringMap, ...nullable(secretStringMap.expected, secretStringMap.accepts) },
});

interface Factory {
  languageModel(modelId: string): LanguageModelV4;
}

export interface KnownProvider {
  prefix: string;
  packageName: string;
  /** Environment variables with the key; the first one that is set counts. */
  keyVariables: readonly string[];
  needsKey: boolean;
  baseUrlVariable?: string;
  defaultBaseUrl?: string;
  /** There is no default address: this variable or a base URL must be set. */
  addressVariable?: string;
  /** The model that the command line chooses if the key is set and no model was given. */
  defaultModel?: string;
}

interface Provider extends KnownProvider {
  /** The settings include those of the environment. `urlAdvice` says how to change the base URL. */
  load(settings: ModelSettings, urlAdvice: string): Promise<Factory>;
}

/** In the order in which the command line looks for a key. */
export const knownProviders: readonly Provider[] = [
  {
    prefix: 'anthropic',
    packageName: '@ai-sdk/anthropic',
    keyVariables: ['ANTHROPIC_API_KEY'],
    needsKey: true,
    baseUrlVariable: 'ANTHROPIC_BASE_URL',
    defaultModel: 'anthropic/claude-sonnet-5',
    load: async (settings) => (await import('@ai-sdk/anthropic')).createAnthropic(common(settings)),
  },
  {
    prefix: 'openai',
    packageName: '@ai-sdk/openai',
    keyVariables: ['OPENAI_API_KEY'],
    needsKey: true,
    baseUrlVariable: 'OPENAI_BASE_URL',
    defaultModel: 'openai/gpt-5.4-mini',
    load: async (settings) => (await import('@ai-sdk/openai')).createOpenAI(common(settings)),
  },
  {
    prefix: 'google',
    packageName: '@ai-sdk/google',
    keyVariables: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    needsKey: true,
    defaultModel: 'google/gemini-3.5-flash',
    load: async (settings) => (await import('@ai-sdk/google')).createGoogleGenerativeAI(common(settings)),
  },
  {
    prefix: 'azure',
    packageName: '@ai-sdk/azure',
    keyVariables: ['AZURE_API_KEY'],
    needsKey: true,
    addressVariable: 'AZURE_RESOURCE_NAME',
    load: async (settings) => (await import('@ai-sdk/azure')).createAzure(common(withAzurePath(settings))),
  },
  {
    prefix: 'ollama',
    packageName: '@ai-sdk/openai-compatible',
    keyVariables: [],
    needsKey: false,
    baseUrlVariable: 'OLLAMA_BASE_URL',
    defaultBaseUrl: 'http://127.0.0.1:11434/v1',
    load: ({ baseUrl = '', ...settings }, urlAdvice) =>
      compatible('ollama', { ...settings, baseUrl: withPath(baseUrl, '/v1') }, fetchFromOllama(urlAdvice)),
  },
  {
    prefix: 'openai-compatible',
    packageName: '@ai-sdk/openai-compatible',
    keyVariables: ['OPENAI_COMPATIBLE_API_KEY'],
    needsKey: false,
    baseUrlVariable: 'OPENAI_COMPATIBLE_BASE_URL',
    addressVariable: 'OPENAI_COMPATIBLE_BASE_URL',
    load: (settings) => compatible('openai-compatible', settings),
  },
];

export function providerByPrefix(prefix: string | undefined): Provider | undefined {
  return knownProviders.find((provider) => provider.prefix === prefix);
}

/** Whether Node finds the package of a provider from here, where it would be imported. */
export function isInstalled({ packageName }: KnownProvider): boolean {
  try {
    import.meta.resolve(packageName);
    return true;
  } catch {
    return false;
  }
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

/** Adds what to do if Ollama is not running. The AI SDK knows network errors by their message and shows the cause. */
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
