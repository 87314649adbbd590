// The options of a router and their checks, and the events it emits.
import {
  booleanRule,
  configError,
  didYouMean,
  functionRule,
  isRecord,
  type Logger,
  nonEmptyRule,
  type OptionRule,
  type OptionRules,
  OptionSet,
  objectRule,
  PocketError,
  positiveNumber,
  withoutUndefined,
} from '@pocket-agent/kit';
import { checkPrice } from '../cost/prices.ts';
import type { FailureKind } from '../model/failure.ts';
import { checkModelName, checkModelObject } from '../providers/model-names.ts';
import { modelSettings } from '../providers/provider-settings.ts';
import type { DeploymentParams } from './deployment.ts';
import { type LiteLlmRouterOptions, translateLiteLlm } from './litellm-options.ts';
import type { RateStoreFactory } from './rate-window.ts';
import { type StrategyName, strategyNames } from './strategy.ts';

/** The deployments of a router, and how it chooses, waits, retries and falls back. */
export interface RouterOptions {
  models: readonly { modelName: string; params: DeploymentParams }[];
  /** Default weighted-shuffle. */
  strategy?: StrategyName;
  /** How long a call may wait for room in all, including retries and fallbacks. Default 60,000. */
  maxWaitMs?: number;
  /** How often a failed call is retried on other deployments of its model. Default 3. */
  retries?: number;
  /** The first cooldown of a failing deployment; doubles while it keeps failing. Default 5,000. */
  cooldownMs?: number;
  /** Temporary failures in a row (5xx, timeouts, network) before a deployment cools down. Default 2. */
  allowedFailures?: number;
  /** Models to try when every deployment of a model has failed. */
  fallbacks?: Readonly<Record<string, readonly string[]>>;
  /** Models to try when a prompt is too long for a model. */
  contextWindowFallbacks?: Readonly<Record<string, readonly string[]>>;
  /** Keeps a conversation on one deployment, for its prompt cache. Default false. */
  sticky?: boolean;
  /** Where the rate limits are counted. Default: in this process. `@pocket-agent/redis` shares them among processes. */
  rateStore?: RateStoreFactory;
  logger?: Logger;
  onEvent?: (event: RouterEvent) => void | Promise<void>;
  /** The length of a rate window. Default 60,000, a minute. */
  windowMs?: number;
  /** The longest delay between counting a request here and its arrival at the provider. Default 1,000. */
  arrivalMarginMs?: number;
  /** Returns a random number from 0 to 1. For tests. */
  random?: () => number;
}

/** A step in the routing of a call: it waits, is sent to a deployment, finishes, fails or falls back. */
export type RouterEvent =
  | { type: 'waiting'; modelName: string; waitMs: number; queueLength: number }
  | { type: 'chosen'; modelName: string; deployment: string; because: StrategyName | 'sticky'; waitedMs: number }
  | { type: 'finished'; modelName: string; deployment: string; latencyMs: number; tokens: number | undefined }
  | { type: 'failed'; modelName: string; deployment: string; kind: FailureKind; reason: string; cooldownMs: number }
  | { type: 'fallback'; from: string; to: string; reason: string };

const zeroOrMore = atLeast(0);
const oneOrMore = atLeast(1);

function atLeast(minimum: number): OptionRule {
  return {
    expected: `a number, ${minimum} or more`,
    accepts: (value) => typeof value === 'number' && value >= minimum,
  };
}

const REDIS_HINT = ' Write rateStore: redisRateStore({ url, prefix }), imported from @pocket-agent/redis.';

