// One deployment of a model: its settings, its measurements, and whether it may be called now.
import type { LanguageModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import { type ModelPrice, priceOf } from '../cost/prices.ts';
import { count } from '../cost/usage.ts';
import { type Failure, type FailureKind, isPermanent, isWorthRetrying } from '../model/failure.ts';
import { type LanguageModel, resolveModel } from '../providers/model-names.ts';
import type { ModelSettings } from '../providers/provider-settings.ts';
import type { RateCounter, RateLimits, Reserved, WindowUse } from './rate-window.ts';
import type { Candidate } from './strategy.ts';

/** One place where a router can call a model, and its rate limits. */
export interface DeploymentParams extends ModelSettings {
  /** A name as in agentConfig.llmModel, or an AI SDK model object. */
  model: string | LanguageModel;
  /** Requests per minute. */
  rpm?: number;
  /** Tokens per minute, input and output. */
  tpm?: number;
  /** For weighted-shuffle. Default: `rpm` if every deployment of the model has one, else `tpm`, else 1. */
  weight?: number;
  /** Maximum number of concurrent calls. Default: no limit. */
  maxParallel?: number;
  /** Longest time for a call, or for each part of a stream. A stream that is not read for this long frees its place. */
  timeoutMs?: number;
  /** Replaces the price table, for lowest-cost and for `costUsd`. */
  price?: ModelPrice;
  /** The name of the deployment in status and events. Default: model and number. */
  id?: string;
}

/** How a deployment is doing: its load, its failures, and whether it is cooling down. */
export interface DeploymentStatus {
  id: string;
  modelName: string;
  inFlight: number;
  calls: number;
  failures: number;
  tokens: number;
  latencyMs: number | undefined;
  /** The end of its cooldown in milliseconds since 1970; undefined when it is available. */
  coolingUntil: number | undefined;
  lastFailure: string | undefined;
  /** The used part of its limits. */
  used: WindowUse;
}

const MAX_COOLDOWN_MS = 300_000;
/** Doubles with each failure in a row: some providers ask for no wait, or for one that has passed already. */
const MIN_RETRY_AFTER_MS = 100;
/** Weight of a new measurement in a moving average. */
const SMOOTHING = 0.2;
/** Expected tokens of an answer before the first one has arrived. */
const INITIAL_OUTPUT_TOKENS = 256;
/** Keeps one unusual prompt from distorting later estimates. */
const MAX_RATIO = 4;

interface DeploymentOptions {
  id: string;
  modelName: string;
  params: DeploymentParams & { weight: number };
  cooldownMs: number;
  allowedFailures: number;
  counter: RateCounter;
}

/** Determines how many tokens a call counts for. */
interface ExpectedCall {
  inputEstimate: number;
  maxOutputTokens: number | undefined;
}

export class Deployment implements Candidate {
  readonly id: string;
  readonly modelName: string;
  readonly counter: RateCounter;
  readonly params: DeploymentParams;
  readonly limits: RateLimits;
  readonly weight: number;
  readonly maxParallel: number;
  inFlight = 0;
  latencyMs: number | undefined;
  costUsd: number | undefined;
  usedShare = 0;
  lastFailure: string | undefined;
  readonly #options: DeploymentOptions;
  #model: Promise<LanguageModelV4> | undefined;
  #coolingUntil = 0;
  #coolingKind: FailureKind | undefined;
  #failuresInRow = 0;
  #calls = 0;
  #failures = 0;
  #tokens = 0;
  /** Real input tokens per estimated token. */
  #inputRatio = 1;
  #outputTokens = INITIAL_OUTPUT_TOKENS;

  constructor(options: DeploymentOptions) {
    const { id, modelName, params, counter } = options;
    this.id = id;
    this.modelName = modelName;
    this.params = params;
    this.counter = counter;
    this.limits = { requests: params.rpm, tokens: params.tpm };
    this.weight = params.weight;
    this.maxParallel = params.maxParallel ?? Number.POSITIVE_INFINITY;
    this.#options = options;
  }

  model(): Promise<LanguageModelV4> {
    const { model, apiKey, baseUrl, headers, apiVersion, region, project } = this.params;
    const settings = { apiKey, baseUrl, headers, apiVersion, region, project };
    this.#model ??= resolveModel(model, settings, 'params').catch((error) => {
      this.#model = undefined;
      throw error;
    });
    return this.#model;
  }

  /** Loads the model and, for lowest-cost, its price. If that fails, the first call reports the error. */
  async load(needsCost: boolean): Promise<void> {
    const model = await this.model().catch(() => undefined);
    if (!needsCost) return;
    const price = this.params.price ?? (model && (await priceOf(model)));
    this.costUsd = price && price.input + price.output;
  }

  async updateUse(): Promise<void> {
    const { requests: maxRequests = Infinity, tokens: maxTokens = Infinity } = this.limits;
    const { requests, tokens } = await this.counter.total();
    this.usedShare = Math.max(requests / maxRequests, tokens / maxTokens);
  }

  /** Milliseconds until it may be called again; 0 when it may be called now. `now` is performance.now(). */
  coolingMs(now: number): number {
    return Math.max(0, this.#coolingUntil - now);
  }

  /** It is cooling down after a failure that time alone does not fix. */
  isBroken(now: number): boolean {
    return this.coolingMs(now) > 0 && this.#coolingKind !== undefined && isPermanent(this.#coolingKind);
  }

  /** Takes a place for a call, which counts for as many tokens as earlier calls suggest. */
  async reserve({ inputEstimate, maxOutputTokens }: ExpectedCall): Promise<Reserved> {
    const expected = Math.ceil(inputEstimate * this.#inputRatio + (maxOutputTokens ?? this.#outputTokens));
    const tokens = Math.min(expected, this.limits.tokens ?? expected);
    this.inFlight++; // now: other calls may be tried while the store answers
    let isReserved = false;
    try {
      const outcome = await this.counter.reserve(tokens, this.limits);
      isReserved = 'reservation' in outcome;
      return outcome;
    } finally {
      if (!isReserved) this.inFlight--;
    }
  }

  /** Returns the tokens used, if the provider reported them. */
  recordSuccess({ usage, inputEstimate, latencyMs }: SuccessfulCall): number | undefined {
    this.#calls++;
    this.#failuresInRow = 0;
    this.latencyMs = this.latencyMs === undefined ? latencyMs : smoothed(this.latencyMs, latencyMs);
    const input = count(usage?.inputTokens?.total);
    const output = count(usage?.outputTokens?.total);
    if (input === undefined || output === undefined) return undefined;
    this.#tokens += input + output;
    const ratio = Math.min(input / Math.max(1, inputEstimate), MAX_RATIO);
    this.#inputRatio = risingFast(this.#inputRatio, ratio);
    this.#outputTokens = risingFast(this.#outputTokens, output);
    return input + output;
  }

  /** Returns the cooldown in milliseconds; 0 when it stays available. */
  recordFailure(failure: Failure, now: number): number {
    this.#calls++;
    this.#failures++;
    this.lastFailure = failure.reason;
    if (!isWorthRetrying(failure.kind)) return 0; // the fault of the request
    // calls that were already running when the cooldown began do not extend it
    if (this.coolingMs(now) === 0) this.#failuresInRow++;
    const cooldown = this.#cooldownFor(failure);
    if (now + cooldown > this.#coolingUntil) {
      this.#coolingUntil = now + cooldown;
      this.#coolingKind = failure.kind;
    }
    return cooldown;
  }

  async status(): Promise<DeploymentStatus> {
    const coolingMs = this.coolingMs(performance.now());
    return {
      id: this.id,
      modelName: this.modelName,
      inFlight: this.inFlight,
      calls: this.#calls,
      failures: this.#failures,
      tokens: this.#tokens,
      latencyMs: this.latencyMs,
      coolingUntil: coolingMs > 0 ? Date.now() + coolingMs : undefined,
      lastFailure: this.lastFailure,
      used: await this.counter.total(),
    };
  }

  #cooldownFor({ kind, retryAfterMs }: Failure): number {
    const { cooldownMs, allowedFailures } = this.#options;
    if (retryAfterMs !== undefined) {
      const atLeast = Math.min(MIN_RETRY_AFTER_MS * 2 ** (this.#failuresInRow - 1), cooldownMs);
      return Math.min(Math.max(retryAfterMs, atLeast), MAX_COOLDOWN_MS);
    }
    const isTemporary = kind !== 'rate-limit' && !isPermanent(kind);
    const strikes = this.#failuresInRow - (isTemporary ? allowedFailures : 0);
    return strikes <= 0 ? 0 : Math.min(cooldownMs * 2 ** (strikes - 1), MAX_COOLDOWN_MS);
  }
}

interface SuccessfulCall {
  usage: LanguageModelV4Usage | undefined;
  inputEstimate: number;
  latencyMs: number;
}

function smoothed(average: number, value: number): number {
  return average + (value - average) * SMOOTHING;
}

/** Estimates rise immediately and fall slowly: one that is too low earns a 429. */
function risingFast(average: number, value: number): number {
  return value > average ? value : smoothed(average, value);
}
