// Values kept for a short time under a random key, each taken once. The oldest entries are evicted when the store is full.
import { randomBytes } from 'node:crypto';

interface Entry<Value> {
  value: Value;
  expiresAt: number;
}

export class OneTimeStore<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #maxEntries: number;
  readonly #ttlMs: number;

  constructor({ maxEntries, ttlMs }: { maxEntries: number; ttlMs: number }) {
    this.#maxEntries = maxEntries;
    this.#ttlMs = ttlMs;
  }

  put(value: Value, key = randomBytes(32).toString('base64url')): string {
    const now = Date.now();
    this.#entries.set(key, { value, expiresAt: now + this.#ttlMs });
    for (const [oldest, { expiresAt }] of this.#entries) {
      if (expiresAt > now && this.#entries.size <= this.#maxEntries) break;
      this.#entries.delete(oldest);
    }
    return key;
  }

  find(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.expiresAt > Date.now() ? entry.value : undefined;
  }

  /** Returns the value and removes it. */
  take(key: string): Value | undefined {
    const value = this.find(key);
    this.#entries.delete(key);
    return value;
  }
}
