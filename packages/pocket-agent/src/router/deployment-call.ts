// One call of one deployment until the whole answer has arrived: its place, time and counts. routed-call.ts sends it.
import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { abortable, type Deadline, onAbort, startDeadline } from '@pocket-agent/kit';
import { failureOf, isPermanent, isWorthRetrying } from '../model/failure.ts';
import { headersOf } from '../model/provider-errors.ts';
import { AttemptSpan, type TracedModel } from '../tracing/model-span.ts';
import type { Deployment } from './deployment.ts';
import { providerCounts } from './rate-headers.ts';
import type { Lease, RateLimitQueue } from './rate-limit-queue.ts';
import type { RouterEvent } from './router-options.ts';

interface DeploymentCallOptions {
  lease: Lease;
  queue: RateLimitQueue;
  inputEstimate: number;
  /** The signal of the caller. */
  signal: AbortSignal | undefined;
  emit(event: RouterEvent): void;
}

export class DeploymentCall {
  readonly deployment: Deployment;
  /** Aborted by the caller or after the timeout of the deployment. */
  readonly signal: AbortSignal | undefined;
  readonly #deadline: Deadline | undefined;
  readonly #options: DeploymentCallOptions;
  readonly #started = performance.now();
  #stopListening: (() => void) | undefined;
  #span: AttemptSpan | undefined;
  #isOver = false;
  #holdsPlace = true;

  constructor(options: DeploymentCallOptions) {
    const { lease, signal } = options;
    this.#options = options;
    this.deployment = lease.deployment;
    const { id, params } = lease.deployment;
    const { timeoutMs } = params;
    if (timeoutMs !== undefined)
      this.#deadline = startDeadline({ what: `The call of ${id}`, signals: [signal], timeoutMs });
    this.signal = this.#deadline?.signal ?? signal;
  }

  /** Sends the request within a span that ends with this call. */
  traced<Value>(model: TracedModel, send: () => Value): Value {
    const { id, modelName } = this.deployment;
    const { waitedMs } = this.#options.lease;
    this.#span = new AttemptSpan({ model, modelName, deployment: id, waitedMs });
    return this.#span.within(send);
  }

  /** Time in the queue of the model, in whole milliseconds. */
  get waitedMs(): number {
    return Math.round(this.#options.lease.waitedMs);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The promise, or an error as soon as the signal is aborted. */
  wait<Value>(promise: PromiseLike<Value>): PromiseLike<Value> {
    return this.signal ? abortable(promise, this.signal) : promise;
  }

  /** Something was shown. From here on an abort cancels the call, even if the model ignores the signal. */
  startShowing(): void {
    this.#deadline?.stopClock();
    this.#stopListening = this.signal && onAbort(this.signal, () => this.cancel());
  }

  /** Raises our counts to those in the provider's headers. */
  readHeaders(headers: Record<string, string | undefined> | undefined): void {
    const { counter, limits } = this.deployment;
    const counts = headers ? providerCounts({ headers, limits, ageMs: performance.now() - this.#started }) : [];
    for (const count of counts) void counter.raise(count);
  }

  /** Called when the answer is complete. */
  succeed({ usage, response }: Pick<LanguageModelV4GenerateResult, 'usage' | 'response'>): void {
    if (this.#isOver) return;
    const { id, modelName } = this.deployment;
    const latencyMs = performance.now() - this.#started;
    const { inputEstimate, emit } = this.#options;
    const tokens = this.deployment.recordSuccess({ usage, inputEstimate, latencyMs });
    this.readHeaders(response?.headers);
    this.#end(tokens);
    this.#span?.succeeded();
    emit({ type: 'finished', modelName, deployment: id, latencyMs, tokens });
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    const { id, modelName } = this.deployment;
    const failure = failureOf(error);
    const { kind, reason } = failure;
    const cooldownMs = this.deployment.recordFailure(failure, performance.now());
    this.readHeaders(headersOf(error));
    const wasRejected = isPermanent(kind) || !isWorthRetrying(kind); // costs no tokens
    this.#end(wasRejected ? 0 : this.#options.lease.reservation.tokens);
    this.#span?.failed(kind, reason);
    this.#options.emit({ type: 'failed', modelName, deployment: id, kind, reason, cooldownMs });
  }

  /** The caller gave up; that says nothing about the deployment. */
  cancel(): void {
    if (this.#isOver) return;
    this.#end(this.#options.lease.reservation.tokens);
    this.#span?.failed('cancelled', 'the caller gave up');
  }

  /** Frees the place at the deployment before the call is over. */
  releasePlace(tokens?: number): void {
    if (this.#holdsPlace) this.#options.queue.release(this.#options.lease, tokens);
    this.#holdsPlace = false;
  }

  #end(tokens: number | undefined): void {
    this.#isOver = true;
    this.#deadline?.release();
    this.#stopListening?.();
    this.releasePlace(tokens);
  }
}
