// Makes the model object of a provider package, with the settings that each package wants.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { errorText, PocketError } from '@pocket-agent/kit';
import { importPackage, installCommand } from './provider-package.ts';
import { type ProviderOptions, withPath } from './provider-settings.ts';
import type { KnownProvider } from './provider-table.ts';

interface PackageProvider {
  languageModel(modelId: string): LanguageModelV4;
  chat?(modelId: string): LanguageModelV4;
}

interface ModelRequest {
  /** As the user wrote it. */
  model: string;
  modelId: string;
  provider: KnownProvider;
  options: ProviderOptions;
}

type Create = (settings: object) => PackageProvider;

/** Loaded with the first request. */
const modelFetch: typeof fetch = async (input, init) =>
  (await import('@pocket-agent/http/model-fetch')).modelFetch(input, init);

export async function createModel(request: ModelRequest): Promise<LanguageModelV4> {
  const { provider, modelId, options } = request;
  if (provider.factory === 'createOpenAICompatible') return compatibleModel(await factoryOf(request), request);
  const make = special[provider.prefix];
  if (make) return make(await factoryOf(request), request);
  return (await factoryOf(request))(settingsOf(options)).languageModel(modelId);
}

type MakeModel = (create: Create, request: ModelRequest) => LanguageModelV4;

const special: Readonly<Record<string, MakeModel>> = {
  azure: azureModel,
  'amazon-bedrock': (create, { modelId, options }) =>
    // LiteLLM's names say which API of Bedrock to use
    create(settingsOf(options)).languageModel(modelId.replace(/^(converse|invoke)\//, '')),
  'open-responses': (create, { modelId, options: { baseUrl = '', ...options } }) => {
    const url = `${baseUrl.replace(/\/$/, '')}/responses`;
    return create({ ...settingsOf(options), name: 'open-responses', url }).languageModel(modelId);
  },
  // without this, streams report no usage
  openrouter: (create, { modelId, options }) =>
    create({ ...settingsOf(options), compatibility: 'strict' }).languageModel(modelId),
};

function settingsOf({ apiKey, baseUrl, headers, more }: Omit<ProviderOptions, 'urlAdvice'>) {
  return {
    ...(apiKey && { apiKey }),
    ...(baseUrl && { baseURL: baseUrl }),
    ...(headers && { headers }),
    ...more,
    fetch: modelFetch,
  };
}

async function factoryOf({ model, modelId, provider }: ModelRequest): Promise<Create> {
  const { packageName } = provider;
  const isClaude = provider.prefix === 'google-vertex' && modelId.startsWith('claude');
  const path = isClaude ? `${packageName}/anthropic` : packageName;
  const name = isClaude ? 'createVertexAnthropic' : provider.factory;
  const create = (await importPackage(model, provider, path))[name];
  if (typeof create === 'function') return create as Create;
  const text = `Model "${model}": the installed version of ${packageName} has no ${name}: ${installCommand(`${packageName}@latest`)}`;
  throw new PocketError('MODEL_PACKAGE_MISSING', text);
}

/** Versions that are dates have only chat completions, at the address of the deployment. */
function azureModel(create: Create, { modelId, options }: ModelRequest): LanguageModelV4 {
  const { baseUrl } = options;
  const isAzure = baseUrl && /\.azure\.com$/.test(new URL(baseUrl).hostname);
  const settings = settingsOf(isAzure ? { ...options, baseUrl: withPath(baseUrl, '/openai') } : options);
  const isDated = /^\d{4}-\d\d-\d\d/.test(options.more.apiVersion ?? '');
  const provider = create({ ...settings, ...(isDated && { useDeploymentBasedUrls: true }) });
  return isDated && provider.chat ? provider.chat(modelId) : provider.languageModel(modelId);
}

function compatibleModel(create: Create, { provider, modelId, options }: ModelRequest): LanguageModelV4 {
  const omitted = new Set<string>();
  const model = create({
    ...settingsOf(options),
    name: provider.prefix,
    includeUsage: true,
    ...(provider.prefix === 'ollama' && { fetch: fetchFromOllama(options.urlAdvice) }),
    transformRequestBody: (body: object) =>
      Object.fromEntries(Object.entries(body).filter(([field]) => !omitted.has(field))),
  }).languageModel(modelId);
  omitFields(model, omitted);
  return model;
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

/** Top-level fields that are left out of the requests of a model because its server rejected them. */
const fieldsByModel = new WeakMap<LanguageModelV4, Set<string>>();

/** Registers the set of field names that the model leaves out. It may grow after each rejection. */
export function omitFields(model: LanguageModelV4, fields: Set<string>): void {
  fieldsByModel.set(model, fields);
}

/** Undefined for models that always send every field. */
export function omittedFields(model: LanguageModelV4): Set<string> | undefined {
  return fieldsByModel.get(model);
}
