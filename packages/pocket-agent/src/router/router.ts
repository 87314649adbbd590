// Router: several deployments as one model. Paces calls before a limit is met, and goes round what fails.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import {
  abortable,
  type Deadline,
  delay,
  errorText,
  isPocketError,
  type Logger,
  PocketError,
  startDeadline,
  stderrLogger,
} from '@pocket-agent/kit';
import { learnFrom, requestFor } from '../model/model-request.ts';
import { markPart } from '../model/part-origin.ts';
import { headersOf, providerErrorText, wasSilent } from '../model/provider-errors.ts';
import { estimateInputTokens } from '../model/token-estimate.ts';
import { Deployment, type DeploymentStatus } from './deployment.ts';
import { type Failure, failureOf, isLasting, isWorthAnotherTry } from './failure.ts';
import { LateRateStore } from './late-store.ts';
import { type Lease, Line, type PlaceInLine } from './line.ts';
import { providerCounts } from './rate-headers.ts';
import { MemoryRateStore, type RateStore, type WindowUse } from './rate-window.ts';
import { type StreamWatcher, startStream } from './routed-stream.ts';
import { checkOptions, invalid, type RouterEvent, type RouterOptions, unknownModel } from './router-options.ts';
import { StickyMap } from './sticky.ts';

export interface RouterStatus {
  deployments: (DeploymentStatus & { used: WindowUse })[];
  /** Calls that wait, by model. */
  waiting: Record<string, number>;
}

type Invoke<Result> = (model: LanguageModelV4, options: LanguageModelV4CallOptions, turn: Turn) => Promise<Result>;

/** One call on one deployment, from its start until all of its answer has come. */
interface Turn {
  lease: Lease;
  deadline: Deadline;
  /** Takes the provider's own count over where it is higher than ours. */
  heed(headers: Record<string, string | undefined> | undefined): void;
  done(result: Pick<LanguageModelV4GenerateResult, 'usage' | 'response'>): void;
  broke(error?: unknown): void;
  /** Gives the place back before the end. */
  free(): void;
}

/** What belongs to one call, whatever models and deployments it tries. */
interface Call<Result> {
  options: LanguageModelV4CallOptions;
  invoke: Invoke<Result>;
  attempts: Attempt[];
  /** How long it may still wait for room. */
  patienceMs: number;
}

interface Attempt {
  deployment: string;
  reason: string;
}

/** Reservations under way at the same time when each takes a round trip. */
const FAR_STORE_AT_ONCE = 32;

export class Router {
  readonly #options: RouterOptions;
  readonly #logger: Logger;
  readonly #store: RateStore;
  readonly #lines = new Map<string, Line>();
  readonly #deployments: Deployment[] = [];
  readonly #sticky = new StickyMap();
  readonly #models = new Map<string, LanguageModelV4>();
  readonly #closing = new AbortController();

  constructor(options: RouterOptions) {
    checkOptions(options);
    this.#options = { ...options };
    const { windowMs = 60_000, arrivalMarginMs = 1_000, redisUrl, redisPrefix, logger = stderrLogger() } = options;
    const shape = { windowMs, marginMs: arrivalMarginMs };
    this.#logger = logger;
    this.#store = redisUrl
      ? new LateRateStore(async () => {
          const { RedisRateStore } = await import('./redis-store.ts');
          return new RedisRateStore(redisUrl, shape, logger, redisPrefix);
        })
      : new MemoryRateStore(shape);
    const names = new Set(options.models.map(({ modelName }) => modelName));
    for (const modelName of names) this.#lines.set(modelName, this.#makeLine(modelName));
  }

