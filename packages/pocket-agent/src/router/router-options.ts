// What a router is made from, what it tells, and the check of its options.

import {
  booleanRule,
  didYouMean,
  isRecord,
  type Logger,
  type OptionRule,
  OptionSet,
  PocketError,
  secretStringMap,
  stringRule,
} from '@pocket-agent/kit';
import { checkPrice } from '../cost/prices.ts';
import type { DeploymentParams } from './deployment.ts';
import type { FailureKind } from './failure.ts';
import { type StrategyName, strategyNames } from './strategy.ts';

export interface RouterOptions {
  models: readonly { modelName: string; params: DeploymentParams }[];
  /** Default weighted-shuffle. */
  strategy?: StrategyName;
  /** How long a call may wait for room, with all its retries and fallbacks. Default 60,000. */
  maxWaitMs?: number;
  /** How often a failed call is tried again on other deployments of its model. Default 3. */
  retries?: number;
  /** The first time a failing deployment is left alone; doubles while it keeps failing. Default 5,000. */
  cooldownMs?: number;
  /** Passing failures in a row (5xx, timeouts, network) before a deployment is left alone. Default 2. */
  allowedFailures?: number;
  /** Models to go on with when every deployment of one has failed. */
  fallbacks?: Readonly<Record<string, readonly string[]>>;
  /** Models to go on with when a prompt is too long for one. */
  contextWindowFallbacks?: Readonly<Record<string, readonly string[]>>;
  /** Keeps a conversation on one deployment, for its prompt cache. Default false. */
  sticky?: boolean;
  /** Shares the limits with other processes. */
  redisUrl?: string;
  /** The namespace in Redis: processes with the same one share the limits of deployments with the same id. Default pocket-agent. */
  redisPrefix?: string;
  logger?: Logger;
  onEvent?: (event: RouterEvent) => void | Promise<void>;
  /** The length of a "minute". */
  windowMs?: number;
  /** How late a request may reach a provider after it was counted here. Default 1,000. */
  arrivalMarginMs?: number;
  /** A random number from 0 to 1; for tests. */
  random?: () => number;
}

export type RouterEvent =
  | { type: 'waiting'; modelName: string; waitMs: number; inLine: number }
  | { type: 'chosen'; modelName: string; deployment: string; because: StrategyName | 'sticky'; waitedMs: number }
  | { type: 'finished'; modelName: string; deployment: string; latencyMs: number; tokens: number | undefined }
  | { type: 'failed'; modelName: string; deployment: string; kind: FailureKind; reason: string; cooldownMs: number }
  | { type: 'fallback'; from: string; to: string; reason: string };

const callback: OptionRule = { expected: 'a function', accepts: (value) => typeof value === 'function' };
const object: OptionRule = { expected: 'an object', accepts: isRecord };

/** What is `true` is checked below, or by the deployment. */
const routerOptions = new OptionSet<RouterOptions>('Router', {
  models: true,
  strategy: true,
  maxWaitMs: true,
  retries: true,
  cooldownMs: true,
  allowedFailures: true,
  fallbacks: object,
  contextWindowFallbacks: object,
  sticky: booleanRule,
  redisUrl: true,
  redisPrefix: true,
  logger: true,
  onEvent: callback,
  windowMs: true,
  arrivalMarginMs: true,
  random: callback,
});

const modelEntry = new OptionSet<RouterOptions['models'][number]>('Router: models', { modelName: true, params: true });

const deploymentParams = new OptionSet<DeploymentParams>('Router: params', {
  model: true,
  apiKey: { ...stringRule, isSecret: true },
  baseUrl: stringRule,
  headers: secretStringMap,
  rpm: true,
  tpm: true,
  weight: true,
  maxParallel: true,
  timeoutMs: true,
  price: true,
  id: { expected: 'a non-empty string', accepts: (value) => typeof value === 'string' && value !== '' },
});

/** Throws for what can never work. */
export function checkOptions(given: RouterOptions): void {
  if (!isRecord(given)) throw invalid('it needs its options: new Router({ models: [{ modelName, params }] }).');
  routerOptions.check(given);
  const { models, fallbacks = {}, contextWindowFallbacks = {}, strategy, ...options } = given;
  const isList = Array.isArray(models) && models.length > 0;
  if (!isList) throw invalid('models must list at least one { modelName, params }.');
  for (const [index, entry] of models.entries()) checkEntry(index, entry);
  if (strategy !== undefined && !strategyNames.includes(strategy)) {
    const meant = didYouMean(String(strategy), strategyNames);
    throw invalid(`there is no strategy "${strategy}".${meant} Available: ${strategyNames.join(', ')}.`);
  }
  const { maxWaitMs, retries, cooldownMs, allowedFailures, windowMs, arrivalMarginMs, redisUrl, redisPrefix } = options;
  for (const [name, value] of Object.entries({ maxWaitMs, retries, cooldownMs, allowedFailures, arrivalMarginMs })) {
    if (value !== undefined && !(typeof value === 'number' && value >= 0))
      throw invalid(`${name} must be a number, 0 or more.`);
  }
  if (windowMs !== undefined && !(typeof windowMs === 'number' && windowMs > 0)) {
    throw invalid('windowMs must be a number greater than 0.');
  }
  if (redisUrl !== undefined && !(URL.canParse(redisUrl) && /^rediss?:$/.test(new URL(redisUrl).protocol))) {
    throw invalid('redisUrl must look like redis://user:password@host:6379/0.');
  }
  if (redisPrefix !== undefined && (typeof redisPrefix !== 'string' || redisPrefix === '')) {
    throw invalid('redisPrefix must be a non-empty string such as "my-app".');
  }
  const names = new Set(models.map(({ modelName }) => modelName));
  for (const [from, targets] of [...Object.entries(fallbacks), ...Object.entries(contextWindowFallbacks)]) {
    if (!Array.isArray(targets)) throw invalid(`the fallbacks of "${from}" must be a list of model names.`);
    for (const name of [from, ...targets]) if (!names.has(name)) throw unknownModel(name, names);
  }
}

function checkEntry(index: number, entry: RouterOptions['models'][number]): void {
  if (isRecord(entry)) modelEntry.check(entry, `Router: models[${index}]`);
  if (typeof entry?.modelName !== 'string' || entry.modelName === '' || !isRecord(entry.params)) {
    throw invalid(
      'each of models must be { modelName, params }, for example { modelName: "gpt-5-nano", params: { model: "openai/gpt-5-nano" } }.',
    );
  }
  const { modelName, params } = entry;
  const what = `Router: params of "${modelName}"`;
  deploymentParams.check(params, what);
  if (params.price !== undefined) checkPrice(`${what}: price`, params.price);
}

export function invalid(problem: string): PocketError {
  return new PocketError('CONFIG_INVALID', `Router: ${problem}`);
}

export function unknownModel(name: string, known: Iterable<string>): PocketError {
  const names = [...known];
  return new PocketError(
    'MODEL_UNKNOWN',
    `Router: there is no model "${name}".${didYouMean(String(name), names)} Available: ${names.join(', ')}.`,
  );
}
