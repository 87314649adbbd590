// Answers kept for a while, at most so many; who asks for one that is on its way waits for that one.

interface Kept<Value> {
  value: Promise<Value>;
  until: number;
}

export class Memory<Value> {
  readonly #kept = new Map<string, Kept<Value>>();
  readonly #most: number;
  readonly #ms: number;

  constructor({ most, ms }: { most: number; ms: number }) {
    this.#most = most;
    this.#ms = ms;
  }

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.find(key);
    if (known) return known;
    const value = load();
    this.set(key, value);
    // a failure is told to those who wait for it and not kept
    value.catch(() => {
      if (this.#kept.get(key)?.value === value) this.#kept.delete(key);
    });
    return value;
  }

  find(key: string): Promise<Value> | undefined {
    const kept = this.#kept.get(key);
    return kept && kept.until > Date.now() ? kept.value : undefined;
  }

  set(key: string, value: Promise<Value>): void {
    this.#kept.delete(key);
    this.#kept.set(key, { value, until: Date.now() + this.#ms });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#most) break;
      this.#kept.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }
}
