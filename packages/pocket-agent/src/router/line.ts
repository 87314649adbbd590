// The line before the deployments of one model: calls wait their turn in order until one has room.
import { PocketError } from '@pocket-agent/kit';
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
  /** How long it may still wait. */
  patienceMs: number;
  /** Deployments that have failed this call already. */
  exclude: ReadonlySet<Deployment>;
  /** Taken if it has room: a provider's prompt cache is worth more than an even load. */
  preferred: Deployment | undefined;
  /** Another model can take over, so nobody waits for a deployment that is cooling down. */
  canFallBack: boolean;
}

interface Waiter extends PlaceInLine {
  since: number;
  until: number;
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
  /** How many may ask the store at the same time; more than one pays where it is far away. */
  atOnce: number;
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
  #closed: PocketError | undefined;

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
      const since = this.#options.now();
      const leave = () => {
        this.#remove(waiter);
        reject(signal?.reason);
        this.serve(); // those behind may need less room
      };
      const waiter: Waiter = {
        ...place,
        since,
        until: since + place.patienceMs,
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
      if (this.#closed) return reject(this.#closed);
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
      const roomMs = await this.#serveInOrder();
      if (this.#again) continue; // somebody new has not been tried yet
      const wakeMs = Math.min(roomMs, LONGEST_SLEEP_MS, this.#dismissImpatient(roomMs));
      if (this.#waiters.length > 0) this.#timer = setTimeout(() => this.serve(), Math.max(1, wakeMs));
    }
  }

  /** Returns when there may be room for those who are left. */
  async #serveInOrder(): Promise<number> {
    let roomMs = Number.POSITIVE_INFINITY;
    let atOnce = 1;
    for (let place = 0; place < this.#waiters.length; ) {
      const group = this.#waiters.slice(place, place + atOnce);
      const waits = await Promise.all(group.map((waiter) => this.#serveOne(waiter)));
      const stuck = group.filter((_, index) => waits[index] !== undefined);
      const last = stuck.at(-1);
      if (!last) {
        // one start in a turn of the event loop: a place in the window is taken when its call really goes out
        if (this.#waiters.length > place) await nextTurn();
        atOnce = Math.min(2 * atOnce, this.#options.atOnce);
        continue;
      }
      roomMs = Math.min(roomMs, ...waits.map((waitMs) => waitMs ?? roomMs));
      // only one that may not go everywhere lets others pass
      if (stuck.some(({ exclude }) => exclude.size === 0)) break;
      place = this.#waiters.indexOf(last) + 1;
      atOnce = 1;
    }
    return roomMs;
  }

  /** Those behind may have less time left than those before them. Returns when the next one loses patience. */
  #dismissImpatient(roomMs: number): number {
    const now = this.#options.now();
    let leftMs = Number.POSITIVE_INFINITY;
    for (const waiter of [...this.#waiters]) {
      if (waiter.until > now) {
        leftMs = Math.min(leftMs, waiter.until - now);
        continue;
      }
      this.#remove(waiter);
      waiter.refused(this.#tooLong(roomMs));
      this.#again = true; // those behind may need less room
    }
    return leftMs;
  }

  /** When to try again; undefined when the waiter has left the line. */
  async #serveOne(waiter: Waiter): Promise<number | undefined> {
    const { now, onWait } = this.#options;
    try {
      const outcome = await this.#tryAll(waiter);
      if ('deployment' in outcome) {
        if (this.#remove(waiter)) waiter.granted(outcome);
        else this.giveBack(outcome, 0); // aborted while its place was being taken
        return undefined;
      }
      if (waiter.until <= now()) throw this.#tooLong(outcome.waitMs);
      if (!this.#waiters.includes(waiter)) return undefined;
      if (!waiter.told) onWait(outcome.waitMs);
      waiter.told = true;
      return outcome.waitMs;
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

  /** Refuses those who wait and all who come after. */
  close(reason: PocketError): void {
    clearTimeout(this.#timer);
    this.#closed = reason;
    for (const waiter of this.#waiters.splice(0)) waiter.refused(reason);
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
      let reservation: Reservation | undefined;
      deployment.inFlight++; // at once: others may ask meanwhile
      try {
        const reserving = store.reserve(deployment.id, Math.min(tokens, limits.tokens ?? tokens), limits);
        const reserved = reserving instanceof Promise ? await reserving : reserving;
        if ('waitMs' in reserved) waitMs = Math.min(waitMs, reserved.waitMs);
        else reservation = reserved.reservation;
      } finally {
        if (!reservation) deployment.inFlight--;
      }
      if (reservation) return { deployment, reservation, waitedMs: now() - waiter.since };
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
    const troubles = this.deployments
      .map((deployment) => `${deployment.id}: ${deployment.lastFailure ?? 'not tried'}`)
      .join('; ');
    return new PocketError('MODEL_FAILED', `No deployment of "${this.#options.modelName}" is left to try. ${troubles}`);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
