// Router: several deployments as one model. It keeps rate limits, retries elsewhere and falls back to other models.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { errorText, type Logger, PocketError, stderrLogger, withoutUndefined } from '@pocket-agent/kit';
import { Deployment, type DeploymentStatus } from './deployment.ts';
import { RateLimitQueue } from './rate-limit-queue.ts';
import { MemoryRateStore, type RateStore } from './rate-store.ts';
import { WindowShape, type WindowUse } from './rate-window.ts';
import { generate, type Invoke, RoutedCall, stream } from './routed-call.ts';
import { checkRouterOptions, invalid, type RouterEvent, type RouterOptions, unknownModel } from './router-options.ts';
import { StickySessions } from './sticky-sessions.ts';

export interface RouterStatus {
  deployments: (DeploymentStatus & { used: WindowUse })[];
  /** Waiting calls by model. */
  waiting: Record<string, number>;
}

type DefaultName =
  | 'strategy'
  | 'maxWaitMs'
  | 'retries'
  | 'cooldownMs'
  | 'allowedFailures'
  | 'windowMs'
  | 'arrivalMarginMs';
type Settings = RouterOptions & Required<Pick<RouterOptions, DefaultName>>;

const DEFAULTS: Required<Pick<RouterOptions, DefaultName>> = {
  strategy: 'weighted-shuffle',
  maxWaitMs: 60_000,
  retries: 3,
  cooldownMs: 5_000,
  allowedFailures: 2,
  windowMs: 60_000,
  arrivalMarginMs: 1_000,
};

export class Router {
  readonly #options: Settings;
  readonly #logger: Logger;
  readonly #store: RateStore;
  readonly #queues = new Map<string, RateLimitQueue>();
  readonly #deployments: Deployment[] = [];
  readonly #sticky = new StickySessions();
  readonly #models = new Map<string, LanguageModelV4>();
  readonly #closing = new AbortController();

  constructor(options: RouterOptions) {
    checkRouterOptions(options);
    this.#options = { ...DEFAULTS, ...withoutUndefined(options), models: options.models };
    const { windowMs, arrivalMarginMs: marginMs, rateStore } = this.#options;
    const shape = new WindowShape({ windowMs, marginMs });
    this.#logger = options.logger ?? stderrLogger();
    this.#store = rateStore?.({ shape, logger: this.#logger }) ?? new MemoryRateStore(shape);
    for (const { modelName } of options.models) {
      if (!this.#queues.has(modelName)) this.#queues.set(modelName, this.#createQueue(modelName));
    }
  }

  /** A model that any AI SDK program can use. */
  languageModel(modelName: string): LanguageModelV4 {
    if (!this.#queues.has(modelName)) throw unknownModel(modelName, this.#queues.keys());
    const known = this.#models.get(modelName);
    if (known) return known;
    const model: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider: 'router',
      modelId: modelName,
      supportedUrls: {},
      doGenerate: (options) => this.#call(modelName, options, generate),
      doStream: (options) => this.#call(modelName, options, stream),
    };
    this.#models.set(modelName, model);
    return model;
  }

  async status(): Promise<RouterStatus> {
    const now = performance.now();
    const deployments = this.#deployments.map(async (deployment) => ({
      ...deployment.status(now),
      used: await this.#store.used(deployment.id),
    }));
    const waiting = Object.fromEntries([...this.#queues].map(([name, queue]) => [name, queue.length]));
    return { deployments: await Promise.all(deployments), waiting };
  }

  /** Closes Redis and timers. Running calls may finish; waiting and later calls fail with AGENT_CLOSED. */
  async close(): Promise<void> {
    const closed = new PocketError('AGENT_CLOSED', 'The router was closed.');
    this.#closing.abort(closed);
    for (const queue of this.#queues.values()) queue.close(closed);
    await this.#store.close();
  }

  #call<Result>(modelName: string, options: LanguageModelV4CallOptions, invoke: Invoke<Result>): Promise<Result> {
    const call = new RoutedCall({
      options,
      invoke,
      router: this.#options,
      queues: this.#queues,
      store: this.#store,
      sticky: this.#sticky,
      logger: this.#logger,
      closing: this.#closing.signal,
      emit: (event) => this.#emit(event),
    });
    return call.run(modelName);
  }

  #createQueue(modelName: string): RateLimitQueue {
    const { strategy, maxWaitMs, random = Math.random } = this.#options;
    const queue: RateLimitQueue = new RateLimitQueue({
      modelName,
      deployments: this.#createDeployments(modelName),
      store: this.#store,
      strategy,
      maxWaitMs,
      random,
      onWait: (waitMs) => this.#emit({ type: 'waiting', modelName, waitMs, inLine: queue.length }),
    });
    return queue;
  }

  #createDeployments(modelName: string): Deployment[] {
    const { models, cooldownMs, allowedFailures } = this.#options;
    const entries = models.filter((entry) => entry.modelName === modelName).map(({ params }) => params);
    // requests and tokens cannot be compared, so limits serve as weights only if all deployments have the same kind
    const limit = entries.every(({ rpm }) => rpm) ? 'rpm' : entries.every(({ tpm }) => tpm) ? 'tpm' : undefined;
    return entries.map((params, index) => {
      const id = params.id ?? `${modelName}#${index + 1}`;
      if (this.#deployments.some((other) => other.id === id)) {
        throw invalid(`two deployments have the id "${id}". Give each an "id" of its own in its params.`);
      }
      const weight = params.weight ?? (limit && params[limit]) ?? 1;
      const rules = { cooldownMs, allowedFailures };
      const deployment = new Deployment({ id, modelName, params: { ...params, weight }, rules });
      this.#deployments.push(deployment);
      return deployment;
    });
  }

  #emit(event: RouterEvent): void {
    const failed = (error: unknown) => this.#logger.error(`Router: onEvent failed: ${errorText(error)}`);
    try {
      const pending: unknown = this.#options.onEvent?.(event);
      if (pending instanceof Promise) pending.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
