// One call of a routed model: retries on other deployments of the model, then falls back to other models.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { delay, isPocketError, type Logger, PocketError, withDeadline } from '@pocket-agent/kit';
import { tagPart } from '../model/account-parts.ts';
import { failureOf, isPermanent, isWorthRetrying } from '../model/failure.ts';
import { refusedTypes } from '../model/file-rules.ts';
import { learnFromRejection, MAX_REJECTIONS, requestFor } from '../model/model-request.ts';
import { refuseEmpty, startModelStream } from '../model/model-stream.ts';
import { providerErrorText, rejectionOf, statusOf, wasSilent } from '../model/provider-errors.ts';
import { estimateInputTokens } from '../model/token-estimate.ts';
import { adviceAfterRejection } from '../providers/model-names.ts';
import { noteFallback } from '../tracing/model-span.ts';
import type { Deployment } from './deployment.ts';
import { DeploymentCall } from './deployment-call.ts';
import type { Lease, RateLimitQueue } from './rate-limit-queue.ts';
import { startStream } from './routed-stream.ts';
import { type RouterEvent, type RouterSettings, unknownModel } from './router-options.ts';
import type { StickySessions } from './sticky-sessions.ts';

/** Calls a model once, whole or as a stream. */
type Invoke<Result> = (
  model: LanguageModelV4,
  request: LanguageModelV4CallOptions,
  call: DeploymentCall,
) => Promise<Result>;

/** Shared by all calls of a router. */
export interface RoutingContext {
  settings: RouterSettings;
  queues: ReadonlyMap<string, RateLimitQueue>;
  sticky: StickySessions;
  logger: Logger;
  /** Aborted when the router is closed. */
  closing: AbortSignal;
  emit(event: RouterEvent): void;
}

interface RoutedCallOptions<Result> {
  context: RoutingContext;
  options: LanguageModelV4CallOptions;
  invoke: Invoke<Result>;
}

/** Where a call may go within one model. */
interface Choice {
  /** Deployments where this call has failed already. */
  exclude: readonly Deployment[];
  canFallBack: boolean;
}

const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

export class RoutedCall<Result> {
  readonly #context: RoutingContext;
  readonly #options: LanguageModelV4CallOptions;
  readonly #invoke: Invoke<Result>;
  readonly #signal: AbortSignal | undefined;
  readonly #inputEstimate: number;
  readonly #attempts: { deployment: string; reason: string }[] = [];
  #lastError: unknown;
  /** How long the call may still wait for room. */
  #waitLeftMs: number;

  constructor({ context, options, invoke }: RoutedCallOptions<Result>) {
    this.#context = context;
    this.#options = options;
    this.#invoke = invoke;
    this.#signal = options.abortSignal;
    this.#inputEstimate = estimateInputTokens(options);
    this.#waitLeftMs = context.settings.maxWaitMs;
  }

  /** Tries the model, then its fallbacks. */
  async run(modelName: string): Promise<Result> {
    const { fallbacks, contextWindowFallbacks } = this.#context.settings;
    const tried: string[] = [];
    let next = fallbacks?.[modelName] ?? [];
    for (let name = modelName; ; ) {
      tried.push(name);
      try {
        return await this.#tryModel(name, next.length > 0);
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (isPocketError(error, 'AGENT_CLOSED')) throw error;
        const { kind, reason } = failureOf(error);
        if (kind === 'context-window') next = [...(contextWindowFallbacks?.[name] ?? []), ...next];
        else if (!isWorthRetrying(kind) && !(error instanceof PocketError)) throw error;
        const [to, ...others] = await this.#skipRefusing(next.filter((other) => !tried.includes(other)));
        if (to === undefined) throw isPocketError(error, 'RATE_LIMITED') ? error : this.#allFailed(modelName, error);
        this.#context.emit({ type: 'fallback', from: name, to, reason });
        noteFallback({ from: name, to, reason });
        name = to;
        next = others;
      }
    }
  }

  /** Skips leading fallbacks that do not take a file of the question: an answer that ignores it would mislead. */
  async #skipRefusing(fallbacks: readonly string[]): Promise<readonly string[]> {
    const [name, ...others] = fallbacks;
    if (name === undefined) return fallbacks;
    const { deployments = [] } = this.#context.queues.get(name) ?? {};
    for (const deployment of deployments) {
      const model = await deployment.model().catch(() => undefined); // the call itself reports this error
      const [refused] = model ? refusedTypes(model, this.#options.prompt) : [];
      if (refused === undefined) continue;
      this.#attempts.push({ deployment: deployment.id, reason: `does not take ${refused}` });
      return this.#skipRefusing(others);
    }
    return fallbacks;
  }

