// Runs tasks with the same key one after the other; tasks with different keys run in parallel.

export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  run(key: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = done
      .catch(() => {})
      .then(() => {
        if (this.#last.get(key) === settled) this.#last.delete(key);
      });
    this.#last.set(key, settled);
    return done;
  }

  /** Resolves when all tasks have finished. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
