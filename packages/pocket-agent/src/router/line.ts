// The line before the deployments of one model: calls wait their turn in order until one has room.
import { PocketError } from '../errors.ts';
import type { Deployment } from './deployment.ts';
import type { RateStore, Reservation } from './rate-window.ts';
import { choose, type StrategyName } from './strategy.ts';

export interface Lease {
  deployment: Deployment;
  reservation: Reservation;
  waitedMs: number;
}

export interface PlaceInLine {
  inputEstimate: number;
  maxOutputTokens: number | undefined;
  signal: AbortSignal | undefined;
  /** Deployments that have failed this call already. */
  exclude: ReadonlySet<Deployment>;
  /** Taken if it has room: a provider's prompt cache is worth more than an even load. */
  preferred: Deployment | undefined;
  /** Another model can take over, so nobody waits for a deployment that is cooling down. */
  canFallBack: boolean;
}

interface Waiter extends PlaceInLine {
  since: number;
  told: boolean;
  granted(lease: Lease): void;
  refused(error: unknown): void;
}

export interface LineOptions {
  modelName: string;
  deployments: readonly Deployment[];
  store: RateStore;
  strategy: StrategyName;
  maxWaitMs: number;
  random: () => number;
  now: () => number;
  onWait(waitMs: number): void;
}

const LONGEST_SLEEP_MS = 60_000;
/** When to ask again if all places are taken by calls that run: nobody knows when one ends. */
const BUSY_WAIT_MS = 1_000;