  /** Tries the deployments of one model, those where this call has failed last. */
  async #tryModel(name: string, canFallBack: boolean): Promise<Result> {
    const queue = this.#context.queues.get(name);
    if (!queue) throw unknownModel(name, this.#context.queues.keys());
    let exclude: Deployment[] = [];
    /** Deployments where this call cannot succeed. */
    const hopeless: Deployment[] = [];
    for (let retry = 0; ; retry++) {
      const lease = await this.#enter(queue, { exclude, canFallBack });
      const { deployment } = lease;
      try {
        return await this.#tryDeployment(queue, lease);
      } catch (error) {
        this.#signal?.throwIfAborted();
        const { kind } = failureOf(error);
        this.#lastError = error;
        this.#attempts.push({ deployment: deployment.id, reason: await reasonWithAdvice(error, deployment) });
        if (!isWorthRetrying(kind) || retry >= this.#context.settings.retries) throw error;
        exclude = [...exclude, deployment];
        if (isPermanent(kind) || wasSilent(error)) hopeless.push(deployment);
        const now = performance.now();
        if (queue.deployments.some((other) => !exclude.includes(other) && other.coolingMs(now) === 0)) continue;
        if (canFallBack || hopeless.length === queue.deployments.length) throw error;
        exclude = [...hopeless];
        await this.#pause(Math.min(MIN_PAUSE_MS * 2 ** retry, MAX_PAUSE_MS));
      }
    }
  }

  /** Waits for room at a deployment. */
  async #enter(queue: RateLimitQueue, { exclude, canFallBack }: Choice): Promise<Lease> {
    const { settings, sticky, emit } = this.#context;
    const { modelName } = queue;
    const conversation = settings.sticky ? sticky.keyOf(modelName, this.#options.prompt) : undefined;
    const preferred = conversation === undefined ? undefined : sticky.get(conversation);
    const since = performance.now();
    try {
      const lease = await queue.enter({
        exclude,
        canFallBack,
        preferred,
        inputEstimate: this.#inputEstimate,
        maxOutputTokens: this.#options.maxOutputTokens,
        maxWaitMs: this.#waitLeftMs,
        signal: this.#signal,
      });
      const { deployment, waitedMs } = lease;
      if (conversation !== undefined) sticky.set(conversation, deployment);
      const because = deployment === preferred ? 'sticky' : settings.strategy;
      emit({ type: 'chosen', modelName, deployment: deployment.id, because, waitedMs });
      return lease;
    } finally {
      this.#waitLeftMs -= performance.now() - since;
    }
  }

  async #tryDeployment(queue: RateLimitQueue, lease: Lease): Promise<Result> {
    const { emit } = this.#context;
    const call = new DeploymentCall({ lease, queue, inputEstimate: this.#inputEstimate, signal: this.#signal, emit });
    try {
      const model = await lease.deployment.model();
      return await call.traced(model, () => this.#invokeRepaired(model, call));
    } catch (error) {
      if (this.#signal?.aborted) call.cancel();
      else call.fail(error);
      throw error;
    }
  }

  /** Repeats the request without what the provider rejected; that does not count as a failure of the deployment. */
  async #invokeRepaired(model: LanguageModelV4, call: DeploymentCall): Promise<Result> {
    for (let rejections = 0; ; rejections++) {
      const request = requestFor(model, { ...this.#options, ...(call.signal && { abortSignal: call.signal }) });
      try {
        return await this.#invoke(model, request, call);
      } catch (error) {
        const leftOut = learnFromRejection({ model, error, request });
        if (leftOut === undefined || rejections >= MAX_REJECTIONS) throw error;
        this.#context.logger.warn(
          `Router: ${call.deployment.id} rejected ${leftOut}, which is left out from now on: ${providerErrorText(error)}`,
        );
      }
    }
  }

  #pause(ms: number): Promise<void> {
    const deadline = { what: 'The call', signals: [this.#signal, this.#context.closing] };
    return withDeadline(deadline, (signal) => delay(ms, signal));
  }

  /** The provider's error itself after a single attempt, else an error that lists every attempt. */
  #allFailed(modelName: string, cause: unknown): unknown {
    const attempts = this.#attempts;
    const isAttempt = cause === this.#lastError;
    const rejected = isAttempt && attempts.length === 1 ? rejectionOf(cause) : undefined;
    if (attempts.length === 0 || (attempts.length === 1 && isAttempt && !rejected)) return cause;
    const reasons = attempts.map((attempt) => `${attempt.deployment}: ${attempt.reason}`);
    if (!isAttempt) reasons.push(providerErrorText(cause)); // no deployment was available
    return new PocketError('MODEL_FAILED', `Every deployment for "${modelName}" failed. ${reasons.join('; ')}`, {
      cause,
      details: { attempts, ...(rejected ? { refused: rejected, statusCode: statusOf(cause) } : {}) },
    });
  }
}

/** Says what to check when the provider rejected the key or the model of a deployment. */
async function reasonWithAdvice(error: unknown, deployment: Deployment): Promise<string> {
  const reason = providerErrorText(error);
  const rejected = rejectionOf(error);
  if (!rejected) return reason;
  return `${reason.replace(/\.?$/, '.')} ${adviceAfterRejection(rejected, await deployment.model(), 'params')}`;
}

export const generate: Invoke<LanguageModelV4GenerateResult> = async (model, request, call) => {
  const result = refuseEmpty(await call.wait(model.doGenerate(request)));
  call.succeed(result);
  const content = result.content.map((part) => tagPart(part, model));
  return { ...result, content, providerMetadata: withRoute(result.providerMetadata, model, call) };
};

export const stream: Invoke<LanguageModelV4StreamResult> = (model, request, call) =>
  startStream(startModelStream(model, request), { call, transform: (part) => transformPart(part, model, call) });

function transformPart(part: LanguageModelV4StreamPart, model: LanguageModelV4, call: DeploymentCall) {
  if (part.type === 'finish') return { ...part, providerMetadata: withRoute(part.providerMetadata, model, call) };
  return 'providerMetadata' in part ? tagPart(part, model) : part;
}

/** Adds which deployment answered and how long the call waited for it, for logs, and its own price, for budgets. */
function withRoute(
  metadata: LanguageModelV4GenerateResult['providerMetadata'],
  model: LanguageModelV4,
  { deployment, waitedMs }: DeploymentCall,
) {
  const { id, params } = deployment;
  const { price } = params;
  const waited = waitedMs > 0 ? { waitedMs } : {};
  const route = { deployment: id, provider: model.provider, modelId: model.modelId, ...waited };
  return { ...metadata, router: price ? { ...route, price: { ...price } } : route };
}
