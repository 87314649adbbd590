// One deployment of a model: where it is, how it does, and whether it may be called just now.
import type { LanguageModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import { PocketError } from '@pocket-agent/kit';
import { listPrice, type ModelPrice } from '../cost/prices.ts';
import { count } from '../cost/usage.ts';
import { checkModelName, type LanguageModel, type ModelSettings, resolveModel } from '../model/model.ts';
import { type Failure, type FailureKind, isLasting, isWorthAnotherTry } from './failure.ts';
import type { RateLimits, WindowUse } from './rate-window.ts';
import type { Candidate } from './strategy.ts';

export interface DeploymentParams extends ModelSettings {
  /** A name as in agentConfig.llmModel, or an AI SDK model object. */
  model: string | LanguageModel;
  /** Requests per minute. */
  rpm?: number;
  /** Tokens per minute, in and out. */
  tpm?: number;
  /** For the shuffle. Default: `rpm` where every deployment of the model has one, else `tpm`, else 1. */
  weight?: number;
  /** Calls at the same time. Default: no limit. */
  maxParallel?: number;
  /** A call, or any part of a stream, that takes longer counts as failed; a stream that nobody reads for so long gives its place back. */
  timeoutMs?: number;
  /** Instead of the price table, for the lowest-cost strategy and for `costUsd`. */
  price?: ModelPrice;
  /** Tells deployments of one model apart in status and events. Default: model and number. */
  id?: string;
}

export interface CooldownRules {
  cooldownMs: number;
  /** Failures in a row that passing troubles (5xx, timeouts, network) may have before they count. */
  allowedFailures: number;
}

export interface DeploymentStatus {
  id: string;
  modelName: string;
  inFlight: number;
  calls: number;
  failures: number;
  tokens: number;
  latencyMs: number | undefined;
  /** Until when it is left alone, as milliseconds since 1970; undefined when it is not. */
  coolingUntil: number | undefined;
  lastFailure: string | undefined;
}

const LONGEST_COOLDOWN_MS = 300_000;
/** Doubled with each failure in a row: some providers ask for no wait, or for one that is over by now. */
const SHORTEST_COOLDOWN_MS = 100;
/** How much a new measurement counts against all before it. */
const NEWEST_SHARE = 0.2;
/** Tokens of an answer before the first one has come. */
const FIRST_OUTPUT_GUESS = 256;
/** One odd prompt must not make all others look huge. */
const HIGHEST_RATIO = 4;

export class Deployment implements Candidate {
  readonly id: string;
  readonly modelName: string;
  readonly limits: RateLimits;
  readonly weight: number;
  readonly maxParallel: number;
  readonly timeoutMs: number | undefined;
  inFlight = 0;
  latencyMs: number | undefined;
  costUsd: number | undefined;
  usedShare = 0;
  readonly #params: DeploymentParams;
  readonly #rules: CooldownRules;
  #model: Promise<LanguageModelV4> | undefined;
  #coolingUntil = 0;
  #coolingKind: FailureKind | undefined;
  #failuresInRow = 0;
  #calls = 0;
  #failures = 0;
  #tokens = 0;
  #lastFailure: string | undefined;
  /** Real input tokens for one estimated. */
  #ratio = 1;
  #outputTokens = FIRST_OUTPUT_GUESS;

  constructor(modelName: string, index: number, params: DeploymentParams, rules: CooldownRules) {
    const { model, rpm, tpm, weight, maxParallel, timeoutMs } = params;
    if (typeof model === 'string') checkModelName(model);
    else if (typeof model?.doGenerate !== 'function') {
      throw new PocketError(
        'CONFIG_INVALID',
        `Router: params.model of "${modelName}" must be a string such as "openai/gpt-5-nano" or an AI SDK model object (LanguageModelV4).`,
      );
    }
    for (const [name, value] of Object.entries({ rpm, tpm, maxParallel })) {
      if (value === undefined || (typeof value === 'number' && value >= 1)) continue;
      throw new PocketError('CONFIG_INVALID', `Router: ${name} of "${modelName}" must be a number, 1 or more.`);
    }
    for (const [name, value] of Object.entries({ weight, timeoutMs })) {
      if (value === undefined || (typeof value === 'number' && value > 0)) continue;
      throw new PocketError('CONFIG_INVALID', `Router: ${name} of "${modelName}" must be a number greater than 0.`);
    }
    this.id = params.id ?? `${modelName}#${index + 1}`;
    this.modelName = modelName;
    this.limits = { requests: rpm, tokens: tpm };
    this.weight = weight ?? 1;
    this.maxParallel = maxParallel ?? Number.POSITIVE_INFINITY;
    this.timeoutMs = timeoutMs;
    this.#params = { ...params };
    this.#rules = rules;
  }

  model(): Promise<LanguageModelV4> {
    const { model, apiKey, baseUrl, headers } = this.#params;
    this.#model ??= resolveModel(model, { apiKey, baseUrl, headers }, 'params').catch((error) => {
      this.#model = undefined;
      throw error;
    });
    return this.#model;
  }

  get price(): ModelPrice | undefined {
    return this.#params.price;
  }

  /** What goes wrong here will be told by the first call. */
  async load(): Promise<void> {
    await this.model().catch(() => {});
  }

  /** Learns what the model costs, for the lowest-cost strategy; stays unknown when the model cannot be loaded. */
  async learnCost(): Promise<void> {
    const price =
      this.#params.price ??
      (await this.model()
        .then(listPrice)
        .catch(() => undefined));
    this.costUsd = price && price.input + price.output;
  }

  learnUse({ requests, tokens }: WindowUse): void {
    this.usedShare = Math.max(requests / (this.limits.requests ?? Infinity), tokens / (this.limits.tokens ?? Infinity));
  }

  /** In how many milliseconds it may be called again; 0 for now. All of `now` is by a clock that nobody sets. */
  coolingMs(now: number): number {
    return Math.max(0, this.#coolingUntil - now);
  }

  /** It is left alone for something that waiting does not mend. */
  isBroken(now: number): boolean {
    return this.coolingMs(now) > 0 && this.#coolingKind !== undefined && isLasting(this.#coolingKind);
  }

  get lastFailure(): string | undefined {
    return this.#lastFailure;
  }

  /** What a request will count for, by what earlier ones turned out to be. */
  expectedTokens(inputEstimate: number, maxOutputTokens: number | undefined): number {
    return Math.ceil(inputEstimate * this.#ratio + (maxOutputTokens ?? this.#outputTokens));
  }

  /** Returns the tokens that it used, if the provider told. */
  succeeded(usage: LanguageModelV4Usage | undefined, inputEstimate: number, latencyMs: number): number | undefined {
    this.#calls++;
    this.#failuresInRow = 0;
    this.latencyMs =
      this.latencyMs === undefined ? latencyMs : this.latencyMs + (latencyMs - this.latencyMs) * NEWEST_SHARE;
    const input = count(usage?.inputTokens?.total);
    const output = count(usage?.outputTokens?.total);
    if (input === undefined || output === undefined) return undefined;
    this.#tokens += input + output;
    // up at once, down slowly: too low an estimate earns a 429
    const ratio = Math.min(input / Math.max(1, inputEstimate), HIGHEST_RATIO);
    this.#ratio = ratio > this.#ratio ? ratio : this.#ratio + (ratio - this.#ratio) * NEWEST_SHARE;
    this.#outputTokens =
      output > this.#outputTokens ? output : this.#outputTokens + (output - this.#outputTokens) * NEWEST_SHARE;
    return input + output;
  }

  /** Returns for how long it will be left alone; 0 when it goes on. */
  failed(failure: Failure, now: number): number {
    this.#calls++;
    this.#failures++;
    this.#lastFailure = failure.reason;
    if (!isWorthAnotherTry(failure.kind)) return 0; // the caller's fault
    // calls that were under way when it began to fail do not make it worse
    if (this.coolingMs(now) === 0) this.#failuresInRow++;
    const cooldown = this.#cooldownFor(failure);
    if (now + cooldown > this.#coolingUntil) {
      this.#coolingUntil = now + cooldown;
      this.#coolingKind = failure.kind;
    }
    return cooldown;
  }

  status(now: number): DeploymentStatus {
    return {
      id: this.id,
      modelName: this.modelName,
      inFlight: this.inFlight,
      calls: this.#calls,
      failures: this.#failures,
      tokens: this.#tokens,
      latencyMs: this.latencyMs,
      coolingUntil: this.coolingMs(now) > 0 ? Date.now() + this.coolingMs(now) : undefined,
      lastFailure: this.#lastFailure,
    };
  }

  #cooldownFor({ kind, retryAfterMs }: Failure): number {
    const { cooldownMs, allowedFailures } = this.#rules;
    if (retryAfterMs !== undefined) {
      const shortest = Math.min(SHORTEST_COOLDOWN_MS * 2 ** (this.#failuresInRow - 1), cooldownMs);
      return Math.min(Math.max(retryAfterMs, shortest), LONGEST_COOLDOWN_MS);
    }
    const countsAtOnce = kind === 'rate-limit' || isLasting(kind);
    const strikes = countsAtOnce ? this.#failuresInRow : this.#failuresInRow - allowedFailures;
    if (strikes <= 0) return 0;
    // it recovers when a call succeeds; until then each failure after a cooldown doubles the next
    return Math.min(cooldownMs * 2 ** (strikes - 1), LONGEST_COOLDOWN_MS);
  }
}
