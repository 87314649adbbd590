// What each provider takes and refuses in a request. Prompts are built by these rules; the history is left as it is.
import type { LanguageModelV4 } from '@ai-sdk/provider';

export interface ProviderRules {
  /** Files in tool results are refused or shown as text, so they go into a user message behind the results. */
  readonly liftsFiles: boolean;
  /** Image types that are taken. Undefined: all. */
  readonly imageTypes: readonly string[] | undefined;
  /** Longest image, in base64 characters. */
  readonly maxImageLength: number;
  /** Types of other files that are taken. Undefined: all. */
  readonly fileTypes: RegExp | undefined;
  /** Takes files that an assistant made, and signatures on empty text. */
  readonly keepsGenerated: boolean;
  /** Which calls that a provider ran itself are sent back: all, its own, or those of the same account. */
  readonly serverCalls: 'all' | 'provider' | 'account' | 'none';
  /** Whether ids of stored items and encrypted reasoning may be sent to the account they came from. */
  readonly keepsItems: boolean;
  readonly sendsReasoning: boolean;
  /** The images that were refused last, by a hash of their data or address. */
  readonly refusedImages: ReadonlySet<string>;
  /** Ids of tool calls must be nine letters or digits. */
  readonly shortCallIds: boolean;
  /** An assistant message must stand between tool results and a user message. */
  readonly answersTools: boolean;
}

/** For providers nothing is known of: everything is sent. */
export const neutralRules: ProviderRules = {
  liftsFiles: false,
  imageTypes: undefined,
  maxImageLength: Number.POSITIVE_INFINITY,
  fileTypes: undefined,
  keepsGenerated: true,
  serverCalls: 'all',
  keepsItems: true,
  sendsReasoning: true,
  refusedImages: new Set(),
  shortCallIds: false,
  answersTools: false,
};

const MB = 1024 * 1024;
const webImages = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const chat: Partial<ProviderRules> = {
  liftsFiles: true,
  imageTypes: webImages,
  maxImageLength: 20 * MB,
  fileTypes: /^(application\/pdf|text\/.*|audio\/(wav|mp3|mpeg))$/,
  keepsGenerated: false,
  serverCalls: 'none',
};
const anthropic: Partial<ProviderRules> = {
  imageTypes: webImages,
  maxImageLength: 5 * MB,
  fileTypes: /^(application\/pdf|text\/plain)$/,
  keepsGenerated: false,
  serverCalls: 'provider',
};
const google: Partial<ProviderRules> = {
  imageTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  maxImageLength: 20 * MB,
  serverCalls: 'provider',
};
const responses: Partial<ProviderRules> = {
  imageTypes: webImages,
  maxImageLength: 20 * MB,
  fileTypes: /^application\/pdf$/,
  keepsGenerated: false,
  serverCalls: 'account',
};

/** By the name that the provider's package gives its models; the first that fits counts. */
const known: readonly (readonly [RegExp, Partial<ProviderRules>])[] = [
  [/anthropic/, anthropic],
  [/^google\b/, google],
  [/\.responses$/, responses],
  [/^mistral\b/, { ...chat, fileTypes: /^application\/pdf$/, shortCallIds: true, answersTools: true }],
  [/^groq\b/, { ...chat, maxImageLength: 4 * MB, fileTypes: /^$/ }],
  [/\.(chat|completion|deepseek)$/, chat],
];

const rulesByModel = new WeakMap<LanguageModelV4, ProviderRules>();

/** The same object until something is learned of the model. */
export function rulesOf(model: LanguageModelV4): ProviderRules {
  const cached = rulesByModel.get(model);
  if (cached) return cached;
  const found = known.find(([pattern]) => pattern.test(model.provider))?.[1];
  const rules = found ? { ...neutralRules, ...found, ...generationRules(model) } : neutralRules;
  rulesByModel.set(model, rules);
  return rules;
}

/** Gemini takes files in tool results from version 3 on. */
function generationRules({ provider, modelId }: LanguageModelV4): Partial<ProviderRules> {
  return /^google\b/.test(provider) && !/gemini-(?!(1|2)(\D|$))/.test(modelId) ? { liftsFiles: true } : {};
}

interface Lesson {
  refusal: RegExp;
  rule: Partial<ProviderRules>;
  /** What is left out from now on. */
  text: string;
}

/** What a refusal says of a provider, whatever its name. */
const lessons: readonly Lesson[] = [
  {
    refusal: /item with id .* not found|invalid_encrypted_content|encrypted content .*could not be/is,
    rule: { keepsItems: false },
    text: 'ids and encrypted reasoning of earlier answers',
  },
  {
    refusal: /tool call id .* (must be|length of 9)/is,
    rule: { shortCallIds: true },
    text: 'long ids of tool calls',
  },
  {
    refusal: /unexpected role .?user.? after role .?tool/i,
    rule: { answersTools: true },
    text: 'user messages directly behind tool results',
  },
  {
    // of parts of the history: a refused setting is the program's to change
    refusal:
      /(reasoning_content|extra_content|(\breasoning\b|thinking)(?!['"`]?[._ ](effort|summary|type|budget))).{0,80}(unsupported|not supported|not permitted|extra_forbidden|unknown|unrecognized|unexpected|invalid)|(extra inputs|extra_forbidden|invalid|unknown|unrecognized|unexpected|unsupported).{0,80}(reasoning_content|extra_content|`?thinking`? block)/is,
    rule: { sendsReasoning: false },
    text: 'reasoning of earlier answers',
  },
];

const REFUSED_IMAGE =
  /could not process image|image (input|content|data|url|exceeds|format|type)|invalid image|image is not valid|unsupported (image|mime)|(image|vision|multimodal)\S* .{0,40}not (supported|support)|not support\S* .{0,20}image/i;

/** Far more than one conversation holds; an older one would be refused and learned again. */
const MOST_REFUSED_IMAGES = 10_000;

/** Leaves the images of a refused request out from now on; others are sent. Undefined when it was not for images. */
export function learnImages(model: LanguageModelV4, refusal: string, images: readonly string[]): string | undefined {
  const rules = rulesOf(model);
  const fresh = images.filter((image) => !rules.refusedImages.has(image));
  if (fresh.length === 0 || !REFUSED_IMAGE.test(refusal)) return undefined;
  // all of this request, however many: one that is forgotten would be sent and refused again and again
  const most = Math.max(MOST_REFUSED_IMAGES, images.length);
  const refusedImages = new Set([...rules.refusedImages, ...images].slice(-most));
  rulesByModel.set(model, { ...rules, refusedImages });
  return fresh.length === 1 ? 'an image' : `${fresh.length} images`;
}

/** Changes the rules of a model by what it refused. Undefined when there is nothing to learn, or it was known. */
export function learnRule(model: LanguageModelV4, refusal: string): string | undefined {
  const rules = rulesOf(model);
  const isNew = ({ rule }: Lesson) =>
    Object.entries(rule).some(([name, value]) => rules[name as keyof ProviderRules] !== value);
  const lesson = lessons.find((each) => each.refusal.test(refusal) && isNew(each));
  if (!lesson) return undefined;
  rulesByModel.set(model, { ...rules, ...lesson.rule });
  return lesson.text;
}
