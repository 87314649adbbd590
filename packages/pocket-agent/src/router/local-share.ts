// What one process may use of a shared limit while Redis cannot be asked, such that all processes together keep it.
import { bucketMsOf, type ProviderCount, piecesKept, type RateLimits, type WindowShape, type WindowUse } from './rate-window.ts';

/** Pieces of a window by a clock that nobody sets: this process' own. */
export class PieceClock {
  readonly bucketMs: number;
  readonly size: number;
  /** For how long a request counts. */
  readonly keptMs: number;

  constructor(shape: WindowShape) {
    this.bucketMs = bucketMsOf(shape);
    this.size = piecesKept(shape);
    this.keptMs = this.size * this.bucketMs;
  }

  get head(): number {
    return Math.floor(performance.now() / this.bucketMs);
  }

  get msToNextPiece(): number {
    return Math.max(1, (this.head + 1) * this.bucketMs - performance.now());
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
  /** Processes that used the limit when they were last counted, this one among them. */
  peers = 1;
  /** The shared count is complete and decides alone. */
  trusted: boolean;
  /** All grants of this process. */
  readonly own: Pieces;
  /** Those of them that Redis does not have. */
  readonly unsent: Pieces;
  /** What all processes had used when the shared count was last trusted. */
  readonly before: Pieces;
  /** Grants of this process since then. */
  readonly since: Pieces;
  readonly #clock: PieceClock;

  constructor(clock: PieceClock, trusted: boolean) {
    this.#clock = clock;
    this.trusted = trusted;
    this.own = new Pieces(clock);
    this.unsent = new Pieces(clock);
    this.before = new Pieces(clock);
    this.since = new Pieces(clock);
  }

  hasRoom(tokens: number, limits: RateLimits): boolean {
    const before = this.before.sum();
    const since = this.since.sum();
    const free = before.requests === 0 && before.tokens === 0 && since.requests === 0;
    if (free) return true;
    const share = (limit: number | undefined, used: number) =>
      limit === undefined ? Number.POSITIVE_INFINITY : Math.floor((limit - used) / this.peers);
    return (
      since.requests + 1 <= share(limits.requests, before.requests) &&
      since.tokens + tokens <= share(limits.tokens, before.tokens)
    );
  }

  /** A reply of Redis: what all have used now. */
  heard(peers: number, requests: number, tokens: number): void {
    this.peers = this.trusted ? peers : Math.max(peers, this.peers);
    if (!this.trusted) return;
    const known = this.before.sum();
    this.before.add(this.#clock.head, Math.max(0, requests - known.requests), Math.max(0, tokens - known.tokens));
  }

  /** The whole shared count, piece by piece; `complete` when every peer has had the time to come back. */
  heardAll(peers: number, pieces: readonly Piece[], complete: boolean): void {
    this.trusted ||= complete;
    this.peers = this.trusted ? peers : Math.max(peers, this.peers);
    if (!this.trusted) return;
    this.before.clear();
    this.before.addAges(pieces);
    this.since.clear();
  }

  /** A provider's own count; what peers use alone cannot be told from strangers, so it may be counted twice. */
  raise({ requests = 0, tokens = 0 }: ProviderCount, piecesAgo: number): void {
    const { requests: knownRequests, tokens: knownTokens } = this.used();
    const bucket = this.#clock.head - piecesAgo;
    this.before.add(bucket, Math.max(0, requests - knownRequests), Math.max(0, tokens - knownTokens));
  }

  used(): WindowUse {
    const before = this.before.sum();
    const since = this.since.sum();
    return { requests: before.requests + since.requests, tokens: before.tokens + since.tokens };
  }
}
