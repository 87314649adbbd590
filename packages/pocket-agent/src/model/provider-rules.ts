// The rules of each provider for requests. Prompts follow them; the history stays as it is.
import type { LanguageModelV4 } from '@ai-sdk/provider';

export interface ProviderRules {
  /** Files in tool results are rejected or read as text, so they move to a user message after the results. */
  readonly liftsFiles: boolean;
  /** Accepted image types. Undefined: all. */
  readonly imageTypes: readonly string[] | undefined;
  /** Longest accepted image, in base64 characters. */
  readonly maxImageLength: number;
  /** Accepted types of other files. Undefined: all. */
  readonly fileTypes: RegExp | undefined;
  readonly sendsGeneratedFiles: boolean;
  /** Gemini signs empty text and requires the signature in later requests. */
  readonly sendsSignedEmptyText: boolean;
  /** Which server-side tool calls are sent back: all, those of the same provider, or those of the same account. */
  readonly serverCalls: 'all' | 'provider' | 'account' | 'none';
  /** Ids of stored items and encrypted reasoning may be sent to the account they came from. */
  readonly sendsStoredIds: boolean;
  readonly sendsReasoning: boolean;
  /** The images and files that were rejected last, as hashes of their data or URL. */
  readonly rejectedFiles: ReadonlySet<string>;
  /** Ids of tool calls must be nine letters or digits. */
  readonly shortCallIds: boolean;
  /** Between tool results and a user message there must be an assistant message. */
  readonly needsAnswerAfterResults: boolean;
  /** Which JSON Schemas of an answer are enforced. Strict ones have closed objects without optional properties. */
  readonly enforcedSchemas: 'all' | 'strict' | 'none';
}

/** The rules for unknown providers: everything is sent. */
export const neutralRules: ProviderRules = {
  liftsFiles: false,
  imageTypes: undefined,
  maxImageLength: Number.POSITIVE_INFINITY,
  fileTypes: undefined,
  sendsGeneratedFiles: true,
  sendsSignedEmptyText: true,
  serverCalls: 'all',
  sendsStoredIds: true,
  sendsReasoning: true,
  rejectedFiles: new Set(),
  shortCallIds: false,
  needsAnswerAfterResults: false,
  enforcedSchemas: 'none',
};

const MB = 1024 * 1024;
const webImages = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const chat: Partial<ProviderRules> = {
  liftsFiles: true,
  imageTypes: webImages,
  maxImageLength: 20 * MB,
  fileTypes: /^(application\/pdf|audio\/(wav|mp3|mpeg))$/,
  sendsGeneratedFiles: false,
  sendsSignedEmptyText: false,
  serverCalls: 'none',
};
const anthropic: Partial<ProviderRules> = {
  imageTypes: webImages,
  maxImageLength: 5 * MB,
  fileTypes: /^(application\/pdf|text\/plain)$/,
  sendsGeneratedFiles: false,
  sendsSignedEmptyText: false,
  serverCalls: 'provider',
  enforcedSchemas: 'all',
};
const google: Partial<ProviderRules> = {
  imageTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  maxImageLength: 20 * MB,
  fileTypes: /^(application\/(pdf|json)|text\/.*|audio\/.*|video\/.*)$/,
  serverCalls: 'provider',
  enforcedSchemas: 'all',
};
const responses: Partial<ProviderRules> = {
  imageTypes: webImages,
  maxImageLength: 20 * MB,
  fileTypes: /^application\/pdf$/,
  sendsGeneratedFiles: false,
  sendsSignedEmptyText: false,
  serverCalls: 'account',
  enforcedSchemas: 'strict',
};

/** By the provider name that a package gives its models; the first match counts. */
const known: readonly (readonly [RegExp, Partial<ProviderRules>])[] = [
  [/anthropic/, anthropic],
  [/^google\b/, google],
  [/\.responses$/, responses],
  [
    /^mistral\b/,
    {
      ...chat,
      fileTypes: /^application\/pdf$/,
      shortCallIds: true,
      needsAnswerAfterResults: true,
      enforcedSchemas: 'all',
    },
  ],
  [/^groq\b/, { ...chat, maxImageLength: 4 * MB, fileTypes: /^$/, enforcedSchemas: 'strict' }],
  [/deepseek/, { ...chat, fileTypes: /^$/ }],
  [/^(openai|azure)\.chat$/, { ...chat, enforcedSchemas: 'strict' }],
  [/^(openai|azure)\.completion$/, chat],
  // servers that copy OpenAI; some take video, too
  [/\.(chat|completion)$/, { ...chat, fileTypes: /^(application\/pdf|text\/.*|audio\/(wav|mp3|mpeg)|video\/.*)$/ }],
];

interface ModelRules {
  rules: ProviderRules;
  provider: string;
  modelId: string;
}

