// Parts of an answer that only the account that produced them can read back: ids of stored items, encrypted reasoning,
// calls that the provider ran itself. They are tagged with their account, so that no other model gets them.
import type { LanguageModelV4, LanguageModelV4Content, SharedV4ProviderOptions } from '@ai-sdk/provider';

/** The key of the tag in the metadata of a part. */
export const ACCOUNT_TAG = 'pocketAgent';
/** Where OpenAI and Azure put such data. */
const namespaces = ['openai', 'azure'];
const accountFields = ['itemId', 'reasoningEncryptedContent', 'encryptedContent'];

const accounts = new WeakMap<LanguageModelV4, string>();

/** An id for the account behind a model. Accounts cannot be compared, so every model object counts as its own. */
export function accountOf(model: LanguageModelV4): string {
  const known = accounts.get(model);
  if (known) return known;
  const account = crypto.randomUUID();
  accounts.set(model, account);
  return account;
}

type Taggable = { type: string; providerMetadata?: SharedV4ProviderOptions; providerExecuted?: boolean | undefined };

/** Returns the same part if any model can read it. */
export function tagPart<Part extends Taggable>(part: Part, model: LanguageModelV4): Part {
  const { providerMetadata = {} } = part;
  const isBound =
    part.providerExecuted || part.type === 'tool-result' || part.type === 'custom' || hasAccountData(providerMetadata);
  if (!isBound || ACCOUNT_TAG in providerMetadata) return part;
  const tag = { origin: accountOf(model), provider: model.provider };
  return { ...part, providerMetadata: { ...providerMetadata, [ACCOUNT_TAG]: tag } };
}

/** For unfinished answers, whose items providers do not store. */
export function untagPart(part: LanguageModelV4Content): LanguageModelV4Content {
  if (!part.providerMetadata || !(ACCOUNT_TAG in part.providerMetadata)) return part;
  const { [ACCOUNT_TAG]: _, ...providerMetadata } = part.providerMetadata;
  return { ...part, providerMetadata };
}

export type WithOptions = { providerOptions?: SharedV4ProviderOptions };

export function isFromAccount({ providerOptions }: WithOptions, account: string): boolean {
  return providerOptions?.[ACCOUNT_TAG]?.origin === account;
}

/** Also true for parts of an older history, which have no tag. */
export function isFromProvider({ providerOptions }: WithOptions, provider: string): boolean {
  const from = providerOptions?.[ACCOUNT_TAG]?.provider;
  return from === undefined || from === provider;
}

/** Returns the same part if it has no such data. */
export function withoutAccountData<Part extends WithOptions>(part: Part): Part {
  if (!part.providerOptions || !hasAccountData(part.providerOptions)) return part;
  const entries = Object.entries(part.providerOptions).map(([name, options]) => {
    if (!namespaces.includes(name)) return [name, options];
    return [name, Object.fromEntries(Object.entries(options).filter(([field]) => !accountFields.includes(field)))];
  });
  return { ...part, providerOptions: Object.fromEntries(entries) };
}

function hasAccountData(options: SharedV4ProviderOptions): boolean {
  return namespaces.some((name) => accountFields.some((field) => (options[name]?.[field] ?? null) !== null));
}
