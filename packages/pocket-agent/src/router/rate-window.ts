// A sliding window that counts requests and tokens before a call is made, so that no window ever exceeds its limits.
import type { Logger } from '@pocket-agent/kit';

export interface WindowUse {
  requests: number;
  tokens: number;
}

/** The maximum use of a window. Undefined: no limit. */
export interface RateLimits {
  requests: number | undefined;
  tokens: number | undefined;
}

/** A request that was counted. The slot is where its tokens are corrected after the call. */
export interface Reservation {
  slot: number;
  tokens: number;
}

export type Reserved = { reservation: Reservation } | { waitMs: number };

/** A report of the provider: how much of our limits is used, and when that expires. */
export interface ProviderCount {
  requests?: number | undefined;
  tokens?: number | undefined;
  resetMs: number;
}

/** Counts the requests and tokens of one deployment. */
export interface RateCounter {
  /** Counts one request, or says when to ask again. */
  reserve(tokens: number, limits: RateLimits): Reserved | Promise<Reserved>;
  /** Replaces the reserved tokens by those that were used, if the reservation still counts. */
  settle(reservation: Reservation, tokens: number): void | Promise<void>;
  /** Adds what a provider counted beyond our own count: others may use the same key. */
  raise(count: ProviderCount): void | Promise<void>;
  total(): WindowUse | Promise<WindowUse>;
}

/** The counters of a router. */
export interface RateStore {
  /** How many reservations the router asks for at a time. More than one pays off when each takes a round trip. */
  readonly maxConcurrent: number;
  counter(deploymentId: string): RateCounter;
  close(): Promise<void>;
}

/** Makes the place where a router counts its calls, so that several processes can share limits. */
export type RateStoreFactory = (settings: { shape: WindowShape; logger: Logger }) => RateStore;

export const memoryRateStore: RateStoreFactory = ({ shape }) => ({
  maxConcurrent: 1,
  counter: () => new RateWindow(shape),
  close: async () => {},
});

const SLOTS_PER_WINDOW = 60;

/** A window is cut into slots. A request counts until its whole slot has left the window. */
export class WindowShape {
  readonly windowMs: number;
  readonly slotMs: number;
  /** The slots in which a request counts: the window, the slot it began in, and the margin. */
  readonly slotCount: number;
  /** The time for which a request counts. */
  readonly keptMs: number;

  /** `marginMs`: how late a request may reach the provider after it was counted here. */
  constructor({ windowMs, marginMs }: { windowMs: number; marginMs: number }) {
    this.windowMs = windowMs;
    this.slotMs = windowMs / SLOTS_PER_WINDOW;
    this.slotCount = SLOTS_PER_WINDOW + 1 + Math.ceil(marginMs / this.slotMs);
    this.keptMs = this.slotCount * this.slotMs;
  }
}

/** The use in one slot, and its age in slots. */
export interface SlotUse extends WindowUse {
  age: number;
}

export class RateWindow implements RateCounter {
  readonly #shape: WindowShape;
  readonly #now: () => number;
  readonly #slots = new Map<number, WindowUse>();
  #total: WindowUse = { requests: 0, tokens: 0 };
  /** Slots up to this one have expired and are removed. */
  #expired = Number.NEGATIVE_INFINITY;

  /** The default clock is monotonic: setting the clock of the machine has no effect. */
  constructor(shape: WindowShape, now = () => performance.now()) {
    this.#shape = shape;
    this.#now = now;
  }

  get currentSlot(): number {
    return Math.floor(this.#now() / this.#shape.slotMs);
  }

  reserve(tokens: number, limits: RateLimits): Reserved {
    const waitMs = this.waitMs({ requests: 1, tokens }, limits);
    if (waitMs > 0) return { waitMs };
    const slot = this.currentSlot;
    this.add(slot, { requests: 1, tokens });
    return { reservation: { slot, tokens } };
  }

  /** 0 when there is room now, else the time until enough slots have expired. */
  waitMs(wanted: WindowUse, { requests: maxRequests = Infinity, tokens: maxTokens = Infinity }: RateLimits): number {
    const used = this.total();
    let requestsOver = used.requests + wanted.requests - maxRequests;
    let tokensOver = used.tokens + wanted.tokens - maxTokens;
    if (requestsOver <= 0 && tokensOver <= 0) return 0;
    const { slotMs, slotCount, keptMs } = this.#shape;
    const current = this.currentSlot;
    for (const { age, requests, tokens } of this.slots()) {
      requestsOver -= requests;
      tokensOver -= tokens;
      if (requestsOver <= 0 && tokensOver <= 0) return Math.max(1, (current - age + slotCount) * slotMs - this.#now());
    }
    return keptMs;
  }

  settle({ slot, tokens: reserved }: Reservation, tokens: number): void {
    this.add(slot, { requests: 0, tokens: tokens - reserved });
  }

  raise({ requests = 0, tokens = 0, resetMs }: ProviderCount): void {
    const used = this.total();
    const missing = { requests: Math.max(0, requests - used.requests), tokens: Math.max(0, tokens - used.tokens) };
    // into the slot that expires when the provider says, no sooner
    const { slotMs, slotCount, windowMs } = this.#shape;
    const expires = Math.ceil((this.#now() + Math.min(resetMs, windowMs)) / slotMs);
    const slot = this.currentSlot;
    this.add(Math.min(Math.max(expires - slotCount, slot - slotCount + 1), slot), missing);
  }

  /** Amounts may be negative; a slot never goes below zero. Expired slots stay empty. */
  add(slot: number, { requests, tokens }: WindowUse): void {
    this.#expire();
    if (slot <= this.#expired) return;
    const before = this.#slots.get(slot) ?? { requests: 0, tokens: 0 };
    this.#replace(slot, {
      requests: Math.max(0, before.requests + requests),
      tokens: Math.max(0, before.tokens + tokens),
    });
  }

  total(): WindowUse {
    this.#expire();
    return this.#total;
  }

  /** The slots that still count, the oldest first. */
  slots(): SlotUse[] {
    this.#expire();
    const current = this.currentSlot;
    const slots = [...this.#slots].map(([slot, use]) => ({ age: current - slot, ...use }));
    return slots.sort((one, other) => other.age - one.age);
  }

  clear(): void {
    this.#slots.clear();
    this.#total = { requests: 0, tokens: 0 };
  }

  #expire(): void {
    const expired = this.currentSlot - this.#shape.slotCount;
    if (expired <= this.#expired) return;
    this.#expired = expired;
    for (const slot of this.#slots.keys()) if (slot <= expired) this.#replace(slot, { requests: 0, tokens: 0 });
  }

  #replace(slot: number, use: WindowUse): void {
    const before = this.#slots.get(slot);
    const requests = this.#total.requests + use.requests - (before?.requests ?? 0);
    const tokens = this.#total.tokens + use.tokens - (before?.tokens ?? 0);
    if (use.requests > 0 || use.tokens > 0) this.#slots.set(slot, use);
    else this.#slots.delete(slot);
    // fractions do not add up to exactly zero
    this.#total = this.#slots.size > 0 ? { requests, tokens } : { requests: 0, tokens: 0 };
  }
}
