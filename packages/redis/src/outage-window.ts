// What one process assumes that all processes have used while the count in Redis is unavailable or incomplete.
import {
  type ProviderCount,
  type RateLimits,
  RateWindow,
  type SlotUse,
  type WindowShape,
  type WindowUse,
} from 'pocket-agent/internal';

/** The peak rises immediately and decays by this factor with every heartbeat. */
const PEAK_DECAY = 0.95;

/** Processes read the shared count about once per slot, so that little is unknown when Redis is lost. */
export function heartbeatMs({ slotMs }: WindowShape): number {
  return Math.min(1_000, Math.max(100, slotMs));
}

/** A request of this process. It counts `peers` times: every peer is assumed to make one like it. */
interface AssumedRequest {
  tokens: number;
  peers: number;
}

export class OutageWindow {
  /** The shared count is complete, so Redis decides alone. */
  trustsRedis: boolean;
  readonly #shape: WindowShape;
  /** The last complete count of all processes, and what is assumed since. */
  #assumed: RateWindow;
  /** All grants of this process. */
  readonly #granted: RateWindow;
  /** Grants of this process that Redis does not have. */
  readonly #unreported: RateWindow;
  /** The highest use by all processes between two heartbeats. */
  #peak: WindowUse = { requests: 0, tokens: 0 };

  constructor(shape: WindowShape, trustsRedis: boolean) {
    this.#shape = shape;
    this.trustsRedis = trustsRedis;
    this.#assumed = new RateWindow(shape);
    this.#granted = new RateWindow(shape);
    this.#unreported = new RateWindow(shape);
  }

  get currentSlot(): number {
    return this.#granted.currentSlot;
  }

  get hasUnreported(): boolean {
    return this.#unreported.slots().length > 0;
  }

  total(): WindowUse {
    return this.#assumed.total();
  }

  /** 0 when there is room, else when to ask again: after at most a slot, as Redis may be back. */
  waitMs({ tokens, peers }: AssumedRequest, limits: RateLimits): number {
    const used = this.#assumed.total();
    // with more peers than the limit has requests, no process must starve
    if (used.requests === 0 && used.tokens === 0) return 0;
    return Math.min(this.#shape.slotMs, this.#assumed.waitMs({ requests: peers, tokens: peers * tokens }, limits));
  }

  assume(slot: number, { tokens, peers }: AssumedRequest): void {
    this.#assumed.add(slot, { requests: peers, tokens: peers * tokens });
  }

  /** Undoes `assume`. */
  unassume(slot: number, { tokens, peers }: AssumedRequest): void {
    this.#assumed.add(slot, { requests: -peers, tokens: -peers * tokens });
  }

  /** A request of this process was granted, by Redis or without it. */
  grant(slot: number, { tokens, isReported }: { tokens: number; isReported: boolean }): void {
    this.#granted.add(slot, { requests: 1, tokens });
    if (!isReported) this.#unreported.add(slot, { requests: 1, tokens });
  }

  /** Corrects the tokens of a grant by `change`. */
  settle(slot: number, { change, peers }: { change: number; peers: number }): void {
    this.#granted.add(slot, { requests: 0, tokens: change });
    this.#assumed.add(slot, { requests: 0, tokens: this.trustsRedis ? change : peers * change });
  }

  /** The correction has yet to be reported to Redis. */
  settleLater(slot: number, change: number): void {
    this.#unreported.add(slot, { requests: 0, tokens: change });
  }

  /** Sends the unreported grants, or all grants. If that fails, they stay unreported. */
  async report(which: 'unreported' | 'all', send: (slots: readonly SlotUse[]) => Promise<void>): Promise<void> {
    const { currentSlot } = this;
    const unreported = this.#unreported.slots();
    this.#unreported.clear();
    try {
      await send(which === 'all' ? this.#granted.slots() : unreported);
    } catch (error) {
      for (const { age, ...use } of unreported) this.#unreported.add(currentSlot - age, use);
      throw error;
    }
  }

  /** Takes over the shared total that came with a reservation. */
  updateTotal(used: WindowUse): void {
    if (!this.trustsRedis) return;
    const { requests, tokens } = this.#assumed.total();
    this.#assumed.add(this.currentSlot, {
      requests: Math.max(0, used.requests - requests),
      tokens: Math.max(0, used.tokens - tokens),
    });
  }

  /** Takes over the whole shared count. It is complete when every peer had the time to report. */
  updateSlots(slots: readonly SlotUse[], isComplete: boolean): void {
    if (!this.trustsRedis && !isComplete) return;
    this.trustsRedis = true;
    this.#assumed = new RateWindow(this.#shape);
    // one slot younger than they were: the slots of Redis may start at other times
    for (const { age, ...use } of slots) this.#assumed.add(this.currentSlot - Math.max(0, age - 1), use);
    const slotsPerHeartbeat = Math.ceil(heartbeatMs(this.#shape) / this.#shape.slotMs);
    const { requests, tokens } = highestUse(this.#assumed.slots(), slotsPerHeartbeat + 1);
    this.#peak = {
      requests: Math.max(requests, this.#peak.requests * PEAK_DECAY),
      tokens: Math.max(tokens, this.#peak.tokens * PEAK_DECAY),
    };
  }

  /** Redis is lost. Since the last heartbeat, the peers may have used as much as the peak. */
  loseRedis(): void {
    if (this.trustsRedis) this.#assumed.add(this.currentSlot, this.#peak);
    this.trustsRedis = false;
  }

  /** Without Redis, use by peers cannot be told from use by others, so it may be counted twice. */
  raise(count: ProviderCount): void {
    if (!this.trustsRedis) this.#assumed.raise(count);
  }
}

/** The highest use in `length` consecutive slots. */
function highestUse(slots: readonly SlotUse[], length: number): WindowUse {
  const highest = { requests: 0, tokens: 0 };
  for (const { age: first } of slots) {
    const near = slots.filter(({ age }) => age >= first && age < first + length);
    highest.requests = Math.max(
      highest.requests,
      near.reduce((sum, { requests }) => sum + requests, 0),
    );
    highest.tokens = Math.max(
      highest.tokens,
      near.reduce((sum, { tokens }) => sum + tokens, 0),
    );
  }
  return highest;
}
