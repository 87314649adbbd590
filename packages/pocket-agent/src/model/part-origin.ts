// Parts of an answer that only their maker understands: ids of stored items, encrypted reasoning, calls that a provider
// ran itself. They are marked with their maker, so that no other model gets them.
import type { LanguageModelV4, LanguageModelV4Content, SharedV4ProviderOptions } from '@ai-sdk/provider';

const MARK = 'pocketAgent';
/** Where OpenAI and Azure note what is known to one account only. */
const namespaces = ['openai', 'azure'];
const itemFields = ['itemId', 'reasoningEncryptedContent', 'encryptedContent'];

const origins = new WeakMap<LanguageModelV4, string>();

/** Stands for the account behind a model, which nothing tells: another object may be another account. */
export function originOf(model: LanguageModelV4): string {
  const known = origins.get(model);
  if (known) return known;
  const origin = crypto.randomUUID();
  origins.set(model, origin);
  return origin;
}

type Marked = { type: string; providerMetadata?: SharedV4ProviderOptions; providerExecuted?: boolean | undefined };

/** Marks what only `model` understands; the same part when there is nothing to mark. */
export function markPart<Part extends Marked>(part: Part, model: LanguageModelV4): Part {
  const { providerMetadata = {} } = part;
  const isBound =
    part.providerExecuted || part.type === 'tool-result' || part.type === 'custom' || hasItems(providerMetadata);
  if (!isBound || MARK in providerMetadata) return part;
  const mark = { origin: originOf(model), provider: model.provider };
  return { ...part, providerMetadata: { ...providerMetadata, [MARK]: mark } };
}

/** Providers do not store the items of an unfinished answer. */
export function unmarkPart(part: LanguageModelV4Content): LanguageModelV4Content {
  if (!part.providerMetadata || !(MARK in part.providerMetadata)) return part;
  const { [MARK]: _, ...providerMetadata } = part.providerMetadata;
  return { ...part, providerMetadata };
}

type WithOptions = { providerOptions?: SharedV4ProviderOptions };

export function isOwn({ providerOptions }: WithOptions, origin: string): boolean {
  return providerOptions?.[MARK]?.origin === origin;
}

/** True also for parts of an older history, which are not marked. */
export function isOwnProvider({ providerOptions }: WithOptions, provider: string): boolean {
  const maker = providerOptions?.[MARK]?.provider;
  return maker === undefined || maker === provider;
}

/** The same part when it holds nothing of the kind. */
export function withoutItems<Part extends WithOptions>(part: Part): Part {
  if (!part.providerOptions || !hasItems(part.providerOptions)) return part;
  const entries = Object.entries(part.providerOptions).map(([name, options]) => {
    if (!namespaces.includes(name)) return [name, options];
    return [name, Object.fromEntries(Object.entries(options).filter(([field]) => !itemFields.includes(field)))];
  });
  return { ...part, providerOptions: Object.fromEntries(entries) };
}

function hasItems(options: SharedV4ProviderOptions): boolean {
  return namespaces.some((name) => itemFields.some((field) => (options[name]?.[field] ?? null) !== null));
}
