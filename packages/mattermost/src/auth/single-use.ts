// Things kept for a short while under a random key, at most so many; the oldest give way.
import { randomBytes } from 'node:crypto';

interface Kept<Value> {
  value: Value;
  until: number;
}

export class SingleUse<Value> {
  readonly #kept = new Map<string, Kept<Value>>();
  readonly #most: number;
  readonly #ms: number;

  constructor({ most, ms }: { most: number; ms: number }) {
    this.#most = most;
    this.#ms = ms;
  }

  put(value: Value, key = randomBytes(32).toString('base64url')): string {
    const now = Date.now();
    this.#kept.set(key, { value, until: now + this.#ms });
    for (const [oldest, { until }] of this.#kept) {
      if (until > now && this.#kept.size <= this.#most) break;
      this.#kept.delete(oldest);
    }
    return key;
  }

  find(key: string): Value | undefined {
    const kept = this.#kept.get(key);
    return kept && kept.until > Date.now() ? kept.value : undefined;
  }

  /** What was put there, once. */
  take(key: string): Value | undefined {
    const value = this.find(key);
    this.#kept.delete(key);
    return value;
  }
}
