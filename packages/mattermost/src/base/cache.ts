// A cache of promises that expire. Concurrent loads of one key share one promise.
import { ExpiringMap, type ExpiryOptions } from './expiring-map.ts';

export class AsyncCache<Value> {
  readonly #values: ExpiringMap<Promise<Value>>;

  constructor(options: ExpiryOptions) {
    this.#values = new ExpiringMap(options);
  }

  /** Returns the cached value or loads it. A failed load is not cached. */
  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const cached = this.find(key);
    if (cached) return cached;
    const value = load();
    this.set(key, value);
    value.catch(() => {
      if (this.find(key) === value) this.#values.take(key);
    });
    return value;
  }

  find(key: string): Promise<Value> | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Promise<Value>): void {
    this.#values.set(key, value);
  }
}
