// One call of one deployment, from its start until the whole answer has arrived.
import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { type Deadline, startDeadline } from '@pocket-agent/kit';
import { headersOf } from '../model/provider-errors.ts';
import { failureOf, isLasting, isWorthAnotherTry } from './failure.ts';
import { providerCounts } from './rate-headers.ts';
import type { Lease, RateLimitQueue } from './rate-limit-queue.ts';
import type { RateStore } from './rate-store.ts';
import type { RouterEvent } from './router-options.ts';

export interface DeploymentCallOptions {
  lease: Lease;
  queue: RateLimitQueue;
  store: RateStore;
  inputEstimate: number;
  signal: AbortSignal | undefined;
  emit(event: RouterEvent): void;
}

export class DeploymentCall {
  readonly lease: Lease;
  /** Aborted by the caller or after the timeout of the deployment. */
  readonly deadline: Deadline;
  readonly #options: DeploymentCallOptions;
  readonly #started = performance.now();
  #isOver = false;
  #holdsPlace = true;

  constructor(options: DeploymentCallOptions) {
    const { id, timeoutMs } = options.lease.deployment;
    this.lease = options.lease;
    this.deadline = startDeadline(`The call of ${id}`, [options.signal], timeoutMs);
    this.#options = options;
  }

  /** Raises our counts to those in the provider's headers. */
  readHeaders(headers: Record<string, string | undefined> | undefined): void {
    const { id, limits } = this.lease.deployment;
    const counts = headers ? providerCounts({ headers, limits, ageMs: performance.now() - this.#started }) : [];
    for (const count of counts) void this.#options.store.raise(id, count);
  }

  /** The answer is complete. */
  succeed({ usage, response }: Pick<LanguageModelV4GenerateResult, 'usage' | 'response'>): void {
    if (this.#isOver) return;
    const { id, modelName } = this.lease.deployment;
    const latencyMs = performance.now() - this.#started;
    const { inputEstimate, emit } = this.#options;
    const tokens = this.lease.deployment.recordSuccess({ usage, inputEstimate, latencyMs });
    this.readHeaders(response?.headers);
    this.#end(tokens);
    emit({ type: 'finished', modelName, deployment: id, latencyMs, tokens });
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    const { id, modelName } = this.lease.deployment;
    const failure = failureOf(error);
    const { kind, reason } = failure;
    const cooldownMs = this.lease.deployment.recordFailure(failure, performance.now());
    this.readHeaders(headersOf(error));
    const wasRefused = isLasting(kind) || !isWorthAnotherTry(kind); // costs no tokens
    this.#end(wasRefused ? 0 : this.lease.reservation.tokens);
    this.#options.emit({ type: 'failed', modelName, deployment: id, kind, reason, cooldownMs });
  }

  /** The caller gave up; that says nothing about the deployment. */
  cancel(): void {
    if (!this.#isOver) this.#end(this.lease.reservation.tokens);
  }

  /** Frees the place at the deployment before the call is over. */
  releasePlace(tokens?: number): void {
    if (this.#holdsPlace) this.#options.queue.release(this.lease, tokens);
    this.#holdsPlace = false;
  }

  #end(tokens: number | undefined): void {
    this.#isOver = true;
    this.deadline.release();
    this.releasePlace(tokens);
  }
}
