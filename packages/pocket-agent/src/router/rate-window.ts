// Requests and tokens in a sliding window, counted before a call is made: at no time more than the limit in a window.

export interface RateLimits {
  /** Requests in a window. Undefined: no limit. */
  requests: number | undefined;
  /** Tokens in a window. Undefined: no limit. */
  tokens: number | undefined;
}

/** A place that was taken; given back, it can be corrected by what was really used. */
export interface Reservation {
  bucket: number;
  tokens: number;
}

export type Reserved = { reservation: Reservation } | { waitMs: number };

export interface WindowUse {
  requests: number;
  tokens: number;
}

/** What a provider's own count means for our limits: how much of them is used, and in how many milliseconds it forgets. */
export interface ProviderCount {
  requests?: number | undefined;
  tokens?: number | undefined;
  resetMs: number;
}

/** Where the windows live: in memory, or shared by several processes. */
export interface RateStore {
  /** Takes a place for one request of `tokens`, or says when to ask again. */
  reserve(key: string, tokens: number, limits: RateLimits): Reserved | Promise<Reserved>;
  /** Corrects the tokens of a reservation; may come late, after it has left the window. */
  settle(key: string, reservation: Reservation, tokens: number): void | Promise<void>;
  /** Takes over what a provider counted, where that is more than we know of: others may use the same key. */
  raise(key: string, count: ProviderCount): void | Promise<void>;
  used(key: string): WindowUse | Promise<WindowUse>;
  close(): void | Promise<void>;
}

/** A window is cut in this many pieces; a request counts until its whole piece has left the window. */
export const PIECES = 60;

export interface WindowShape {
  windowMs: number;
  /** How late a request may reach the provider after it was counted here. */
  marginMs: number;
}

export function bucketMsOf({ windowMs }: WindowShape): number {
  return windowMs / PIECES;
}

/** For how many pieces a request counts: the window, the piece it began in, and the margin. */
export function piecesKept(shape: WindowShape): number {
  return PIECES + 1 + Math.ceil(shape.marginMs / bucketMsOf(shape));
}

interface Window {
  /** The newest piece. */
  head: number;
  requests: Float64Array;
  tokens: Float64Array;
  sum: WindowUse;
}

export class MemoryRateStore implements RateStore {
  readonly #shape: WindowShape;
  readonly #bucketMs: number;
  readonly #size: number;
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();

  constructor(shape: WindowShape, now = () => performance.now()) {
    this.#shape = shape;
    this.#bucketMs = bucketMsOf(shape);
    this.#size = piecesKept(shape);
    this.#now = now;
  }

  reserve(key: string, tokens: number, limits: RateLimits): Reserved {
    const window = this.#current(key);
    const waitMs = this.#waitMs(window, tokens, limits);
    if (waitMs > 0) return { waitMs };
    this.#add(window, window.head, 1, tokens);
    return { reservation: { bucket: window.head, tokens } };
  }

  settle(key: string, reservation: Reservation, tokens: number): void {
    const window = this.#current(key);
    if (reservation.bucket <= window.head - this.#size) return;
    this.#add(window, reservation.bucket, 0, tokens - reservation.tokens);
  }

  raise(key: string, { requests, tokens, resetMs }: ProviderCount): void {
    const window = this.#current(key);
    const missing = {
      requests: Math.max(0, (requests ?? 0) - window.sum.requests),
      tokens: Math.max(0, (tokens ?? 0) - window.sum.tokens),
    };
    if (missing.requests === 0 && missing.tokens === 0) return;
    // put where it leaves the window when the provider says so, no sooner
    const leaving = Math.ceil((this.#now() + Math.min(resetMs, this.#shape.windowMs)) / this.#bucketMs);
    const bucket = Math.min(Math.max(leaving - this.#size, window.head - this.#size + 1), window.head);
    this.#add(window, bucket, missing.requests, missing.tokens);
  }

  used(key: string): WindowUse {
    return { ...this.#current(key).sum };
  }

  close(): void {
    this.#windows.clear();
  }

  /** The window of a key, with what is too old taken out. */
  #current(key: string): Window {
    const head = Math.floor(this.#now() / this.#bucketMs);
    let window = this.#windows.get(key);
    if (!window) {
      const sum = { requests: 0, tokens: 0 };
      window = { head, requests: new Float64Array(this.#size), tokens: new Float64Array(this.#size), sum };
      this.#windows.set(key, window);
    }
    const passed = Math.min(head - window.head, this.#size);
    for (let step = 1; step <= passed; step++) {
      const slot = (window.head + step) % this.#size;
      window.sum.requests -= window.requests[slot] ?? 0;
      window.sum.tokens -= window.tokens[slot] ?? 0;
      window.requests[slot] = 0;
      window.tokens[slot] = 0;
    }
    if (head > window.head) window.head = head;
    return window;
  }

  #add(window: Window, bucket: number, requests: number, tokens: number): void {
    const slot = ((bucket % this.#size) + this.#size) % this.#size;
    window.requests[slot] = (window.requests[slot] ?? 0) + requests;
    window.tokens[slot] = (window.tokens[slot] ?? 0) + tokens;
    window.sum.requests += requests;
    window.sum.tokens += tokens;
  }

  /** 0 when there is room now; otherwise when enough pieces will have left. */
  #waitMs(window: Window, tokens: number, limits: RateLimits): number {
    let requestsOver = window.sum.requests + 1 - (limits.requests ?? Number.POSITIVE_INFINITY);
    let tokensOver = window.sum.tokens + tokens - (limits.tokens ?? Number.POSITIVE_INFINITY);
    if (requestsOver <= 0 && tokensOver <= 0) return 0;
    const now = this.#now();
    for (let age = this.#size - 1; age >= 0; age--) {
      const bucket = window.head - age;
      const slot = ((bucket % this.#size) + this.#size) % this.#size;
      requestsOver -= window.requests[slot] ?? 0;
      tokensOver -= window.tokens[slot] ?? 0;
      if (requestsOver <= 0 && tokensOver <= 0) return Math.max(1, (bucket + this.#size) * this.#bucketMs - now);
    }
    return this.#size * this.#bucketMs;
  }
}
