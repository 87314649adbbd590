// The windows of several processes in one Redis; without it, each process goes on with its share of the limits.
import { errorText, isPocketError, type Logger } from '@pocket-agent/kit';
import { LocalShare, type Piece, PieceClock } from './local-share.ts';
import type {
  ProviderCount,
  RateLimits,
  RateStore,
  Reservation,
  Reserved,
  WindowShape,
  WindowUse,
} from './rate-window.ts';
import { openLink, type RedisLink, type SharedCount } from './redis-link.ts';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1_000;
/** A Redis that has just started may know less than its users do: those that knew it before are back by then. */
const SETTLED_MS = LONGEST_RETRY_MS + 2_000;

/** Where Redis counted a reservation. */
interface Place {
  runId: string;
  bucket: number;
  trusted: boolean;
}

/**
 * Redis decides, by its own clock, as long as it answers. When it does not, every process keeps to its share of what
 * is left (see LocalShare). When it is back, it gets the grants that it does not have, and for one whole window both
 * it and the share must agree, until all peers are back too. What this cannot know: a first burst of the peers in the
 * moment before the loss, and that a process which never reached Redis has peers at all. A process that alone
 * loses Redis uses its share beside the others, who do not know of it.
 */
export class RedisRateStore implements RateStore {
  readonly #url: string;
  readonly #host: string;
  readonly #namespace: string;
  readonly #clock: PieceClock;
  readonly #logger: Logger;
  readonly #member = crypto.randomUUID();
  readonly #shares = new Map<string, LocalShare>();
  readonly #places = new WeakMap<Reservation, Place>();
  /** Processes that use this Redis, as last counted, this one among them. */
  #peers = 1;
  #starting: Promise<void> | undefined;
  #link: RedisLink | undefined;
  #runId: string | undefined;
  #retryMs = FIRST_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  #nobodyBefore = 0;
  #trustFrom = 0;
  #closed = false;

  constructor(url: string, shape: WindowShape, logger: Logger, namespace = 'pocket-agent') {
    this.#url = url;
    this.#host = new URL(url).host; // never the password
    this.#namespace = namespace;
    this.#clock = new PieceClock(shape);
    this.#logger = logger;
  }

