// Wakes readers when a run may have changed: at once for changes of this process, within a moment for those of others.
import { PocketError } from '@pocket-agent/kit';

const POLL_MS = 500;

export class Changes {
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Wakes the readers: something has changed. */
  notify(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Calls `read` until it returns a value. */
  async until<Value>(read: () => Promise<Value | undefined>, signal: AbortSignal): Promise<Value> {
    for (;;) {
      signal.throwIfAborted();
      const change = Promise.withResolvers<void>();
      const abort = () => change.reject(signal.reason ?? new PocketError('ABORTED', 'The reader has left.'));
      this.#waiting.add(change.resolve); // before it reads: no change is missed
      signal.addEventListener('abort', abort, { once: true });
      try {
        const value = await read();
        if (value !== undefined) return value;
        this.#poll();
        await change.promise;
      } finally {
        change.promise.catch(() => {});
        signal.removeEventListener('abort', abort);
        this.#waiting.delete(change.resolve);
        if (this.#waiting.size === 0) this.#stop();
      }
    }
  }

  /** One timer for all readers. It keeps the process alive. */
  #poll(): void {
    this.#timer ??= setInterval(() => this.notify(), POLL_MS);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