const rulesByModel = new WeakMap<LanguageModelV4, ModelRules>();

/** The same object until a rejection changes the rules of the model, or its name changes. */
export function rulesOf(model: LanguageModelV4): ProviderRules {
  const cached = rulesByModel.get(model);
  // a model object may stand for one model after another
  if (cached?.provider === model.provider && cached.modelId === model.modelId) return cached.rules;
  const found = known.find(([pattern]) => pattern.test(model.provider))?.[1];
  const rules = found ? { ...neutralRules, ...found, ...generationRules(model), ...schemaRules(model) } : neutralRules;
  return setRules(model, rules);
}

export function setRules(model: LanguageModelV4, rules: ProviderRules): ProviderRules {
  const { provider, modelId } = model;
  rulesByModel.set(model, { rules, provider, modelId });
  return rules;
}

/** Gemini accepts files in tool results from version 3 on. */
function generationRules({ provider, modelId }: LanguageModelV4): Partial<ProviderRules> {
  return /^google\b/.test(provider) && !isGemini3(modelId) ? { liftsFiles: true } : {};
}

export function isGemini3(modelId: string): boolean {
  return /gemini-(?!(1|2)(\D|$))/.test(modelId);
}

/** Models of the package openai-compatible say whether their server enforces schemas. */
function schemaRules(model: LanguageModelV4): Partial<ProviderRules> {
  const isEnforced = 'supportsStructuredOutputs' in model && model.supportsStructuredOutputs === true;
  return isEnforced ? { enforcedSchemas: 'strict' } : {};
}

/** Called when the model did not follow a schema that it was asked for. */
export function forgetSchemaSupport(model: LanguageModelV4): void {
  const rules = rulesOf(model);
  if (rules.enforcedSchemas !== 'none') setRules(model, { ...rules, enforcedSchemas: 'none' });
}

interface Lesson {
  rejection: RegExp;
  rule: Partial<ProviderRules>;
  /** The parts that later requests leave out. */
  text: string;
}

/** Rejections by any provider, and the rule to follow after each. */
const lessons: readonly Lesson[] = [
  {
    rejection: /item with id .{0,200} not found|invalid_encrypted_content|encrypted content .{0,200}could not be/is,
    rule: { sendsStoredIds: false },
    text: 'ids and encrypted reasoning of earlier answers',
  },
  {
    rejection: /tool call id .{0,200} (must be|length of 9)/is,
    rule: { shortCallIds: true },
    text: 'long ids of tool calls',
  },
  {
    rejection: /unexpected role .?user.? after role .?tool/i,
    rule: { needsAnswerAfterResults: true },
    text: 'user messages directly after tool results',
  },
  {
    // parts of the history only: a rejected setting, or a forced tool call, has nothing to do with earlier answers
    rejection:
      /^(?!.*(tool.?choice|forced? tool)).*?((reasoning_content|extra_content|(\breasoning\b|thinking)(?!['"`]?[._ ](effort|summary|type|budget))).{0,80}(unsupported|not supported|not permitted|extra_forbidden|unknown|unrecognized|unexpected|invalid)|(extra inputs|extra_forbidden|invalid|unknown|unrecognized|unexpected|unsupported).{0,80}(reasoning_content|extra_content|`?thinking`? block))/is,
    rule: { sendsReasoning: false },
    text: 'reasoning of earlier answers',
  },
];

interface ModelsBehind {
  models(): Promise<readonly LanguageModelV4[]>;
  /** The models that answer only if all of these fail. */
  fallbacks(): Promise<readonly LanguageModelV4[]>;
}

const modelsBehind = new WeakMap<LanguageModelV4, ModelsBehind>();

/** For a model that passes each call on to one of several models. */
export function setModelsBehind(model: LanguageModelV4, behind: ModelsBehind): void {
  modelsBehind.set(model, behind);
}

/** The models that may answer a call: the model itself, or those behind it. */
export async function modelsOf(model: LanguageModelV4): Promise<readonly LanguageModelV4[]> {
  return (await modelsBehind.get(model)?.models()) ?? [model];
}

export async function fallbacksOf(model: LanguageModelV4): Promise<readonly LanguageModelV4[]> {
  return (await modelsBehind.get(model)?.fallbacks()) ?? [];
}

/** Changes the rules of a model after a rejection. Undefined if no new rule follows from it. */
export function learnRule(model: LanguageModelV4, rejection: string): string | undefined {
  const rules = rulesOf(model);
  const isNew = ({ rule }: Lesson) =>
    Object.entries(rule).some(([name, value]) => rules[name as keyof ProviderRules] !== value);
  const lesson = lessons.find((each) => each.rejection.test(rejection) && isNew(each));
  if (!lesson) return undefined;
  setRules(model, { ...rules, ...lesson.rule });
  return lesson.text;
}
