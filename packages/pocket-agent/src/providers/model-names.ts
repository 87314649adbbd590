// Model names such as "anthropic/claude-sonnet-5", and the AI SDK models they stand for.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { closest, httpUrlHint, PocketError } from '@pocket-agent/kit';
import { isInstalled, knownProviders, type ModelSettings, modelSettings, providerByPrefix } from './providers.ts';

export type LanguageModel = LanguageModelV4;

/** The demo model, which needs no key. */
const DEMO = 'demo';

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
  where = 'modelSettings',
): Promise<LanguageModel> {
  if (typeof model !== 'string') return model;
  modelSettings.check(settings, where);
  if (model === DEMO) return (await import('../demo/model.ts')).createDemoModel();
  const { provider, modelId } = findProvider(model);
  const { keyVariables, packageName, addressVariable } = provider;
  const apiKey = settings.apiKey || keyVariables.map((variable) => process.env[variable]).find(Boolean);
  const urlVariable = settings.baseUrl ? undefined : provider.baseUrlVariable;
  const givenUrl = settings.baseUrl || (urlVariable && process.env[urlVariable]);
  if (givenUrl) checkBaseUrl(urlVariable ?? `${where}.baseUrl`, givenUrl);
  if (!apiKey && provider.needsKey) {
    const text = `Model "${model}" needs a key: set ${keyVariables.join(' or ')}, or pass ${where}.apiKey.`;
    throw new PocketError('MODEL_KEY_MISSING', text);
  }
  if (addressVariable && !givenUrl && !process.env[addressVariable]) {
    const text = `Model "${model}" needs an address: set ${addressVariable} or ${where}.baseUrl.`;
    throw new PocketError('CONFIG_INVALID', text);
  }
  const { headers } = settings;
  const baseUrl = givenUrl || provider.defaultBaseUrl;
  const all = { ...(apiKey && { apiKey }), ...(baseUrl && { baseUrl }), ...(headers && { headers }) };
  try {
    const urlAdvice = urlVariable ? `set ${urlVariable}` : `correct ${where}.baseUrl`;
    return (await provider.load(all, urlAdvice)).languageModel(modelId);
  } catch (error) {
    if (isInstalled(provider)) throw error;
    const text = `Model "${model}" needs the package ${packageName}: npm install ${packageName}`;
    throw new PocketError('MODEL_PACKAGE_MISSING', text, { cause: error });
  }
}

/** The name as users write it: `anthropic/claude-sonnet-5` for a model of `anthropic.messages`. */
export function modelName({ provider, modelId }: Pick<LanguageModel, 'provider' | 'modelId'>): string {
  return `${prefixOf(provider)}/${modelId}`;
}

/** What to do after a provider rejected the key or the name of a model. `where` names the settings. */
export function adviceAfterRejection(
  rejected: 'key' | 'model',
  { provider, modelId }: LanguageModel,
  where = 'modelSettings',
): string {
  if (rejected === 'model') {
    return `The provider does not know "${modelId}": check the name, and the base URL if you set one.`;
  }
  const known = providerByPrefix(prefixOf(provider));
  return known ? `Check the key: ${[...known.keyVariables, `${where}.apiKey`].join(' or ')}.` : 'Check the key.';
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

/** The provider that a model name stands for. Undefined for names without a provider, such as "demo". */
export function providerOf(model: string): string | undefined {
  const slash = model.indexOf('/');
  return slash > 0 ? model.slice(0, slash) : bareNames.find(([pattern]) => pattern.test(model))?.[1];
}

function findProvider(model: string) {
  const modelId = model.slice(model.indexOf('/') + 1);
  const provider = providerByPrefix(providerOf(model));
  if (!provider || !modelId) throw unknownModel(model);
  return { provider, modelId };
}

function unknownModel(model: string): PocketError {
  const names = knownProviders.map(({ prefix }) => prefix);
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

function checkBaseUrl(name: string, baseUrl: string): void {
  const instead = httpUrlHint(baseUrl);
  if (instead === undefined) return;
  throw new PocketError(
    'CONFIG_INVALID',
    `${name} must be a whole URL such as "http://localhost:8000/v1", got "${baseUrl}". ${instead}`,
  );
}
