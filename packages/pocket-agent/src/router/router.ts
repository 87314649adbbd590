// Router: several deployments as one model. It keeps rate limits, retries elsewhere and falls back to other models.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { callListener, type Logger, PocketError, stderrLogger } from '@pocket-agent/kit';
import { setModelsBehind } from '../model/provider-rules.ts';
import { Deployment, type DeploymentStatus } from './deployment.ts';
import { type LiteLlmRouterOptions, logOwnNames } from './litellm-options.ts';
import { RateLimitQueue } from './rate-limit-queue.ts';
import { memoryRateStore, type RateStore, WindowShape } from './rate-window.ts';
import { generate, RoutedCall, type RoutingContext, stream } from './routed-call.ts';
import {
  invalid,
  type RouterEvent,
  type RouterOptions,
  type RouterSettings,
  readRouterOptions,
  unknownModel,
} from './router-options.ts';
import { StickySessions } from './sticky-sessions.ts';

/** The deployments and queues of a router at this moment. */
export interface RouterStatus {
  deployments: DeploymentStatus[];
  /** Waiting calls by model. */
  waiting: Record<string, number>;
}

export class Router {
  readonly #settings: RouterSettings;
  readonly #logger: Logger;
  readonly #store: RateStore;
  readonly #queues = new Map<string, RateLimitQueue>();
  readonly #deployments: Deployment[] = [];
  readonly #models = new Map<string, LanguageModelV4>();
  readonly #closing = new AbortController();

  /** Options in LiteLLM's spelling work, too; a hint in the log names ours. */
  constructor(options: RouterOptions | LiteLlmRouterOptions) {
    this.#settings = readRouterOptions(options);
    const { windowMs, arrivalMarginMs: marginMs, rateStore = memoryRateStore } = this.#settings;
    this.#logger = this.#settings.logger ?? stderrLogger();
    logOwnNames(options, this.#logger);
    this.#store = rateStore({ shape: new WindowShape({ windowMs, marginMs }), logger: this.#logger });
    const context: RoutingContext = {
      settings: this.#settings,
      queues: this.#queues,
      sticky: new StickySessions(),
      logger: this.#logger,
      closing: this.#closing.signal,
      emit: (event) => this.#emit(event),
    };
    for (const modelName of new Set(this.#settings.models.map((entry) => entry.modelName))) {
      this.#queues.set(modelName, this.#createQueue(modelName));
      this.#models.set(modelName, routedModel(modelName, context));
    }
  }

  /** A model that any AI SDK program can use. */
  languageModel(modelName: string): LanguageModelV4 {
    const model = this.#models.get(modelName);
    if (!model) throw unknownModel(modelName, this.#models.keys());
    return model;
  }

  async status(): Promise<RouterStatus> {
    const deployments = await Promise.all(this.#deployments.map((deployment) => deployment.status()));
    const waiting = Object.fromEntries([...this.#queues].map(([name, queue]) => [name, queue.length]));
    return { deployments, waiting };
  }

  /** Closes the rate store and timers. Running calls may finish; waiting and later calls fail with AGENT_CLOSED. */
  async close(): Promise<void> {
    const closed = new PocketError('AGENT_CLOSED', 'The router was closed.');
    this.#closing.abort(closed);
    for (const queue of this.#queues.values()) queue.close(closed);
    await this.#store.close();
  }

  #createQueue(modelName: string): RateLimitQueue {
    const { strategy, maxWaitMs, random } = this.#settings;
    const queue: RateLimitQueue = new RateLimitQueue({
      modelName,
      deployments: this.#createDeployments(modelName),
      strategy,
      maxWaitMs,
      maxConcurrent: this.#store.maxConcurrent,
      random,
      onWait: (waitMs) => this.#emit({ type: 'waiting', modelName, waitMs, queueLength: queue.length }),
    });
    return queue;
  }

  #createDeployments(modelName: string): Deployment[] {
    const { models, cooldownMs, allowedFailures } = this.#settings;
    const entries = models.filter((entry) => entry.modelName === modelName).map(({ params }) => params);
    // requests and tokens cannot be compared, so limits serve as weights only if all deployments have the same kind
    const limit = entries.every(({ rpm }) => rpm) ? 'rpm' : entries.every(({ tpm }) => tpm) ? 'tpm' : undefined;
    return entries.map((params, index) => {
      const id = params.id ?? `${modelName}#${index + 1}`;
      if (this.#deployments.some((other) => other.id === id)) {
        throw invalid(`two deployments have the id "${id}". Give each an "id" of its own in its params.`);
      }
      const weight = params.weight ?? (limit && params[limit]) ?? 1;
      const deployment = new Deployment({
        id,
        modelName,
        params: { ...params, weight },
        cooldownMs,
        allowedFailures,
        counter: this.#store.counter(id),
      });
      this.#deployments.push(deployment);
      return deployment;
    });
  }

  #emit(event: RouterEvent): void {
    callListener(this.#logger, 'Router: onEvent', () => this.#settings.onEvent?.(event));
  }
}

function routedModel(modelName: string, context: RoutingContext): LanguageModelV4 {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'router',
    modelId: modelName,
    supportedUrls: {},
    doGenerate: (options) => new RoutedCall({ context, options, invoke: generate }).run(modelName),
    doStream: (options) => new RoutedCall({ context, options, invoke: stream }).run(modelName),
  };
  /** The models of deployments whose package is installed. */
  const modelsNamed = async (...names: readonly string[]) => {
    const deployments = names.flatMap((name) => context.queues.get(name)?.deployments ?? []);
    const models = await Promise.allSettled(deployments.map((deployment) => deployment.model()));
    return models.flatMap((found) => (found.status === 'fulfilled' ? [found.value] : []));
  };
  setModelsBehind(model, {
    models: () => modelsNamed(modelName),
    fallbacks: () => modelsNamed(...(context.settings.fallbacks?.[modelName] ?? [])),
  });
  return model;
}
