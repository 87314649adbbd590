// What one process may use of a shared limit while Redis cannot be asked, such that all processes together keep it.
import {
  bucketMsOf,
  type ProviderCount,
  piecesKept,
  type RateLimits,
  type WindowShape,
  type WindowUse,
} from './rate-window.ts';

/** Up at once, down slowly, a little with every heartbeat. */
const PEAK_MEMORY = 0.95;

/** Pieces of a window by a clock that nobody sets: this process' own. */
export class PieceClock {
  readonly bucketMs: number;
  readonly size: number;
  /** For how long a request counts. */
  readonly keptMs: number;
  readonly #windowMs: number;

  constructor(shape: WindowShape) {
    this.#windowMs = shape.windowMs;
    this.bucketMs = bucketMsOf(shape);
    this.size = piecesKept(shape);
    this.keptMs = this.size * this.bucketMs;
  }

  /** As often as a piece begins, so that little is unknown when Redis is lost. */
  get beatMs(): number {
    return Math.min(1_000, Math.max(100, this.bucketMs));
  }

  get head(): number {
    return Math.floor(performance.now() / this.bucketMs);
  }

  get msToNextPiece(): number {
    return Math.max(1, (this.head + 1) * this.bucketMs - performance.now());
  }

  /** Where something must be put to leave the window in `resetMs`, by whatever clock the pieces are cut. */
  piecesAgo(resetMs: number): number {
    const age = Math.floor(this.size - Math.min(resetMs, this.#windowMs) / this.bucketMs) - 1;
    return Math.min(Math.max(age, 0), this.size - 1);
  }
}

export interface Piece extends WindowUse {
  /** How many pieces ago. */
  age: number;
}

/** Requests and tokens by the piece in which they fell. */
export class Pieces {
  readonly #clock: PieceClock;
  readonly #pieces = new Map<number, WindowUse>();

  constructor(clock: PieceClock) {
    this.#clock = clock;
  }

  /** Nothing is taken from a piece that does not have it. */
  add(bucket: number, requests: number, tokens: number): void {
    const piece = this.#pieces.get(bucket) ?? { requests: 0, tokens: 0 };
    piece.requests = Math.max(0, piece.requests + requests);
    piece.tokens = Math.max(0, piece.tokens + tokens);
    this.#pieces.set(bucket, piece);
  }

  sum(): WindowUse {
    const sum = { requests: 0, tokens: 0 };
    for (const { requests, tokens } of this.list()) {
      sum.requests += requests;
      sum.tokens += tokens;
    }
    return sum;
  }

  /** The most in so many pieces after each other. */
  peak(length: number): WindowUse {
    const pieces = this.list();
    const peak = { requests: 0, tokens: 0 };
    for (const { age: last } of pieces) {
      const run = pieces.filter(({ age }) => age >= last && age < last + length);
      for (const what of ['requests', 'tokens'] as const) {
        peak[what] = Math.max(
          peak[what],
          run.reduce((sum, piece) => sum + piece[what], 0),
        );
      }
    }
    return peak;
  }

  list(): Piece[] {
    const { head, size } = this.#clock;
    const pieces: Piece[] = [];
    for (const [bucket, use] of this.#pieces) {
      if (bucket <= head - size || (use.requests === 0 && use.tokens === 0)) this.#pieces.delete(bucket);
      else pieces.push({ age: head - bucket, ...use });
    }
    return pieces;
  }

  /** Adds what came from another clock, a piece later than it was: the two may be cut differently. */
  addAges(pieces: readonly Piece[]): void {
    for (const { age, requests, tokens } of pieces) this.add(this.#clock.head - Math.max(0, age - 1), requests, tokens);
  }

  clear(): void {
    this.#pieces.clear();
  }
}

/**
 * The share of one process: (limit − what all had used when the shared count was last known) / peers.
 * What was used before wears off piece by piece, until the share is limit / peers. Once nothing of it is left, one
 * request a window passes however small the share is: with more peers than requests, nobody must starve.
 */
export class LocalShare {
  /** The shared count is complete and decides alone. */
  trusted: boolean;
  /** All grants of this process. */
  readonly #own: Pieces;
  /** Those of them that Redis does not have. */
  readonly #untold: Pieces;
  /** What all processes had used when the shared count was last trusted. */
  #before: Pieces;
  /** Grants of this process since then. */
  readonly #since: Pieces;
  /** The most that all used between two heartbeats, lately. */
  #peak: WindowUse = { requests: 0, tokens: 0 };
  readonly #clock: PieceClock;

  constructor(clock: PieceClock, trusted: boolean) {
    this.#clock = clock;
    this.trusted = trusted;
    this.#own = new Pieces(clock);
    this.#untold = new Pieces(clock);
    this.#before = new Pieces(clock);
    this.#since = new Pieces(clock);
  }

  get hasUntold(): boolean {
    return this.#untold.list().length > 0;
  }

  hasRoom(tokens: number, limits: RateLimits, peers: number): boolean {
    const before = this.#before.sum();
    const since = this.#since.sum();
    const free = before.requests === 0 && before.tokens === 0 && since.requests === 0;
    if (free) return true;
    const share = (limit: number | undefined, used: number) =>
      limit === undefined ? Number.POSITIVE_INFINITY : Math.floor((limit - used) / peers);
    return (
      since.requests + 1 <= share(limits.requests, before.requests) &&
      since.tokens + tokens <= share(limits.tokens, before.tokens)
    );
  }

  /** Takes a place in the share, which Redis may still refuse. */
  take(bucket: number, tokens: number): void {
    this.#since.add(bucket, 1, tokens);
  }

  giveBack(bucket: number, tokens: number): void {
    this.#since.add(bucket, -1, -tokens);
  }

  /** Redis has granted it. */
  taken(bucket: number, tokens: number): void {
    this.#own.add(bucket, 1, tokens);
  }

  takeAlone(bucket: number, tokens: number): void {
    this.#own.add(bucket, 1, tokens);
    this.#since.add(bucket, 1, tokens);
    this.#untold.add(bucket, 1, tokens);
  }

  /** `known`: the grant was part of the shared count when that was trusted. */
  settle(bucket: number, change: number, known: boolean): void {
    this.#own.add(bucket, 0, change);
    (this.trusted || known ? this.#before : this.#since).add(bucket, 0, change);
  }

  settleUntold(bucket: number, change: number): void {
    this.#untold.add(bucket, 0, change);
  }

  /** Sends what Redis does not have, or all that this process was granted; still untold when that fails. */
  async tell(send: (pieces: readonly Piece[]) => Promise<void>, all: boolean): Promise<void> {
    const { head } = this.#clock;
    const untold = this.#untold.list();
    this.#untold.clear();
    try {
      await send(all ? this.#own.list() : untold);
    } catch (error) {
      for (const { age, requests, tokens } of untold) this.#untold.add(head - age, requests, tokens);
      throw error;
    }
  }

  /** A reply of Redis: what all have used now. */
  heard(used: WindowUse): void {
    if (!this.trusted) return;
    const { requests, tokens } = this.#before.sum();
    this.#before.add(this.#clock.head, Math.max(0, used.requests - requests), Math.max(0, used.tokens - tokens));
  }

  /** The whole shared count, piece by piece; `complete` when every peer has had the time to come back. */
  heardAll(pieces: readonly Piece[], complete: boolean): void {
    if (!this.trusted && !complete) return;
    const heard = new Pieces(this.#clock);
    heard.addAges(pieces);
    const { requests, tokens } = heard.peak(Math.ceil(this.#clock.beatMs / this.#clock.bucketMs) + 1);
    this.#peak = {
      requests: Math.max(requests, this.#peak.requests * PEAK_MEMORY),
      tokens: Math.max(tokens, this.#peak.tokens * PEAK_MEMORY),
    };
    this.trusted = true;
    this.#before = heard;
    this.#since.clear();
  }

  /** Redis is lost. As much as was ever used between two heartbeats may have been used after the last. */
  distrust(): void {
    if (this.trusted) this.#before.add(this.#clock.head, this.#peak.requests, this.#peak.tokens);
    this.trusted = false;
  }

  /** A provider's own count; what peers use alone cannot be told from strangers, so it may be counted twice. */
  raise({ requests = 0, tokens = 0 }: ProviderCount, piecesAgo: number): void {
    const { requests: knownRequests, tokens: knownTokens } = this.used();
    const bucket = this.#clock.head - piecesAgo;
    this.#before.add(bucket, Math.max(0, requests - knownRequests), Math.max(0, tokens - knownTokens));
  }

  used(): WindowUse {
    const before = this.#before.sum();
    const since = this.#since.sum();
    return { requests: before.requests + since.requests, tokens: before.tokens + since.tokens };
  }
}
