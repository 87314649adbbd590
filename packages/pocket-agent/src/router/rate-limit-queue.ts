// The queue of one model: calls wait in order until one of its deployments has room.
import { PocketError } from '@pocket-agent/kit';
import type { Deployment } from './deployment.ts';
import type { RateStore } from './rate-store.ts';
import type { Reservation } from './rate-window.ts';
import { choose, type StrategyName } from './strategy.ts';

/** A place at a deployment. */
export interface Lease {
  deployment: Deployment;
  reservation: Reservation;
  waitedMs: number;
}

export interface LeaseRequest {
  inputEstimate: number;
  maxOutputTokens: number | undefined;
  signal: AbortSignal | undefined;
  maxWaitMs: number;
  /** Deployments where this call has failed already. */
  exclude: ReadonlySet<Deployment>;
  /** Taken if it has room: a provider's prompt cache is worth more than an even load. */
  preferred: Deployment | undefined;
  /** There are fallback models, so the call does not wait for a deployment that is cooling down. */
  canFallBack: boolean;
}

interface Waiter {
  request: LeaseRequest;
  since: number;
  deadline: number;
  isAnnounced: boolean;
  resolve(lease: Lease): void;
  reject(error: unknown): void;
}

export interface QueueOptions {
  modelName: string;
  deployments: readonly Deployment[];
  store: RateStore;
  strategy: StrategyName;
  /** The option of the router, for the error. */
  maxWaitMs: number;
  random: () => number;
  onWait(waitMs: number): void;
}

const MAX_SLEEP_MS = 60_000;
/** When to try again if all parallel places are taken. A call that ends wakes the queue earlier. */
const BUSY_RETRY_MS = 1_000;

