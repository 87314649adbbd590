// A sliding window that counts requests and tokens before a call is made, so that no window ever exceeds its limits.

export interface RateLimits {
  /** Requests per window. Undefined: no limit. */
  requests: number | undefined;
  /** Tokens per window. Undefined: no limit. */
  tokens: number | undefined;
}

export interface WindowUse {
  requests: number;
  tokens: number;
}

/** A request that was counted. The slot is where its tokens are corrected after the call. */
export interface Reservation {
  slot: number;
  tokens: number;
}

export type Reserved = { reservation: Reservation } | { waitMs: number };

/** What a provider reports: how much of our limits is used, and when that expires. */
export interface ProviderCount {
  requests?: number | undefined;
  tokens?: number | undefined;
  resetMs: number;
}

/** What fell into one slot, and how many slots ago. */
export interface SlotUse extends WindowUse {
  age: number;
}

const SLOTS_PER_WINDOW = 60;

/** A window is cut into slots. A request counts until its whole slot has left the window. */
export class WindowShape {
  readonly windowMs: number;
  readonly slotMs: number;
  /** For how many slots a request counts: the window, the slot it began in, and the margin. */
  readonly slotCount: number;
  /** For how long a request counts. */
  readonly keptMs: number;

  /** `marginMs`: how late a request may reach the provider after it was counted here. */
  constructor({ windowMs, marginMs }: { windowMs: number; marginMs: number }) {
    this.windowMs = windowMs;
    this.slotMs = windowMs / SLOTS_PER_WINDOW;
    this.slotCount = SLOTS_PER_WINDOW + 1 + Math.ceil(marginMs / this.slotMs);
    this.keptMs = this.slotCount * this.slotMs;
  }
}

export class RateWindow {
  readonly #shape: WindowShape;
  readonly #now: () => number;
  readonly #slots = new Map<number, WindowUse>();

  /** The default clock is monotonic: setting the clock of the machine has no effect. */
  constructor(shape: WindowShape, now = () => performance.now()) {
    this.#shape = shape;
    this.#now = now;
  }

  get currentSlot(): number {
    return Math.floor(this.#now() / this.#shape.slotMs);
  }

  /** Counts one request, or says when there may be room for it. */
  reserve(tokens: number, limits: RateLimits): Reserved {
    const waitMs = this.waitMs({ requests: 1, tokens }, limits);
    if (waitMs > 0) return { waitMs };
    const slot = this.currentSlot;
    this.add(slot, { requests: 1, tokens });
    return { reservation: { slot, tokens } };
  }

  /** 0 when there is room now, else the time until enough slots have expired. */
  waitMs(wanted: WindowUse, limits: RateLimits): number {
    const slots = this.slots();
    const used = sumOf(slots);
    let requestsOver = used.requests + wanted.requests - (limits.requests ?? Number.POSITIVE_INFINITY);
    let tokensOver = used.tokens + wanted.tokens - (limits.tokens ?? Number.POSITIVE_INFINITY);
    if (requestsOver <= 0 && tokensOver <= 0) return 0;
    const { slotMs, slotCount, keptMs } = this.#shape;
    const current = this.currentSlot;
    for (const { age, ...use } of slots) {
      requestsOver -= use.requests;
      tokensOver -= use.tokens;
      if (requestsOver <= 0 && tokensOver <= 0) return Math.max(1, (current - age + slotCount) * slotMs - this.#now());
    }
    return keptMs;
  }

  /** Replaces the reserved tokens by those that were used. */
  settle(reservation: Reservation, tokens: number): void {
    this.add(reservation.slot, { requests: 0, tokens: tokens - reservation.tokens });
  }

  /** Adds what a provider counted beyond our own count: others may use the same key. */
  raise({ requests = 0, tokens = 0, resetMs }: ProviderCount): void {
    const used = this.total();
    const missing = { requests: Math.max(0, requests - used.requests), tokens: Math.max(0, tokens - used.tokens) };
    if (missing.requests === 0 && missing.tokens === 0) return;
    // into the slot that expires when the provider says, no sooner
    const { slotMs, slotCount, windowMs } = this.#shape;
    const expires = Math.ceil((this.#now() + Math.min(resetMs, windowMs)) / slotMs);
    const slot = this.currentSlot;
    this.add(Math.min(Math.max(expires - slotCount, slot - slotCount + 1), slot), missing);
  }

  /** Amounts may be negative; a slot never goes below zero. */
  add(slot: number, { requests, tokens }: WindowUse): void {
    const use = this.#slots.get(slot) ?? { requests: 0, tokens: 0 };
    use.requests = Math.max(0, use.requests + requests);
    use.tokens = Math.max(0, use.tokens + tokens);
    this.#slots.set(slot, use);
  }

  /** Adds slots of another clock, one slot younger than they were: its slots may start at other times. */
  addAged(slots: readonly SlotUse[]): void {
    for (const { age, ...use } of slots) this.add(this.currentSlot - Math.max(0, age - 1), use);
  }

  total(): WindowUse {
    return sumOf(this.slots());
  }

  /** The highest use in `length` consecutive slots. */
  peak(length: number): WindowUse {
    const slots = this.slots();
    const sums = slots.map(({ age: first }) => sumOf(slots.filter(({ age }) => age >= first && age < first + length)));
    return {
      requests: Math.max(0, ...sums.map(({ requests }) => requests)),
      tokens: Math.max(0, ...sums.map(({ tokens }) => tokens)),
    };
  }

  /** The slots that still count, the oldest first. */
  slots(): SlotUse[] {
    const current = this.currentSlot;
    const slots: SlotUse[] = [];
    for (const [slot, use] of this.#slots) {
      if (slot <= current - this.#shape.slotCount || (use.requests === 0 && use.tokens === 0)) this.#slots.delete(slot);
      else slots.push({ age: current - slot, ...use });
    }
    return slots.sort((one, other) => other.age - one.age);
  }

  clear(): void {
    this.#slots.clear();
  }
}

function sumOf(slots: readonly WindowUse[]): WindowUse {
  const sum = { requests: 0, tokens: 0 };
  for (const { requests, tokens } of slots) {
    sum.requests += requests;
    sum.tokens += tokens;
  }
  return sum;
}
