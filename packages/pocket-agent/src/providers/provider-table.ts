// The model providers that the prefix of a model name can mean: one row for each. `npm run test:providers` checks the rows
// against their packages. A new row also needs
// - its package in `scripts/provider-versions.json` and in the table of `test/providers/packages.test.ts`;
// - if the package takes settings under other names, a case in `provider-models.ts`;
// - if the provider rejects prompts that others accept, a rule in `model/provider-rules.ts`, and a dialect of the fake
//   providers in `test/fixtures/providers` (its own file and an entry in `fake-providers.ts`);
// - if its errors are not understood, a case in `model/provider-errors.ts`; if its models cost nothing, or the price table has
//   another name for it (`priceId`), `cost/prices.ts`;
// - if OpenTelemetry has another name for it, a row of `wellKnown` in `tracing/names.ts`;
// - if its models are known without a prefix, a row of `bareNames` in `model-names.ts`; if its models name their provider
//   differently, a case of `prefixOf` there;
// - if bundlers must include its package, a case of `importPackage` in `provider-package.ts`, and an optional peer dependency;
// - for what its models accept, a row of `families` in `packages/cli/src/models/model-abilities.ts`.

/** A setting of a provider package that is neither a key nor an address. */
export interface ProviderSetting {
  /** The first one that is set counts. */
  variables: readonly string[];
  /** As in "needs a region". Without it, the setting is optional. */
  needed?: string;
  fallback?: string;
}

export interface KnownProvider {
  prefix: string;
  /** Other prefixes with the same meaning: those of LiteLLM and of other programs. */
  aliases: readonly string[];
  packageName: string;
  /** The export of the package that makes the provider. */
  factory: string;
  /** Environment variables with the key; the first one that is set counts. */
  keyVariables: readonly string[];
  needsKey: boolean;
  /** Variables that replace the key if all of them are set. */
  insteadOfKey?: readonly string[];
  /** Environment variables with the base URL; the first one that is set counts. */
  urlVariables: readonly string[];
  /** The path of the API. A base URL without a path gets it. */
  apiPath?: string;
  defaultBaseUrl?: string;
  /** There is no default address: this variable or a base URL must be set. */
  addressVariable?: string;
  /** By the names that the package gives them. They are used only without a key if `needsKey` is false. */
  settings?: Readonly<Record<string, ProviderSetting>>;
  /** The model that the command line chooses if the key is set and no model was given. */
  defaultModel?: string;
}

interface Row extends Partial<KnownProvider> {
  prefix: string;
  factory: string;
  /** The beginning of its variables: `MISTRAL` for `MISTRAL_API_KEY`, `MISTRAL_BASE_URL` and, as in LiteLLM, `MISTRAL_API_BASE`. */
  variables: string;
}

function row({ variables, ...given }: Row): KnownProvider {
  return {
    aliases: [],
    packageName: `@ai-sdk/${given.prefix}`,
    keyVariables: [`${variables}_API_KEY`],
    needsKey: true,
    urlVariables: [`${variables}_BASE_URL`, `${variables}_API_BASE`],
    ...given,
  };
}

/** Servers that speak OpenAI's chat completions. */
function compatible(given: Omit<Row, 'factory'>): KnownProvider {
  return row({
    packageName: '@ai-sdk/openai-compatible',
    factory: 'createOpenAICompatible',
    needsKey: false,
    apiPath: '/v1',
    ...given,
  });
}