export class RateLimitQueue {
  readonly #options: QueueOptions;
  readonly #waiters: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isServing = false;
  /** Something changed, so every waiter is to be tried again. */
  #isDirty = false;
  #preparing: Promise<void> | undefined;
  #closedBy: PocketError | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get modelName(): string {
    return this.#options.modelName;
  }

  get length(): number {
    return this.#waiters.length;
  }

  get deployments(): readonly Deployment[] {
    return this.#options.deployments;
  }

  /** Resolves when a deployment has room for the call. */
  async enter(request: LeaseRequest): Promise<Lease> {
    const { signal, maxWaitMs, exclude } = request;
    signal?.throwIfAborted();
    if (this.#closedBy) throw this.#closedBy;
    const since = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const waiter: Waiter = { request, since, deadline: since + maxWaitMs, isAnnounced: false, resolve, reject };
    // a retried call has waited its turn already
    const firstFresh = exclude.size > 0 ? this.#waiters.findIndex((other) => other.request.exclude.size === 0) : -1;
    this.#waiters.splice(firstFresh < 0 ? this.#waiters.length : firstFresh, 0, waiter);
    const leave = () => {
      this.#remove(waiter);
      reject(signal?.reason);
      this.#serve(); // the calls behind may need less room
    };
    signal?.addEventListener('abort', leave, { once: true });
    this.#serve();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** Ends a lease. The used tokens replace the estimated ones; if unknown, the estimate stays. */
  release({ deployment, reservation }: Lease, tokens: number | undefined): void {
    const { store } = this.#options;
    deployment.inFlight--;
    const settled = tokens === undefined ? undefined : store.settle({ key: deployment.id, reservation, tokens });
    Promise.resolve(settled)
      .catch(() => {}) // the store logs its failures
      .finally(() => this.#serve());
  }

  /** Rejects all waiting calls and all later ones. */
  close(reason: PocketError): void {
    clearTimeout(this.#timer);
    this.#closedBy = reason;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(reason);
  }

  /** Tries every waiter; if that is under way, once more after it. */
  #serve(): void {
    this.#isDirty = true;
    if (this.#isServing || this.#waiters.length === 0) return;
    this.#isServing = true;
    void this.#serveAll().finally(() => {
      this.#isServing = false;
      if (this.#isDirty) this.#serve();
    });
  }

  async #serveAll(): Promise<void> {
    this.#preparing ??= this.#prepare();
    await this.#preparing;
    while (this.#isDirty) {
      this.#isDirty = false;
      clearTimeout(this.#timer);
      const waitMs = await this.#serveInOrder();
      if (this.#isDirty) continue; // a new call has not been tried yet
      const wakeMs = Math.min(waitMs, MAX_SLEEP_MS, this.#rejectExpired(waitMs));
      if (this.#waiters.length > 0) this.#timer = setTimeout(() => this.#serve(), Math.max(1, wakeMs));
    }
  }

  /** Returns when there may be room for the waiters that are left. */
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
        size = Math.min(2 * size, this.#options.store.maxConcurrent);
        continue;
      }
      waitMs = Math.min(waitMs, ...waits.map((each) => each ?? waitMs));
      // only a retried call, which may not use every deployment, lets others pass
      if (stuck.some(({ request }) => request.exclude.size === 0)) break;
      start = this.#waiters.indexOf(last) + 1;
      size = 1;
    }
    return waitMs;
  }

  /** Calls behind may have less time left than those before them. Returns when the next one expires. */
  #rejectExpired(waitMs: number): number {
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiter of [...this.#waiters]) {
      if (waiter.deadline > now) {
        nextMs = Math.min(nextMs, waiter.deadline - now);
        continue;
      }
      this.#remove(waiter);
      waiter.reject(this.#rateLimited(waitMs));
      this.#isDirty = true; // the calls behind may need less room
    }
    return nextMs;
  }

  /** When to try again; undefined when the waiter has left the queue. */
  async #serveOne(waiter: Waiter): Promise<number | undefined> {
    try {
      const outcome = await this.#tryDeployments(waiter);
      if ('deployment' in outcome) {
        if (this.#remove(waiter)) waiter.resolve(outcome);
        else this.release(outcome, 0); // aborted during the reservation
        return undefined;
      }
      if (waiter.deadline <= performance.now()) throw this.#rateLimited(outcome.waitMs);
      if (!this.#waiters.includes(waiter)) return undefined;
      if (!waiter.isAnnounced) this.#options.onWait(outcome.waitMs);
      waiter.isAnnounced = true;
      return outcome.waitMs;
    } catch (error) {
      this.#remove(waiter);
      waiter.reject(error);
      return undefined;
    }
  }

  async #tryDeployments({ request, since }: Waiter): Promise<Lease | { waitMs: number }> {
    const { deployments, strategy, random } = this.#options;
    const now = performance.now();
    const allowed = deployments.filter((deployment) => !request.exclude.has(deployment));
    const ready = allowed.filter((deployment) => deployment.coolingMs(now) === 0);
    const hopeful = request.canFallBack ? ready : allowed.filter((deployment) => !deployment.isBroken(now));
    if (hopeful.length === 0) throw this.#noDeployment();
    let free = ready.filter((deployment) => deployment.inFlight < deployment.maxParallel);
    let waitMs = free.length < ready.length ? BUSY_RETRY_MS : Number.POSITIVE_INFINITY;
    for (const deployment of allowed) waitMs = Math.min(waitMs, deployment.coolingMs(now) || waitMs);
    if (strategy === 'usage-based') await this.#readUse(free);
    while (free.length > 0) {
      const preferred = request.preferred && free.includes(request.preferred) ? request.preferred : undefined;
      const deployment = preferred ?? choose(strategy, free, random);
      if (!deployment) break;
      const outcome = await this.#reserve(deployment, request);
      if ('slot' in outcome) return { deployment, reservation: outcome, waitedMs: performance.now() - since };
      waitMs = Math.min(waitMs, outcome.waitMs);
      free = free.filter((other) => other !== deployment);
    }
    return { waitMs };
  }

  async #reserve(deployment: Deployment, request: LeaseRequest): Promise<Reservation | { waitMs: number }> {
    const { id: key, limits } = deployment;
    const expected = deployment.expectedTokens(request.inputEstimate, request.maxOutputTokens);
    const tokens = Math.min(expected, limits.tokens ?? expected);
    deployment.inFlight++; // now: other calls may be tried while the store answers
    try {
      const outcome = await this.#options.store.reserve({ key, tokens, limits });
      if ('reservation' in outcome) return outcome.reservation;
      deployment.inFlight--;
      return outcome;
    } catch (error) {
      deployment.inFlight--;
      throw error;
    }
  }

  /** Loads models and prices before the first call is counted. */
  async #prepare(): Promise<void> {
    const { deployments, strategy } = this.#options;
    const needsCost = strategy === 'lowest-cost';
    await Promise.all(deployments.map((deployment) => (needsCost ? deployment.loadCost() : deployment.load())));
  }

  async #readUse(deployments: readonly Deployment[]): Promise<void> {
    for (const deployment of deployments) deployment.updateUse(await this.#options.store.used(deployment.id));
  }

  #remove(waiter: Waiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index >= 0) this.#waiters.splice(index, 1);
    return index >= 0;
  }

  #rateLimited(waitMs: number): PocketError {
    const { modelName, maxWaitMs } = this.#options;
    return new PocketError(
      'RATE_LIMITED',
      `No deployment of "${modelName}" had room within ${maxWaitMs} ms (maxWaitMs). Try again in ${Math.ceil(waitMs)} ms.`,
      { details: { retryAfterMs: waitMs } },
    );
  }

  #noDeployment(): PocketError {
    const failures = this.deployments.map(({ id, lastFailure }) => `${id}: ${lastFailure ?? 'not tried'}`);
    const text = `No deployment of "${this.modelName}" is available. ${failures.join('; ')}`;
    return new PocketError('MODEL_FAILED', text);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
