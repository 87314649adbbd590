// A cache of promises with a time to live and a maximum size. Concurrent loads of one key share one promise.

interface Entry<Value> {
  value: Promise<Value>;
  expiresAt: number;
}

export class AsyncCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #maxEntries: number;
  readonly #ttlMs: number;

  constructor({ maxEntries, ttlMs }: { maxEntries: number; ttlMs: number }) {
    this.#maxEntries = maxEntries;
    this.#ttlMs = ttlMs;
  }

  /** Returns the cached value or loads it. A failed load is not cached. */
  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const cached = this.find(key);
    if (cached) return cached;
    const value = load();
    this.set(key, value);
    value.catch(() => {
      if (this.#entries.get(key)?.value === value) this.#entries.delete(key);
    });
    return value;
  }

  find(key: string): Promise<Value> | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.expiresAt > Date.now() ? entry.value : undefined;
  }

  set(key: string, value: Promise<Value>): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt: Date.now() + this.#ttlMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) break;
      this.#entries.delete(oldest);
    }
  }
}