/** Options with `true` are checked by the functions below. */
const routerRules: OptionRules<RouterOptions> = {
  models: true,
  strategy: true,
  maxWaitMs: zeroOrMore,
  retries: zeroOrMore,
  cooldownMs: zeroOrMore,
  allowedFailures: zeroOrMore,
  fallbacks: objectRule,
  contextWindowFallbacks: objectRule,
  sticky: booleanRule,
  rateStore: { ...functionRule, expected: 'a function such as redisRateStore({ url }) of @pocket-agent/redis' },
  logger: true,
  onEvent: functionRule,
  windowMs: positiveNumber,
  arrivalMarginMs: zeroOrMore,
  random: functionRule,
};
const routerOptions = new OptionSet<RouterOptions>('Router', routerRules, (key) =>
  key.startsWith('redis') ? REDIS_HINT : undefined,
);

const modelEntry = new OptionSet<RouterOptions['models'][number]>('Router: models', { modelName: true, params: true });

const deploymentParams = new OptionSet<DeploymentParams>('Router: params', {
  ...modelSettings.rules,
  model: true,
  rpm: oneOrMore,
  tpm: oneOrMore,
  weight: positiveNumber,
  maxParallel: oneOrMore,
  timeoutMs: positiveNumber,
  price: true,
  id: nonEmptyRule,
});

const defaults = {
  strategy: 'weighted-shuffle',
  maxWaitMs: 60_000,
  retries: 3,
  cooldownMs: 5_000,
  allowedFailures: 2,
  windowMs: 60_000,
  arrivalMarginMs: 1_000,
  random: Math.random,
} satisfies Partial<RouterOptions>;

/** The options with their defaults. */
export type RouterSettings = RouterOptions & Required<Pick<RouterOptions, keyof typeof defaults>>;

/** Throws for options that can never work. */
export function readRouterOptions(given: RouterOptions | LiteLlmRouterOptions): RouterSettings {
  if (!isRecord(given)) throw invalid('it needs its options: new Router({ models: [{ modelName, params }] }).');
  const options = translateLiteLlm(given).options as RouterOptions;
  routerOptions.check(options);
  const { models, fallbacks = {}, contextWindowFallbacks = {}, strategy } = options;
  const isList = Array.isArray(models) && models.length > 0;
  if (!isList) throw invalid('models must list at least one { modelName, params }.');
  for (const [index, entry] of models.entries()) checkEntry(index, entry);
  if (strategy !== undefined && !strategyNames.includes(strategy)) {
    const meant = didYouMean(String(strategy), strategyNames);
    throw invalid(`there is no strategy "${strategy}".${meant} Available: ${strategyNames.join(', ')}.`);
  }
  const names = new Set(models.map(({ modelName }) => modelName));
  for (const [from, targets] of [...Object.entries(fallbacks), ...Object.entries(contextWindowFallbacks)]) {
    if (!Array.isArray(targets)) throw invalid(`the fallbacks of "${from}" must be a list of model names.`);
    for (const name of [from, ...targets]) if (!names.has(name)) throw unknownModel(name, names);
  }
  return { ...defaults, ...withoutUndefined(options), models };
}

function checkEntry(index: number, entry: RouterOptions['models'][number]): void {
  if (isRecord(entry)) modelEntry.check(entry, `Router: models[${index}]`);
  if (typeof entry?.modelName !== 'string' || entry.modelName === '' || !isRecord(entry.params)) {
    throw invalid(
      'each of models must be { modelName, params }, for example { modelName: "gpt-5-nano", params: { model: "openai/gpt-5-nano" } }.',
    );
  }
  const { modelName, params } = entry;
  const { model, price } = params;
  const owner = `Router: params of "${modelName}"`;
  deploymentParams.check(params, owner);
  if (price !== undefined) checkPrice(`${owner}: price`, price);
  if (typeof model === 'string') checkModelName(model);
  else checkModelObject(model, `Router: params of "${modelName}": model`);
}

export function invalid(problem: string): PocketError {
  return configError(`Router: ${problem}`);
}

export function unknownModel(name: string, known: Iterable<string>): PocketError {
  const names = [...known];
  return new PocketError(
    'MODEL_UNKNOWN',
    `Router: there is no model "${name}".${didYouMean(String(name), names)} Available: ${names.join(', ')}.`,
  );
}
