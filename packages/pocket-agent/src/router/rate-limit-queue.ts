// The queue of one model: calls wait in order until one of its deployments has room.
import { nextTurn, onAbort, PocketError } from '@pocket-agent/kit';
import type { Deployment } from './deployment.ts';
import type { Reservation } from './rate-window.ts';
import { choose, type StrategyName } from './strategy.ts';

/** A place at a deployment. */
export interface Lease {
  deployment: Deployment;
  reservation: Reservation;
  waitedMs: number;
}

interface LeaseRequest {
  inputEstimate: number;
  maxOutputTokens: number | undefined;
  signal: AbortSignal | undefined;
  maxWaitMs: number;
  /** Deployments where this call has failed already. */
  exclude: readonly Deployment[];
  /** Taken if it has room: a provider's prompt cache is worth more than an even load. */
  preferred: Deployment | undefined;
  /** There are fallback models, so the call does not wait for a deployment that is cooling down. */
  canFallBack: boolean;
}

interface Waiter extends LeaseRequest {
  since: number;
  isAnnounced: boolean;
  resolve(lease: Lease): void;
  reject(error: unknown): void;
}

interface QueueOptions {
  modelName: string;
  deployments: readonly Deployment[];
  strategy: StrategyName;
  /** The option of the router, for the error. */
  maxWaitMs: number;
  /** How many reservations are asked for at a time. */
  maxConcurrent: number;
  random: () => number;
  onWait(waitMs: number): void;
}

const MAX_SLEEP_MS = 60_000;
/** When to try again if all parallel places are taken. A call that ends wakes the queue earlier. */
const BUSY_RETRY_MS = 1_000;

export class RateLimitQueue {
  readonly modelName: string;
  readonly deployments: readonly Deployment[];
  readonly #options: QueueOptions;
  readonly #waiters: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isServing = false;
  /** Something changed, so every waiter is to be tried again. */
  #isDirty = false;
  #loading: Promise<unknown> | undefined;
  #closedBy: PocketError | undefined;

  constructor(options: QueueOptions) {
    this.modelName = options.modelName;
    this.deployments = options.deployments;
    this.#options = options;
  }

  get length(): number {
    return this.#waiters.length;
  }