/** In the order in which the command line looks for a key. */
export const knownProviders: readonly KnownProvider[] = [
  row({
    prefix: 'anthropic',
    aliases: ['claude'],
    factory: 'createAnthropic',
    variables: 'ANTHROPIC',
    apiPath: '/v1',
    defaultModel: 'anthropic/claude-sonnet-5',
  }),
  row({
    prefix: 'openai',
    aliases: ['chatgpt'],
    factory: 'createOpenAI',
    variables: 'OPENAI',
    apiPath: '/v1',
    defaultModel: 'openai/gpt-5.4-mini',
  }),
  row({
    prefix: 'google',
    aliases: ['gemini'],
    factory: 'createGoogleGenerativeAI',
    variables: 'GOOGLE_GENERATIVE_AI',
    keyVariables: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    urlVariables: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GEMINI_API_BASE', 'GOOGLE_GEMINI_BASE_URL'],
    apiPath: '/v1beta',
    defaultModel: 'google/gemini-3.5-flash',
  }),
  row({
    prefix: 'google-vertex',
    aliases: ['vertex', 'vertex_ai', 'vertex_ai_beta'],
    factory: 'createVertex',
    variables: 'GOOGLE_VERTEX',
    keyVariables: ['GOOGLE_VERTEX_API_KEY'],
    needsKey: false,
    urlVariables: ['GOOGLE_VERTEX_BASE_URL', 'VERTEX_API_BASE'],
    settings: {
      project: {
        variables: ['GOOGLE_VERTEX_PROJECT', 'VERTEXAI_PROJECT', 'VERTEX_PROJECT', 'GOOGLE_CLOUD_PROJECT'],
        needed: 'a project',
      },
      location: {
        variables: ['GOOGLE_VERTEX_LOCATION', 'VERTEXAI_LOCATION', 'VERTEX_LOCATION', 'GOOGLE_CLOUD_LOCATION'],
        fallback: 'global',
      },
    },
  }),
  row({
    prefix: 'azure',
    factory: 'createAzure',
    variables: 'AZURE',
    keyVariables: ['AZURE_API_KEY', 'AZURE_OPENAI_API_KEY'],
    urlVariables: ['AZURE_BASE_URL', 'AZURE_API_BASE', 'AZURE_OPENAI_ENDPOINT'],
    addressVariable: 'AZURE_RESOURCE_NAME',
    settings: { apiVersion: { variables: ['AZURE_API_VERSION', 'OPENAI_API_VERSION'] } },
  }),
  row({
    prefix: 'amazon-bedrock',
    aliases: ['bedrock', 'bedrock_converse'],
    factory: 'createAmazonBedrock',
    variables: 'BEDROCK',
    keyVariables: ['AWS_BEARER_TOKEN_BEDROCK'],
    insteadOfKey: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
    urlVariables: ['BEDROCK_BASE_URL', 'AWS_BEDROCK_RUNTIME_ENDPOINT'],
    settings: { region: { variables: ['AWS_REGION', 'AWS_REGION_NAME', 'AWS_DEFAULT_REGION'], needed: 'a region' } },
  }),
  row({ prefix: 'mistral', factory: 'createMistral', variables: 'MISTRAL', apiPath: '/v1' }),
  row({ prefix: 'groq', factory: 'createGroq', variables: 'GROQ', apiPath: '/openai/v1' }),
  row({ prefix: 'xai', factory: 'createXai', variables: 'XAI', apiPath: '/v1' }),
  row({ prefix: 'deepseek', factory: 'createDeepSeek', variables: 'DEEPSEEK' }),
  row({
    prefix: 'cohere',
    aliases: ['cohere_chat'],
    factory: 'createCohere',
    variables: 'COHERE',
    keyVariables: ['COHERE_API_KEY', 'CO_API_KEY'],
    apiPath: '/v2',
  }),
  row({
    prefix: 'openrouter',
    packageName: '@openrouter/ai-sdk-provider',
    factory: 'createOpenRouter',
    variables: 'OPENROUTER',
    apiPath: '/api/v1',
  }),
  row({
    prefix: 'togetherai',
    aliases: ['together_ai', 'together'],
    factory: 'createTogetherAI',
    variables: 'TOGETHER',
    keyVariables: ['TOGETHER_API_KEY', 'TOGETHERAI_API_KEY', 'TOGETHER_AI_API_KEY', 'TOGETHER_AI_TOKEN'],
    urlVariables: ['TOGETHER_BASE_URL', 'TOGETHER_AI_API_BASE'],
    apiPath: '/v1',
  }),
  row({
    prefix: 'fireworks',
    aliases: ['fireworks_ai'],
    factory: 'createFireworks',
    variables: 'FIREWORKS',
    keyVariables: ['FIREWORKS_API_KEY', 'FIREWORKS_AI_API_KEY', 'FIREWORKSAI_API_KEY', 'FIREWORKS_AI_TOKEN'],
    apiPath: '/inference/v1',
  }),
  row({
    prefix: 'perplexity',
    factory: 'createPerplexity',
    variables: 'PERPLEXITY',
    keyVariables: ['PERPLEXITY_API_KEY', 'PERPLEXITYAI_API_KEY'],
  }),
  row({ prefix: 'cerebras', factory: 'createCerebras', variables: 'CEREBRAS', apiPath: '/v1' }),
  row({
    prefix: 'deepinfra',
    factory: 'createDeepInfra',
    variables: 'DEEPINFRA',
    urlVariables: ['DEEPINFRA_BASE_URL'],
    apiPath: '/v1',
  }),
  row({
    prefix: 'huggingface',
    factory: 'createHuggingFace',
    variables: 'HUGGINGFACE',
    keyVariables: ['HUGGINGFACE_API_KEY', 'HF_TOKEN'],
    urlVariables: ['HUGGINGFACE_BASE_URL'],
    apiPath: '/v1',
  }),
  row({ prefix: 'baseten', factory: 'createBaseten', variables: 'BASETEN', apiPath: '/v1' }),
  row({
    prefix: 'alibaba',
    aliases: ['dashscope'],
    factory: 'createAlibaba',
    variables: 'ALIBABA',
    keyVariables: ['ALIBABA_API_KEY', 'DASHSCOPE_API_KEY'],
    urlVariables: ['ALIBABA_BASE_URL', 'DASHSCOPE_API_BASE'],
    apiPath: '/compatible-mode/v1',
  }),
  row({
    prefix: 'moonshotai',
    aliases: ['moonshot'],
    factory: 'createMoonshotAI',
    variables: 'MOONSHOT',
    apiPath: '/v1',
  }),
  row({ prefix: 'minimax', factory: 'createMiniMax', variables: 'MINIMAX', urlVariables: ['MINIMAX_BASE_URL'] }),
  row({
    prefix: 'gateway',
    aliases: ['vercel_ai_gateway'],
    factory: 'createGateway',
    variables: 'AI_GATEWAY',
    keyVariables: ['AI_GATEWAY_API_KEY', 'VERCEL_AI_GATEWAY_API_KEY', 'VERCEL_OIDC_TOKEN'],
    urlVariables: ['AI_GATEWAY_BASE_URL'],
  }),
  // the package @ai-sdk/vercel has only models of AI SDK 6
  compatible({
    prefix: 'vercel',
    aliases: ['v0'],
    variables: 'VERCEL',
    keyVariables: ['VERCEL_API_KEY', 'V0_API_KEY'],
    needsKey: true,
    urlVariables: ['V0_BASE_URL', 'V0_API_BASE'],
    defaultBaseUrl: 'https://api.v0.dev/v1',
  }),
  row({
    prefix: 'open-responses',
    factory: 'createOpenResponses',
    variables: 'OPEN_RESPONSES',
    needsKey: false,
    urlVariables: ['OPEN_RESPONSES_BASE_URL'],
    addressVariable: 'OPEN_RESPONSES_BASE_URL',
    apiPath: '/v1',
  }),
  compatible({
    prefix: 'ollama',
    aliases: ['ollama_chat'],
    variables: 'OLLAMA',
    keyVariables: ['OLLAMA_API_KEY'],
    defaultBaseUrl: 'http://127.0.0.1:11434/v1',
  }),
  compatible({
    prefix: 'lmstudio',
    aliases: ['lm_studio'],
    variables: 'LM_STUDIO',
    defaultBaseUrl: 'http://127.0.0.1:1234/v1',
  }),
  compatible({
    prefix: 'vllm',
    aliases: ['hosted_vllm'],
    variables: 'HOSTED_VLLM',
    addressVariable: 'HOSTED_VLLM_API_BASE',
  }),
  compatible({
    prefix: 'litellm',
    aliases: ['litellm_proxy'],
    variables: 'LITELLM_PROXY',
    addressVariable: 'LITELLM_PROXY_API_BASE',
  }),
  compatible({
    prefix: 'openai-compatible',
    aliases: ['openai_like', 'custom_openai'],
    variables: 'OPENAI_COMPATIBLE',
    urlVariables: ['OPENAI_COMPATIBLE_BASE_URL'],
    addressVariable: 'OPENAI_COMPATIBLE_BASE_URL',
    apiPath: '',
  }),
];

export function providerByPrefix(prefix: string | undefined): KnownProvider | undefined {
  return knownProviders.find((each) => each.prefix === prefix || each.aliases.some((alias) => alias === prefix));
}