export class Line {
  readonly #options: LineOptions;
  readonly #waiters: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;
  #serving = false;
  #again = false;
  #preparing: Promise<void> | undefined;
  #isPrepared = false;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#waiters.length;
  }

  get deployments(): readonly Deployment[] {
    return this.#options.deployments;
  }

  enter(place: PlaceInLine): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const { signal } = place;
      const leave = () => {
        this.#remove(waiter);
        reject(signal?.reason);
        this.serve(); // those behind may need less room
      };
      const waiter: Waiter = {
        ...place,
        since: this.#options.now(),
        told: false,
        granted: (lease) => {
          signal?.removeEventListener('abort', leave);
          resolve(lease);
        },
        refused: (error) => {
          signal?.removeEventListener('abort', leave);
          reject(error);
        },
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener('abort', leave, { once: true });
      // a call that failed elsewhere has waited its turn already
      const others = place.exclude.size > 0 ? this.#waiters.findIndex(({ exclude }) => exclude.size === 0) : -1;
      this.#waiters.splice(others < 0 ? this.#waiters.length : others, 0, waiter);
      this.serve();
    });
  }

  /** Lets in whoever can go; called again when something may have changed. */
  serve(): void {
    this.#again = true;
    if (this.#serving) return;
    this.#serving = true;
    void this.#serveAll().finally(() => {
      this.#serving = false;
      if (this.#again) this.serve();
    });
  }

  async #serveAll(): Promise<void> {
    this.#preparing ??= this.#prepare();
    if (!this.#isPrepared) await this.#preparing;
    while (this.#again) {
      this.#again = false;
      clearTimeout(this.#timer);
      let wakeMs = LONGEST_SLEEP_MS;
      for (let place = 0; place < this.#waiters.length; ) {
        const waiter = this.#waiters[place];
        if (!waiter) break;
        const waitMs = await this.#serveOne(waiter);
        if (waitMs === undefined) {
          // one start in a turn of the event loop: a place in the window is taken when its call really goes out
          if (this.#waiters.length > place) await nextTurn();
          continue;
        }
        wakeMs = Math.min(wakeMs, waitMs);
        // only one that may not go everywhere lets others pass
        if (waiter.exclude.size === 0) break;
        place = this.#waiters.indexOf(waiter) + 1;
      }
      if (this.#waiters.length > 0) this.#timer = setTimeout(() => this.serve(), Math.max(1, wakeMs));
    }
  }

  /** When to try again; undefined when the waiter has left the line. */
  async #serveOne(waiter: Waiter): Promise<number | undefined> {
    const { now, maxWaitMs, onWait } = this.#options;
    try {
      const outcome = await this.#tryAll(waiter);
      if ('deployment' in outcome) {
        if (this.#remove(waiter)) waiter.granted(outcome);
        else this.giveBack(outcome, 0); // aborted while its place was being taken
        return undefined;
      }
      const leftMs = waiter.since + maxWaitMs - now();
      if (leftMs <= 0) throw this.#tooLong(outcome.waitMs);
      if (!this.#waiters.includes(waiter)) return undefined;
      if (!waiter.told) onWait(outcome.waitMs);
      waiter.told = true;
      return Math.min(outcome.waitMs, leftMs);
    } catch (error) {
      this.#remove(waiter);
      waiter.refused(error);
      return undefined;
    }
  }

  /** Ends a lease; the tokens it really used take the place of those that were expected. */
  giveBack({ deployment, reservation }: Lease, tokens: number | undefined): void {
    deployment.inFlight--;
    const settling = tokens === undefined ? undefined : this.#options.store.settle(deployment.id, reservation, tokens);
    if (this.#waiters.length === 0) return;
    if (settling instanceof Promise) {
      settling.finally(() => this.serve()).catch(() => {}); // the store tells of its troubles
    } else this.serve();
  }

  close(): void {
    clearTimeout(this.#timer);
    const closed = new PocketError(
      'ABORTED',
      `The router was closed while calls waited for "${this.#options.modelName}".`,
    );
    for (const waiter of this.#waiters.splice(0)) waiter.refused(closed);
  }

  async #tryAll(waiter: Waiter): Promise<Lease | { waitMs: number }> {
    const { deployments, store, strategy, random, now } = this.#options;
    const open = deployments.filter((deployment) => !waiter.exclude.has(deployment));
    const warm = open.filter((deployment) => deployment.coolingMs(now()) === 0);
    const hope = waiter.canFallBack ? warm : open.filter((deployment) => !deployment.isBroken(now()));
    if (hope.length === 0) throw this.#nobody();
    let left = warm.filter((deployment) => deployment.inFlight < deployment.maxParallel);
    let waitMs = left.length < warm.length ? BUSY_WAIT_MS : Number.POSITIVE_INFINITY;
    for (const deployment of open) waitMs = Math.min(waitMs, deployment.coolingMs(now()) || waitMs);
    if (strategy === 'usage-based') await this.#learnUse(left);
    while (left.length > 0) {
      const preferred = waiter.preferred && left.includes(waiter.preferred) ? waiter.preferred : undefined;
      const deployment = preferred ?? choose(strategy, left, random);
      if (!deployment) break;
      const tokens = deployment.expectedTokens(waiter.inputEstimate, waiter.maxOutputTokens);
      const { limits } = deployment;
      const reserving = store.reserve(deployment.id, Math.min(tokens, limits.tokens ?? tokens), limits);
      const reserved = reserving instanceof Promise ? await reserving : reserving;
      if ('reservation' in reserved) {
        deployment.inFlight++;
        return { deployment, reservation: reserved.reservation, waitedMs: now() - waiter.since };
      }
      waitMs = Math.min(waitMs, reserved.waitMs);
      left = left.filter((other) => other !== deployment);
    }
    return { waitMs };
  }

  /** Loads what the first calls would lose time with after their place was counted. */
  async #prepare(): Promise<void> {
    const { deployments, strategy } = this.#options;
    const isByCost = strategy === 'lowest-cost';
    await Promise.all(deployments.map((deployment) => (isByCost ? deployment.learnCost() : deployment.load())));
    this.#isPrepared = true;
  }

  async #learnUse(deployments: readonly Deployment[]): Promise<void> {
    for (const deployment of deployments) {
      const use = this.#options.store.used(deployment.id);
      deployment.learnUse(use instanceof Promise ? await use : use);
    }
  }

  #remove(waiter: Waiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index >= 0) this.#waiters.splice(index, 1);
    return index >= 0;
  }

  #tooLong(waitMs: number): PocketError {
    const { modelName, maxWaitMs } = this.#options;
    return new PocketError(
      'RATE_LIMITED',
      `No deployment of "${modelName}" had room within ${maxWaitMs} ms (maxWaitMs); there may be some in ${Math.ceil(waitMs)} ms.`,
      { details: { retryAfterMs: waitMs } },
    );
  }

  #nobody(): PocketError {
    const troubles = this.deployments.map((deployment) => `${deployment.id}: ${deployment.lastFailure}`).join('; ');
    return new PocketError('MODEL_FAILED', `No deployment of "${this.#options.modelName}" is left to try. ${troubles}`);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
