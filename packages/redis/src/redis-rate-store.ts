// Rate windows that several processes share in one Redis. Without Redis, each process uses its share of the limits.
import { errorText, type Logger } from '@pocket-agent/kit';
import type {
  ProviderCount,
  RateCounter,
  RateStore,
  Reservation,
  Reserved,
  SlotUse,
  WindowShape,
  WindowUse,
} from 'pocket-agent/internal';
import { heartbeatMs, OutageWindow } from './outage-window.ts';
import { type RateRequest, RedisConnection, type SharedCount } from './redis-connection.ts';

const MIN_RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;
/** After a start of Redis, all its former users have reconnected and reported by then. */
const SETTLED_MS = MAX_RETRY_MS + 2_000;

/** How a reservation was counted. */
interface Grant {
  /** How often the OutageWindow counted it. */
  peers: number;
  /** Where Redis counted it. */
  shared: { runId: string; slot: number } | undefined;
}

interface RedisRateStoreOptions {
  url: string;
  shape: WindowShape;
  logger: Logger;
  prefix: string;
}

/**
 * While Redis answers, it decides by its own clock. When it does not, every process decides by its OutageWindow.
 * When it is back, each process reports the grants that Redis does not have. For one whole window, until all peers have
 * reported, a request needs room in both. Three things cannot be known: a first burst of the peers just
 * before Redis is lost, the peers of a process that never reached Redis, and the use of a process that alone lost it.
 */
export class RedisRateStore implements RateStore {
  /** Each reservation takes a round trip. */
  readonly maxConcurrent = 32;
  readonly #url: string;
  readonly #prefix: string;
  readonly #shape: WindowShape;
  readonly #logger: Logger;
  readonly #member = crypto.randomUUID();
  readonly #windows = new Map<string, OutageWindow>();
  readonly #grants = new WeakMap<Reservation, Grant>();
  /** Processes that use this Redis, this one included, as last counted. */
  #peers = 1;
  #starting: Promise<void> | undefined;
  #connection: RedisConnection | undefined;
  #runId: string | undefined;
  #retryMs = MIN_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  /** No request passes before this time: Redis has just started, and its former users may not have reported yet. */
  #settledAt = 0;
  /** From this time on the shared count is complete. */
  #trustedAt = 0;
  #isClosed = false;

  constructor({ url, shape, logger, prefix }: RedisRateStoreOptions) {
    this.#url = url;
    this.#shape = shape;
    this.#logger = logger;
    this.#prefix = prefix;
  }

  counter(key: string): RateCounter {
    return {
      reserve: (tokens, limits) => this.#reserve({ key, tokens, limits }),
      settle: (reservation, tokens) => this.#settle(key, reservation, tokens),
      raise: (count) => this.#raise(key, count),
      total: () => this.#total(key),
    };
  }

  async #reserve(request: RateRequest): Promise<Reserved> {
    await this.#start();
    const connection = this.#connection;
    const waitMs = this.#settledAt - performance.now();
    if (waitMs > 0) {
      if (connection) await this.#merge(connection, request.key); // counts the peers
      return { waitMs };
    }
    if (!connection) return this.#reserveAlone(request);
    return (await this.#reserveShared(connection, request)) ?? this.#reserveAlone(request);
  }

  /** Undefined when Redis did not answer. */
  async #reserveShared(connection: RedisConnection, request: RateRequest): Promise<Reserved | undefined> {
    const { key, tokens, limits } = request;
    const window = this.#window(key);
    const slot = window.currentSlot;
    const assumed = window.trustsRedis ? undefined : { tokens, peers: this.#peers };
    if (assumed) {
      const waitMs = window.waitMs(assumed, limits);
      if (waitMs > 0) return { waitMs };
      window.assume(slot, assumed); // now: other requests may come while Redis is asked
    }
    const reserved = await this.#ask(connection, connection.reserve(request));
    const isReserved = reserved !== undefined && 'slot' in reserved;
    if (assumed && !isReserved) window.unassume(slot, assumed);
    if (!reserved) return undefined;
    this.#updatePeers(reserved.peers);
    window.updateTotal(reserved.used);
    if (!isReserved) return { waitMs: reserved.waitMs };
    window.grant(slot, { tokens, isReported: true });
    const reservation = { slot, tokens };
    const shared = { runId: connection.runId, slot: reserved.slot };
    this.#grants.set(reservation, { peers: assumed?.peers ?? 1, shared });
    return { reservation };
  }

  #reserveAlone({ key, tokens, limits }: RateRequest): Reserved {
    const window = this.#window(key);
    const slot = window.currentSlot;
    const assumed = { tokens, peers: this.#peers };
    const waitMs = window.waitMs(assumed, limits);
    if (waitMs > 0) return { waitMs };
    window.assume(slot, assumed);
    window.grant(slot, { tokens, isReported: false });
    const reservation = { slot, tokens };
    this.#grants.set(reservation, { peers: assumed.peers, shared: undefined });
    return { reservation };
  }

  async #settle(key: string, reservation: Reservation, tokens: number): Promise<void> {
    const { slot } = reservation;
    const change = tokens - reservation.tokens;
    if (change === 0) return;
    const window = this.#window(key);
    const { peers, shared } = this.#grants.get(reservation) ?? { peers: 1 };
    window.settle(slot, { change, peers });
    const connection = this.#connection;
    if (connection && shared?.runId === connection.runId) {
      if (await this.#ask(connection, connection.settle(key, shared.slot, change))) return;
    } else if (connection && change > 0) {
      const age = window.currentSlot - slot;
      if (await this.#merge(connection, key, [{ age, requests: 0, tokens: change }])) return;
    }
    // a negative change is reported only together with its grant: alone it would free another slot
    if (change > 0 || !shared) window.settleLater(slot, change);
  }

  async #raise(key: string, count: ProviderCount): Promise<void> {
    this.#window(key).raise(count);
    if (this.#connection) await this.#ask(this.#connection, this.#connection.raise(key, count));
  }

  async #total(key: string): Promise<WindowUse> {
    await this.#start();
    const shared = this.#connection && (await this.#merge(this.#connection, key));
    if (!shared) return this.#window(key).total();
    const total = (kind: 'requests' | 'tokens') => shared.slots.reduce((sum, slot) => sum + slot[kind], 0);
    return { requests: total('requests'), tokens: total('tokens') };
  }

