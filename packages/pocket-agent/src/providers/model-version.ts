// Checks model objects: they must be of AI SDK 7. Each version of the AI SDK has its own interface for models.
import { configError } from '@pocket-agent/kit';
import { providerByPrefix } from './provider-table.ts';

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
  const wayOut = packageName ? `npm install ${packageName}@latest` : 'install a version of its package for AI SDK 7';
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
