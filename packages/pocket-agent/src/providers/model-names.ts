// Model names such as "anthropic/claude-sonnet-5", and the AI SDK models they stand for.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { closest, configError, PocketError, printable } from '@pocket-agent/kit';
import { createModel } from './provider-models.ts';
import { installCommand, installedPrefixes } from './provider-package.ts';
import { type ModelSettings, modelSettings, readProviderOptions } from './provider-settings.ts';
import { knownProviders, providerByPrefix } from './provider-table.ts';

/** A model object of AI SDK 7; wrap one to change what every call sends or returns. */
export type LanguageModel = LanguageModelV4;

const MAX_SHOWN_NAME = 200;
const MAX_SHOWN_PROVIDERS = 5;
/** The demo model, which needs no key. */
const DEMO = 'demo';

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
  if (typeof model !== 'string') {
    checkModelObject(model, 'The model');
    return model;
  }
  modelSettings.check(settings, where);
  if (model === DEMO) return (await import('../demo/model.ts')).createDemoModel();
  const { provider, modelId } = findProvider(model);
  const shown = shownName(model);
  const options = readProviderOptions(provider, { model: shown, settings, where });
  const found = await createModel({ model: shown, modelId, provider, options });
  checkModelObject(found, `Model "${shown}"`);
  return found;
}

/** The name as users write it: `anthropic/claude-sonnet-5` for a model of `anthropic.messages`. */
export function modelName({ provider, modelId }: Pick<LanguageModel, 'provider' | 'modelId'>): string {
  return `${prefixOf(provider)}/${modelId}`;
}

/** Advice after a provider has rejected the key or the name of a model. `where` names the settings. */
export function adviceAfterRejection(
  rejected: 'key' | 'model',
  { provider, modelId }: LanguageModel,
  where = 'modelSettings',
): string {
  if (rejected === 'model') {
    return `The provider does not know "${modelId}": check the name, and the base URL if you set one.`;
  }
  const { keyVariables, insteadOfKey = [] } = providerByPrefix(prefixOf(provider)) ?? {};
  if (!keyVariables) return 'Check the key.';
  return `Check the key: ${[...keyVariables, ...insteadOfKey.slice(0, 1), `${where}.apiKey`].join(' or ')}.`;
}

/** Throws for an unknown name, without loading anything. */
export function checkModelName(model: string): void {
  if (model === DEMO) return;
  findProvider(model);
}

/** The provider that a model name stands for. Undefined for names without a provider, such as "demo". */
export function providerOf(model: string): string | undefined {
  const slash = model.indexOf('/');
  if (slash <= 0) return bareNames.find(([pattern]) => pattern.test(model))?.[1];
  const prefix = model.slice(0, slash);
  return providerByPrefix(prefix)?.prefix ?? prefix;
}

function findProvider(model: string) {
  const modelId = model.slice(model.indexOf('/') + 1);
  const provider = providerByPrefix(providerOf(model));
  if (!provider || !modelId) throw unknownModel(shownName(model));
  return { provider, modelId };
}

/** For errors: the name may come from anywhere. */
function shownName(model: string): string {
  return printable(model, MAX_SHOWN_NAME);
}

function unknownModel(model: string): PocketError {
  const names = knownProviders.map(({ prefix }) => prefix);
  const slash = model.indexOf('/');
  const prefix = model.slice(0, Math.max(slash, 0));
  const near = slash < 0 ? closest(model, [DEMO]) : closest(prefix, names);
  const meant = near && near !== prefix ? ` Did you mean "${near}${slash < 0 ? '' : model.slice(slash)}"?` : '';
  const routerHint = slash < 0 ? ' The name of a routed model needs the option "router" of the agent.' : '';
  return new PocketError(
    'MODEL_UNKNOWN',
    `Unknown model "${model}".${meant} Write provider/model, a bare gpt-…, claude-… or gemini-… name, "${DEMO}", or pass an AI SDK model object.${routerHint} ${providersText()}`,
  );
}

/** Prefixes whose package is installed, and where all are listed. */
function providersText(): string {
  const installed = installedPrefixes();
  const shown = installed.slice(0, MAX_SHOWN_PROVIDERS).join(', ') || 'none';
  const others = installed.length - MAX_SHOWN_PROVIDERS;
  return `Installed providers: ${shown}${others > 0 ? ` and ${others} more` : ''}; docs/models.md of this package lists all.`;
}

/** The AI SDK that each older version of the interface belongs to. */
const sdkVersions: Readonly<Record<string, string>> = { v1: '4', v2: '5', v3: '6' };

/** Throws unless `model` is a model object of AI SDK 7. `where` names the option. */
export function checkModelObject(model: unknown, where: string): void {
  const field = (name: string) => (isObject(model) ? Reflect.get(model, name) : undefined);
  const version = String(field('specificationVersion'));
  if (version === 'v4' && typeof field('doGenerate') === 'function') return;
  const sdk = Object.hasOwn(sdkVersions, version) ? sdkVersions[version] : undefined;
  if (sdk === undefined) {
    const text = `${where} must be a string such as "openai/gpt-5-nano" or a model object of AI SDK 7 (LanguageModelV4).`;
    throw configError(text);
  }
  const { packageName } = providerByPrefix(prefixOf(String(field('provider')))) ?? {};
  const wayOut = packageName
    ? installCommand(`${packageName}@latest`)
    : 'install a version of its package for AI SDK 7';
  throw configError(
    `${where} is a model of AI SDK ${sdk} (${version.toUpperCase()}); only models of AI SDK 7 (V4) work: ${wayOut}`,
  );
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** `anthropic` for `anthropic.messages`. */
export function prefixOf(provider: string): string {
  if (/^(google\.vertex|googleVertex|vertex)\b/.test(provider)) return 'google-vertex';
  const end = provider.indexOf('.');
  return end < 0 ? provider : provider.slice(0, end);
}