  /** Resolves when a deployment has room for the call. */
  async enter(request: LeaseRequest): Promise<Lease> {
    const { signal, exclude } = request;
    signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy;
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const waiter: Waiter = { ...request, since: performance.now(), isAnnounced: false, resolve, reject };
    // a retried call has waited its turn already
    const firstFresh = exclude.length > 0 ? this.#waiters.findIndex((other) => other.exclude.length === 0) : -1;
    this.#waiters.splice(firstFresh < 0 ? this.#waiters.length : firstFresh, 0, waiter);
    const release = signal && onAbort(signal, (reason) => this.#reject(waiter, reason));
    void this.#serve();
    try {
      return await promise;
    } finally {
      release?.();
    }
  }

  /** Ends a lease. The used tokens replace the estimated ones; if unknown, the estimate stays. */
  release({ deployment, reservation }: Lease, tokens: number | undefined): void {
    deployment.inFlight--;
    const settled = tokens === undefined ? undefined : deployment.counter.settle(reservation, tokens);
    const serve = () => this.#serve();
    Promise.resolve(settled).then(serve, serve); // the store logs its failures
  }

  /** Rejects all waiting calls and all later ones. */
  close(reason: PocketError): void {
    clearTimeout(this.#timer);
    this.#closedBy = reason;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(reason);
  }

  /** Tries every waiter, and again if something changes in the meantime. Then it sleeps until there may be room. */
  async #serve(): Promise<void> {
    this.#isDirty = true;
    if (this.#isServing || this.#waiters.length === 0) return;
    this.#isServing = true;
    clearTimeout(this.#timer);
    this.#loading ??= this.#loadDeployments();
    await this.#loading;
    let wakeMs = MAX_SLEEP_MS;
    while (this.#isDirty && this.#waiters.length > 0) {
      this.#isDirty = false;
      const waitMs = await this.#serveInOrder();
      if (!this.#isDirty) wakeMs = Math.min(waitMs, this.#rejectExpired(waitMs), MAX_SLEEP_MS);
    }
    this.#isServing = false;
    if (this.#waiters.length > 0) this.#timer = setTimeout(() => this.#serve(), Math.max(1, wakeMs));
  }

  /** Returns the time until there may be room for the remaining waiters. */
  async #serveInOrder(): Promise<number> {
    let waitMs = Number.POSITIVE_INFINITY;
    let size = 1;
    for (let start = 0; start < this.#waiters.length; ) {
      const batch = this.#waiters.slice(start, start + size);
      const waits = await Promise.all(batch.map((waiter) => this.#serveOne(waiter)));
      const stuck = batch.filter((_, index) => waits[index] !== undefined);
      const last = stuck.at(-1);
      if (!last) {
        // one start per turn of the event loop, so that a call goes out at the time it is counted for
        if (this.#waiters.length > start) await nextTurn();
        size = Math.min(2 * size, this.#options.maxConcurrent);
        continue;
      }
      waitMs = Math.min(waitMs, ...waits.map((each) => each ?? waitMs));
      // only a retried call, which may not use every deployment, lets others pass
      if (stuck.some(({ exclude }) => exclude.length === 0)) break;
      start = this.#waiters.indexOf(last) + 1;
      size = 1;
    }
    return waitMs;
  }

  /** Rejects calls out of time, which may be anywhere in the queue. Returns the time until the next one expires. */
  #rejectExpired(waitMs: number): number {
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiter of [...this.#waiters]) {
      const leftMs = waiter.since + waiter.maxWaitMs - now;
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
      else this.#reject(waiter, this.#rateLimited(waitMs));
    }
    return nextMs;
  }

  /** Returns the time until the next try; undefined when the waiter has left the queue. */
  async #serveOne(waiter: Waiter): Promise<number | undefined> {
    try {
      const outcome = await this.#findRoom(waiter);
      if ('deployment' in outcome) {
        if (this.#remove(waiter)) waiter.resolve(outcome);
        else this.release(outcome, 0); // aborted during the reservation
        return undefined;
      }
      if (!this.#waiters.includes(waiter)) return undefined;
      if (waiter.since + waiter.maxWaitMs <= performance.now()) throw this.#rateLimited(outcome.waitMs);
      if (!waiter.isAnnounced) this.#options.onWait(outcome.waitMs);
      waiter.isAnnounced = true;
      return outcome.waitMs;
    } catch (error) {
      this.#reject(waiter, error);
      return undefined;
    }
  }

  async #findRoom(waiter: Waiter): Promise<Lease | { waitMs: number }> {
    const { strategy, random } = this.#options;
    const { exclude, canFallBack, preferred, since } = waiter;
    const now = performance.now();
    const allowed = this.deployments.filter((deployment) => !exclude.includes(deployment));
    const ready = allowed.filter((deployment) => deployment.coolingMs(now) === 0);
    const usable = canFallBack ? ready : allowed.filter((deployment) => !deployment.isBroken(now));
    if (usable.length === 0) throw this.#noDeployment();
    let free = ready.filter((deployment) => deployment.inFlight < deployment.maxParallel);
    let waitMs = free.length < ready.length ? BUSY_RETRY_MS : Number.POSITIVE_INFINITY;
    for (const deployment of allowed) waitMs = Math.min(waitMs, deployment.coolingMs(now) || waitMs);
    if (strategy === 'usage-based') for (const deployment of free) await deployment.updateUse();
    while (free.length > 0) {
      const deployment = preferred && free.includes(preferred) ? preferred : choose(strategy, free, random);
      if (!deployment) break;
      const outcome = await deployment.reserve(waiter);
      if ('reservation' in outcome) return { deployment, ...outcome, waitedMs: performance.now() - since };
      waitMs = Math.min(waitMs, outcome.waitMs);
      free = free.filter((other) => other !== deployment);
    }
    return { waitMs };
  }

  /** Loads models and prices before the first call is counted. */
  #loadDeployments(): Promise<unknown> {
    const needsCost = this.#options.strategy === 'lowest-cost';
    return Promise.all(this.deployments.map((deployment) => deployment.load(needsCost)));
  }

  #remove(waiter: Waiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index >= 0) this.#waiters.splice(index, 1);
    return index >= 0;
  }

  #reject(waiter: Waiter, reason: unknown): void {
    this.#remove(waiter);
    waiter.reject(reason);
    void this.#serve(); // the calls behind may need less room
  }

  #rateLimited(waitMs: number): PocketError {
    const { maxWaitMs } = this.#options;
    return new PocketError(
      'RATE_LIMITED',
      `No deployment of "${this.modelName}" had room within ${maxWaitMs} ms (maxWaitMs). Try again in ${Math.ceil(waitMs)} ms.`,
      { details: { retryAfterMs: waitMs } },
    );
  }

  #noDeployment(): PocketError {
    const failures = this.deployments.map(({ id, lastFailure }) => `${id}: ${lastFailure ?? 'not tried'}`);
    const text = `No deployment of "${this.modelName}" is available. ${failures.join('; ')}`;
    return new PocketError('MODEL_FAILED', text);
  }
}
