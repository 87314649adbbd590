// A map whose entries expire, with a maximum size: the oldest entries are evicted first.

interface Entry<Value> {
  value: Value;
  expiresAt: number;
}

export interface ExpiryOptions {
  maxEntries: number;
  ttlMs: number;
}

export class ExpiringMap<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #options: ExpiryOptions;

  constructor(options: ExpiryOptions) {
    this.#options = options;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.expiresAt > Date.now() ? entry.value : undefined;
  }

  set(key: string, value: Value): void {
    const now = Date.now();
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt: now + this.#options.ttlMs });
    for (const [oldest, { expiresAt }] of this.#entries) {
      if (expiresAt > now && this.#entries.size <= this.#options.maxEntries) break;
      this.#entries.delete(oldest);
    }
  }

  /** Returns the value and removes it. */
  take(key: string): Value | undefined {
    const value = this.get(key);
    this.#entries.delete(key);
    return value;
  }
}