  /** Takes at most as long as one command. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#starting?.catch(() => {});
    clearTimeout(this.#timer);
    const connection = this.#connection;
    if (!connection) return;
    await this.#ask(connection, connection.leave());
    this.#connection = undefined;
    connection.destroy();
  }

  #window(key: string): OutageWindow {
    const known = this.#windows.get(key);
    if (known) return known;
    const window = new OutageWindow(this.#shape, this.#connection !== undefined && this.#isComplete());
    this.#windows.set(key, window);
    return window;
  }

  #isComplete(): boolean {
    return performance.now() >= this.#trustedAt;
  }

  /** Peers that have not reconnected yet still count. */
  #updatePeers(peers: number): void {
    this.#peers = this.#isComplete() ? peers : Math.max(peers, this.#peers);
  }

  #start(): Promise<void> {
    this.#starting ??= this.#connectFirst();
    return this.#starting;
  }

  async #connectFirst(): Promise<void> {
    if (this.#isClosed) return;
    try {
      this.#use(await this.#open());
    } catch (error) {
      this.#goAlone(error);
    }
  }

  #open(): Promise<RedisConnection> {
    const settings = { url: this.#url, prefix: this.#prefix, shape: this.#shape, member: this.#member };
    return RedisConnection.open(settings);
  }

  #use(connection: RedisConnection): void {
    const isFirst = this.#runId === undefined;
    if (isFirst) this.#settledAt = performance.now() + Math.max(0, SETTLED_MS - connection.uptimeMs);
    this.#connection = connection;
    this.#runId = connection.runId;
    this.#retryMs = MIN_RETRY_MS;
    void connection.lost.then((error) => this.#lose(connection, error));
    this.#scheduleHeartbeat(connection);
  }

  #lose(connection: RedisConnection, error: unknown): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    connection.destroy();
    for (const window of this.#windows.values()) window.loseRedis();
    if (!this.#isClosed) this.#goAlone(error);
  }

  #goAlone(error: unknown): void {
    const { host } = new URL(this.#url); // never the password
    const share =
      this.#peers > 1 ? `1/${this.#peers} of each limit` : 'all of each limit, as it knows no other process';
    this.#logger.warn(
      `Redis at ${host} cannot be reached (${errorText(error)}). Until it is back, this process uses ${share}.`,
    );
    this.#scheduleRetry();
  }

  #scheduleRetry(): void {
    if (this.#isClosed) return;
    this.#schedule(this.#retryMs, () => this.#reconnect());
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
  }

  /** Reports the grants that Redis does not have, also those made during the report, and uses Redis again. */
  async #reconnect(): Promise<void> {
    let connection: RedisConnection | undefined;
    try {
      connection = await this.#open();
      // a restarted Redis may have lost everything; what it kept counts twice for one window
      const isRestarted = connection.runId !== this.#runId;
      for (const entry of this.#windows) await this.#report(connection, entry, isRestarted ? 'all' : 'unreported');
      for (let left = this.#unreported(); left.length > 0; left = this.#unreported()) {
        for (const entry of left) await this.#report(connection, entry, 'unreported');
      }
    } catch {
      connection?.destroy();
      return this.#scheduleRetry();
    }
    if (this.#isClosed) return connection.destroy();
    const { keptMs } = this.#shape;
    this.#trustedAt = performance.now() + keptMs;
    this.#use(connection);
    const { host } = new URL(this.#url);
    this.#logger.info(`Redis at ${host} is back. Its count is complete in ${Math.ceil(keptMs)} ms.`);
  }

  #report(
    connection: RedisConnection,
    [key, window]: [string, OutageWindow],
    which: 'all' | 'unreported',
  ): Promise<void> {
    return window.report(which, async (slots) => {
      const { peers } = await connection.merge(key, slots);
      this.#peers = Math.max(peers, this.#peers);
    });
  }

  #unreported(): [string, OutageWindow][] {
    return [...this.#windows].filter(([, window]) => window.hasUnreported);
  }

  #scheduleHeartbeat(connection: RedisConnection): void {
    this.#schedule(heartbeatMs(this.#shape), async () => {
      await Promise.all([...this.#windows.keys()].map((key) => this.#merge(connection, key)));
      if (!this.#isClosed && this.#connection === connection) this.#scheduleHeartbeat(connection);
    });
  }

  /** The next heartbeat or the next attempt to reach Redis. The timer does not keep the process running. */
  #schedule(ms: number, action: () => Promise<void>): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void action(), ms);
    this.#timer.unref();
  }

  async #merge(
    connection: RedisConnection,
    key: string,
    slots: readonly SlotUse[] = [],
  ): Promise<SharedCount | undefined> {
    const isComplete = this.#isComplete();
    const shared = await this.#ask(connection, connection.merge(key, slots));
    if (!shared) return undefined;
    this.#updatePeers(shared.peers);
    this.#window(key).updateSlots(shared.slots, isComplete);
    return shared;
  }

  /** Undefined when Redis did not answer; the connection is then closed. */
  async #ask<Value>(connection: RedisConnection, answer: Promise<Value>): Promise<Value | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#lose(connection, error);
      return undefined;
    }
  }
}