  async reserve(key: string, tokens: number, limits: RateLimits): Promise<Reserved> {
    await this.#started();
    const share = this.#share(key);
    const link = this.#link;
    const tooEarlyMs = this.#nobodyBefore - performance.now();
    if (tooEarlyMs > 0) {
      if (link) await this.#merge(link, key, []); // the peers are counted meanwhile
      return { waitMs: tooEarlyMs };
    }
    if (!link) return this.#reserveAlone(share, tokens, limits);
    const { trusted } = share;
    const bucket = this.#clock.head;
    if (!trusted) {
      if (!share.hasRoom(tokens, limits, this.#peers)) return { waitMs: this.#clock.msToNextPiece };
      share.take(bucket, tokens);
    }
    const reserved = await this.#ask(link, link.reserve(key, tokens, limits));
    const taken = reserved !== undefined && 'bucket' in reserved;
    if (!trusted && !taken) share.giveBack(bucket, tokens);
    if (!reserved) return this.#reserveAlone(share, tokens, limits);
    this.#heardOf(reserved.peers);
    share.heard(reserved.used);
    if (!taken) return { waitMs: reserved.waitMs };
    share.taken(bucket, tokens);
    const reservation = { bucket, tokens };
    this.#places.set(reservation, { runId: link.runId, bucket: reserved.bucket, trusted });
    return { reservation };
  }

  async settle(key: string, reservation: Reservation, tokens: number): Promise<void> {
    const { bucket } = reservation;
    const change = tokens - reservation.tokens;
    if (change === 0) return;
    const share = this.#share(key);
    const place = this.#places.get(reservation);
    share.settle(bucket, change, place?.trusted === true);
    const link = this.#link;
    if (link && place?.runId === link.runId) {
      if (await this.#ask(link, link.settle(key, place.bucket, change))) return;
    } else if (link && change > 0) {
      if (await this.#merge(link, key, [{ age: this.#clock.head - bucket, requests: 0, tokens: change }])) return;
    }
    // less is told only of what Redis will learn of as a whole: elsewhere it would free the wrong piece
    if (change > 0 || !place) share.settleUntold(bucket, change);
  }

  async raise(key: string, count: ProviderCount): Promise<void> {
    const piecesAgo = this.#clock.piecesAgo(count.resetMs);
    const share = this.#share(key);
    if (!share.trusted) share.raise(count, piecesAgo);
    if (this.#link) await this.#ask(this.#link, this.#link.raise(key, count, piecesAgo));
  }

  async used(key: string): Promise<WindowUse> {
    await this.#started();
    const share = this.#share(key);
    const heard = this.#link && (await this.#merge(this.#link, key, []));
    if (!heard) return share.used();
    const total = (what: 'requests' | 'tokens') => heard.pieces.reduce((sum, piece) => sum + piece[what], 0);
    return { requests: total('requests'), tokens: total('tokens') };
  }

  /** Takes no longer than a command may take, whether Redis is there or not. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#starting?.catch(() => {});
    clearTimeout(this.#timer);
    const link = this.#link;
    if (!link) return;
    await this.#ask(link, link.leave());
    this.#link = undefined;
    link.destroy();
  }

  #reserveAlone(share: LocalShare, tokens: number, limits: RateLimits): Reserved {
    if (!share.hasRoom(tokens, limits, this.#peers)) return { waitMs: this.#clock.msToNextPiece };
    const bucket = this.#clock.head;
    share.takeAlone(bucket, tokens);
    return { reservation: { bucket, tokens } };
  }

  #share(key: string): LocalShare {
    let share = this.#shares.get(key);
    if (!share) {
      share = new LocalShare(this.#clock, this.#link !== undefined && performance.now() >= this.#trustFrom);
      this.#shares.set(key, share);
    }
    return share;
  }

  /** Those who are not back yet still count. */
  #heardOf(peers: number): void {
    this.#peers = performance.now() >= this.#trustFrom ? peers : Math.max(peers, this.#peers);
  }

  #started(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    if (this.#closed) return;
    try {
      this.#use(await openLink(this.#url, this.#namespace, this.#clock, this.#member));
    } catch (error) {
      if (isPocketError(error)) throw error;
      this.#goAlone(error);
    }
  }

  #use(link: RedisLink): void {
    if (this.#runId === undefined) this.#nobodyBefore = performance.now() + Math.max(0, SETTLED_MS - link.uptimeMs);
    this.#link = link;
    this.#runId = link.runId;
    this.#retryMs = FIRST_RETRY_MS;
    void link.lost.then((error) => this.#lose(link, error));
    this.#beatLater(link);
  }

  #lose(link: RedisLink, error: unknown): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    link.destroy();
    for (const share of this.#shares.values()) share.distrust();
    if (!this.#closed) this.#goAlone(error);
  }

  #goAlone(error: unknown): void {
    const part = this.#peers > 1 ? `1/${this.#peers} of each` : 'all of each, as it knows of no other';
    this.#logger.warn(
      `Redis at ${this.#host} cannot be reached (${errorText(error)}): until it is back, rate limits are kept by this process alone, which takes ${part}.`,
    );
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#later(this.#retryMs, () => this.#comeBack());
    this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
  }

  /** Gives Redis the grants that it does not have, also those that are made meanwhile, and uses it again. */
  async #comeBack(): Promise<void> {
    let link: RedisLink | undefined;
    try {
      link = await openLink(this.#url, this.#namespace, this.#clock, this.#member);
      const { merge, runId } = link;
      const send = async (key: string, pieces: readonly Piece[]) => {
        this.#peers = Math.max((await merge(key, pieces)).peers, this.#peers);
      };
      // after a restart it may have lost everything; what it still has then counts twice, for a window
      for (const [key, share] of this.#shares) await share.tell((pieces) => send(key, pieces), runId !== this.#runId);
      for (let rest = this.#untold(); rest.length > 0; rest = this.#untold()) {
        for (const [key, share] of rest) await share.tell((pieces) => send(key, pieces), false);
      }
    } catch {
      link?.destroy();
      return this.#retryLater();
    }
    if (this.#closed) return link.destroy();
    const { keptMs } = this.#clock;
    this.#trustFrom = performance.now() + keptMs;
    this.#use(link);
    this.#logger.info(`Redis at ${this.#host} is back; its count is trusted in ${Math.ceil(keptMs)} ms.`);
  }

  #untold(): [string, LocalShare][] {
    return [...this.#shares].filter(([, share]) => share.hasUntold);
  }

  #beatLater(link: RedisLink): void {
    this.#later(this.#clock.beatMs, async () => {
      await Promise.all([...this.#shares.keys()].map((key) => this.#merge(link, key, [])));
      if (!this.#closed && this.#link === link) this.#beatLater(link);
    });
  }

  /** Either the next heartbeat or the next try to reach Redis; no reason to keep the process running. */
  #later(ms: number, action: () => Promise<void>): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void action(), ms);
    this.#timer.unref();
  }

  async #merge(link: RedisLink, key: string, pieces: readonly Piece[]): Promise<SharedCount | undefined> {
    const complete = performance.now() >= this.#trustFrom;
    const count = await this.#ask(link, link.merge(key, pieces));
    if (!count) return undefined;
    this.#heardOf(count.peers);
    this.#share(key).heardAll(count.pieces, complete);
    return count;
  }

  /** Undefined when Redis did not answer: it is lost then. */
  async #ask<Value>(link: RedisLink, answer: Promise<Value>): Promise<Value | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#lose(link, error);
      return undefined;
    }
  }
}