  /** A model that any AI SDK program can use. */
  languageModel(modelName: string): LanguageModelV4 {
    if (!this.#lines.has(modelName)) throw unknownModel(modelName, this.#lines.keys());
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
    const waiting = Object.fromEntries([...this.#lines].map(([name, line]) => [name, line.length]));
    return { deployments: await Promise.all(deployments), waiting };
  }

  /** Lets go of Redis and of timers. Calls that run may end; those that wait, and new ones, fail with AGENT_CLOSED. */
  async close(): Promise<void> {
    const closed = new PocketError('AGENT_CLOSED', 'The router was closed.');
    this.#closing.abort(closed);
    for (const line of this.#lines.values()) line.close(closed);
    await this.#store.close();
  }

  #makeLine(modelName: string): Line {
    const {
      cooldownMs = 5_000,
      allowedFailures = 2,
      strategy = 'weighted-shuffle',
      maxWaitMs = 60_000,
    } = this.#options;
    const all = this.#options.models.filter((entry) => entry.modelName === modelName).map(({ params }) => params);
    // requests of one and tokens of another cannot be weighed against each other
    const scale = all.every(({ rpm }) => rpm) ? 'rpm' : all.every(({ tpm }) => tpm) ? 'tpm' : undefined;
    const weighed = all.map((params) => ({ ...params, weight: params.weight ?? (scale && params[scale]) ?? 1 }));
    const deployments = weighed.map(
      (params, index) => new Deployment(modelName, index, params, { cooldownMs, allowedFailures }),
    );
    for (const deployment of deployments) {
      if (this.#deployments.some((other) => other.id === deployment.id)) {
        throw invalid(`two deployments have the id "${deployment.id}". Give each an "id" of its own in its params.`);
      }
      this.#deployments.push(deployment);
    }
    const line: Line = new Line({
      modelName,
      deployments,
      store: this.#store,
      strategy,
      maxWaitMs,
      random: this.#options.random ?? Math.random,
      atOnce: this.#options.redisUrl ? FAR_STORE_AT_ONCE : 1,
      now: () => performance.now(),
      onWait: (waitMs) => this.#emit({ type: 'waiting', modelName, waitMs, inLine: line.length }),
    });
    return line;
  }

  /** The model asked for, then those it falls back to. */
  async #call<Result>(modelName: string, options: LanguageModelV4CallOptions, invoke: Invoke<Result>): Promise<Result> {
    const attempts: Attempt[] = [];
    const call: Call<Result> = { options, invoke, attempts, patienceMs: this.#options.maxWaitMs ?? 60_000 };
    const tried = new Set<string>();
    let next = this.#options.fallbacks?.[modelName] ?? [];
    for (let name = modelName; ; ) {
      tried.add(name);
      try {
        return await this.#callModel(name, call, next.length > 0);
      } catch (error) {
        options.abortSignal?.throwIfAborted();
        if (isPocketError(error, 'AGENT_CLOSED')) throw error;
        const { kind, reason } = failureOf(error);
        if (kind === 'context-window') next = [...(this.#options.contextWindowFallbacks?.[name] ?? []), ...next];
        else if (!isWorthAnotherTry(kind) && !(error instanceof PocketError)) throw error;
        next = next.filter((other) => !tried.has(other));
        const [to, ...others] = next;
        if (to === undefined) {
          throw isPocketError(error, 'RATE_LIMITED') ? error : exhausted(modelName, attempts, error);
        }
        this.#emit({ type: 'fallback', from: name, to, reason });
        name = to;
        next = others;
      }
    }
  }

  /** One model: its deployments in turn, those that have failed this call last. */
  async #callModel<Result>(name: string, call: Call<Result>, canFallBack: boolean): Promise<Result> {
    const { options, attempts } = call;
    const line = this.#lines.get(name);
    if (!line) throw unknownModel(name, this.#lines.keys());
    const { retries = 3, strategy = 'weighted-shuffle', sticky } = this.#options;
    const inputEstimate = estimateInputTokens(options);
    const exclude = new Set<Deployment>();
    const lasting = new Set<Deployment>();
    const conversation = sticky ? this.#sticky.keyOf(name, options.prompt) : undefined;
    for (let retry = 0; ; retry++) {
      const preferred = conversation === undefined ? undefined : this.#sticky.get(conversation);
      const place = { inputEstimate, maxOutputTokens: options.maxOutputTokens, exclude, preferred, canFallBack };
      const lease = await this.#enter(line, call, place);
      const { deployment, waitedMs } = lease;
      if (conversation !== undefined) this.#sticky.set(conversation, deployment);
      const because = deployment === preferred ? 'sticky' : strategy;
      this.#emit({ type: 'chosen', modelName: name, deployment: deployment.id, because, waitedMs });
      const turn = this.#startTurn(line, lease, inputEstimate, options.abortSignal);
      try {
        const model = await deployment.model();
        return await this.#invokeRepaired(model, call, turn);
      } catch (error) {
        turn.broke(options.abortSignal?.aborted ? undefined : error);
        options.abortSignal?.throwIfAborted();
        const { kind, reason } = failureOf(error);
        attempts.push({ deployment: deployment.id, reason });
        if (!isWorthAnotherTry(kind) || retry >= retries) throw error;
        exclude.add(deployment);
        if (isLasting(kind) || wasSilent(error)) lasting.add(deployment);
        if (line.deployments.some((other) => !exclude.has(other) && other.coolingMs(performance.now()) === 0)) continue;
        if (canFallBack || lasting.size === line.deployments.length) throw error;
        for (const other of exclude) if (!lasting.has(other)) exclude.delete(other);
        await this.#pause(Math.min(250 * 2 ** retry, 5_000), options.abortSignal);
      }
    }
  }

  /** A refusal of something that can be left out does not count as a failure of the deployment. */
  async #invokeRepaired<Result>(
    model: LanguageModelV4,
    { options, invoke }: Call<Result>,
    turn: Turn,
  ): Promise<Result> {
    for (;;) {
      const request = requestFor(model, { ...options, abortSignal: turn.deadline.signal });
      try {
        return await invoke(model, request, turn);
      } catch (error) {
        const leftOut = learnFrom(model, error, request);
        if (leftOut === undefined) throw error;
        const { id } = turn.lease.deployment;
        this.#logger.warn(`Router: ${id} refused ${leftOut}, so that is left out: ${providerErrorText(error)}`);
      }
    }
  }

  /** What it waits here is missing at its next try. */
  async #enter<Result>(
    line: Line,
    call: Call<Result>,
    place: Omit<PlaceInLine, 'signal' | 'patienceMs'>,
  ): Promise<Lease> {
    const { patienceMs, options } = call;
    const since = performance.now();
    try {
      return await line.enter({ ...place, patienceMs, signal: options.abortSignal });
    } finally {
      call.patienceMs -= performance.now() - since;
    }
  }

  async #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const end = startDeadline('The call', [signal, this.#closing.signal]);
    try {
      await delay(ms, end.signal);
    } finally {
      end.release();
    }
  }

  #startTurn(line: Line, lease: Lease, inputEstimate: number, signal: AbortSignal | undefined): Turn {
    const { deployment, reservation } = lease;
    const { id, modelName } = deployment;
    const deadline = startDeadline(`The call of ${id}`, [signal], deployment.timeoutMs);
    const started = performance.now();
    let over = false;
    let hasPlace = true;
    const giveBack = (tokens: number | undefined) => {
      if (hasPlace) line.giveBack(lease, tokens);
      hasPlace = false;
    };
    const end = (tokens: number | undefined) => {
      over = true;
      deadline.release();
      giveBack(tokens);
    };
    const heed: Turn['heed'] = (headers) => {
      const counts = headers ? providerCounts(headers, deployment.limits, performance.now() - started) : [];
      for (const count of counts) void this.#store.raise(id, count);
    };
    return {
      lease,
      deadline,
      heed,
      done: ({ usage, response }) => {
        if (over) return;
        const latencyMs = performance.now() - started;
        const tokens = deployment.succeeded(usage, inputEstimate, latencyMs);
        heed(response?.headers);
        end(tokens);
        this.#emit({ type: 'finished', modelName, deployment: id, latencyMs, tokens });
      },
      broke: (error) => {
        if (over) return;
        const failure: Failure | undefined = error === undefined ? undefined : failureOf(error);
        const cooldownMs = failure ? deployment.failed(failure, performance.now()) : 0;
        heed(headersOf(error));
        // a request that was refused before it ran has cost no tokens
        const free = failure && (isLasting(failure.kind) || !isWorthAnotherTry(failure.kind));
        end(free ? 0 : reservation.tokens);
        if (!failure) return;
        const { kind, reason } = failure;
        this.#emit({ type: 'failed', modelName, deployment: id, kind, reason, cooldownMs });
      },
      free: () => giveBack(undefined),
    };
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

const generate: Invoke<LanguageModelV4GenerateResult> = async (model, options, turn) => {
  const result = await abortable(model.doGenerate(options), turn.deadline.signal);
  turn.done(result);
  const content = result.content.map((part) => markPart(part, model));
  return { ...result, content, providerMetadata: withRoute(result.providerMetadata, model, turn) };
};

const stream: Invoke<LanguageModelV4StreamResult> = async (model, options, turn) => {
  const watcher: StreamWatcher = {
    started: turn.heed,
    marked: (part) => ('providerMetadata' in part ? markPart(part, model) : part),
    signed: (part) => ({ ...part, providerMetadata: withRoute(part.providerMetadata, model, turn) }),
    finished: ({ usage }) => turn.done({ usage }),
    unread: turn.free,
    ended: turn.broke,
  };
  const { timeoutMs } = turn.lease.deployment;
  const result = await startStream(model.doStream(options), turn.deadline, watcher, timeoutMs);
  // nothing but the caller ends it now, whether or not the model listens
  turn.deadline.signal.addEventListener('abort', () => turn.broke(), { once: true });
  return result;
};

/** Tells who answered, and for what price if it has its own: budgets need it, and people for the log. */
function withRoute(
  metadata: LanguageModelV4GenerateResult['providerMetadata'],
  model: LanguageModelV4,
  { lease }: Turn,
) {
  const { id, price } = lease.deployment;
  const route = { deployment: id, provider: model.provider, modelId: model.modelId };
  return { ...metadata, router: price ? { ...route, price: { ...price } } : route };
}

/** The last error itself where it tells all there is to tell. */
function exhausted(modelName: string, attempts: readonly Attempt[], cause: unknown): unknown {
  const reason = providerErrorText(cause);
  const isAttempt = attempts.at(-1)?.reason === reason;
  if (attempts.length === 0 || (attempts.length === 1 && isAttempt)) return cause;
  const story = attempts.map((attempt) => `${attempt.deployment}: ${attempt.reason}`);
  if (!isAttempt) story.push(reason); // nobody was left to try
  return new PocketError('MODEL_FAILED', `Every way to "${modelName}" failed. ${story.join('; ')}`, {
    cause,
    details: { attempts },
  });
}
