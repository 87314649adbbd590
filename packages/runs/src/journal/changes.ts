// Wakes the readers of a run when it may have changed: at once for changes of this process, within a moment for those of others.
import { PocketError } from '@pocket-agent/kit';

const POLL_MS = 500;

export class Changes {
  /** By the id of the run. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | undefined;

  /** Wakes the readers of a run: something has changed. */
  notify(run: string): void {
    for (const wake of this.#waiting.get(run) ?? []) wake();
  }

  /** Calls `read` until it returns a value. */
  async until<Value>(run: string, read: () => Promise<Value | undefined>, signal: AbortSignal): Promise<Value> {
    for (;;) {
      signal.throwIfAborted();
      const change = Promise.withResolvers<void>();
      const abort = () => change.reject(signal.reason ?? new PocketError('ABORTED', 'The reader has left.'));
      this.#add(run, change.resolve); // before it reads: no change is missed
      signal.addEventListener('abort', abort, { once: true });
      try {
        const value = await read();
        if (value !== undefined) return value;
        this.#poll();
        await change.promise;
      } finally {
        change.promise.catch(() => {});
        signal.removeEventListener('abort', abort);
        this.#remove(run, change.resolve);
      }
    }
  }

  #add(run: string, wake: () => void): void {
    const readers = this.#waiting.get(run) ?? new Set();
    this.#waiting.set(run, readers.add(wake));
  }

  #remove(run: string, wake: () => void): void {
    const readers = this.#waiting.get(run);
    readers?.delete(wake);
    if (readers?.size === 0) this.#waiting.delete(run);
    if (this.#waiting.size === 0) this.#stop();
  }

  /** One timer for all readers. It keeps the process alive. */
  #poll(): void {
    this.#timer ??= setInterval(() => {
      for (const run of this.#waiting.keys()) this.notify(run);
    }, POLL_MS);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
