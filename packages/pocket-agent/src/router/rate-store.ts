// Where the rate windows of the deployments live: in memory, or wherever the option `rateStore` of the router keeps them.
import type { Logger } from '@pocket-agent/kit';
import {
  type ProviderCount,
  type RateLimits,
  RateWindow,
  type Reservation,
  type Reserved,
  type WindowShape,
  type WindowUse,
} from './rate-window.ts';

export interface RateRequest {
  /** The id of the deployment. */
  key: string;
  tokens: number;
  limits: RateLimits;
}

/** What a reserved call really used. */
export interface Settlement {
  key: string;
  reservation: Reservation;
  tokens: number;
}

export interface RateStore {
  /** How many reservations the router asks for at a time. More than one pays off when each takes a round trip. */
  readonly maxConcurrent: number;
  /** Counts one request, or says when to ask again. */
  reserve(request: RateRequest): Promise<Reserved>;
  /** Corrects the tokens of a reservation, if it still counts. */
  settle(settlement: Settlement): Promise<void>;
  /** Raises our count to that of the provider. */
  raise(key: string, count: ProviderCount): Promise<void>;
  used(key: string): Promise<WindowUse>;
  close(): Promise<void>;
}

export interface RateStoreSettings {
  shape: WindowShape;
  logger: Logger;
}

export type RateStoreFactory = (settings: RateStoreSettings) => RateStore;

export class MemoryRateStore implements RateStore {
  readonly maxConcurrent = 1;
  readonly #shape: WindowShape;
  readonly #windows = new Map<string, RateWindow>();

  constructor(shape: WindowShape) {
    this.#shape = shape;
  }

  async reserve({ key, tokens, limits }: RateRequest): Promise<Reserved> {
    return this.#window(key).reserve(tokens, limits);
  }

  async settle({ key, reservation, tokens }: Settlement): Promise<void> {
    this.#window(key).settle(reservation, tokens);
  }

  async raise(key: string, count: ProviderCount): Promise<void> {
    this.#window(key).raise(count);
  }

  async used(key: string): Promise<WindowUse> {
    return this.#window(key).total();
  }

  async close(): Promise<void> {
    this.#windows.clear();
  }

  #window(key: string): RateWindow {
    const window = this.#windows.get(key) ?? new RateWindow(this.#shape);
    this.#windows.set(key, window);
    return window;
  }
}
