// Whether models take tools and images, by the names of their families: no price table has this.

export interface ModelAbilities {
  /** Undefined if it is unknown. */
  tools?: boolean;
  images?: boolean;
}

/** Embeddings, speech, images and the like, which the price table also has. */
const OTHER_KINDS =
  /embed|rerank|moderation|whisper|transcribe|tts|dall-e|imagen|\bveo|\bsora|realtime|-live-|gpt-(image|audio)|-image\b/;

export function isLanguageModel(model: string): boolean {
  return !OTHER_KINDS.test(model.toLowerCase());
}

/** The first match counts. */
const families: readonly (readonly [RegExp, ModelAbilities])[] = [
  [/claude-(?!instant|v?[12]\b)/, { tools: true, images: true }],
  [/gemini-(?!1\.0)/, { tools: true, images: true }],
  [/gpt-oss|gpt-3\.5|gpt-4(-\d{4}|-32k|$)|o[13]-mini/, { tools: true, images: false }],
  [/gpt-(4o|4\.\d|4-turbo|[5-9])|(^|\/)o[134](-|$)/, { tools: true, images: true }],
  [/grok-(4|2-vision)/, { tools: true, images: true }],
  [/grok-/, { tools: true, images: false }],
  [/llama-?4/, { tools: true, images: true }],
  [/llama-?3\.2-(11b|90b)|vision|pixtral|(qwen|glm)[\w.-]*v(l\b|-)/, { images: true }],
  [
    /llama-?3\.[13]|qwen-?[23](?![\w.-]*vl)|command-[ar](?!.*vision)|mi[sx]tral-7b|mixtral/,
    { tools: true, images: false },
  ],
  [/deepseek/, { tools: true, images: false }],
  [/mistral|devstral|magistral|codestral|kimi|glm-|minimax|nova-/, { tools: true }],
  [/sonar/, { tools: false, images: true }],
];

/** `model`: its name with or without a provider. */
export function abilitiesOf(model: string): ModelAbilities {
  return families.find(([pattern]) => pattern.test(model.toLowerCase()))?.[1] ?? {};
}
