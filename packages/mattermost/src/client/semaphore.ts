// A semaphore with a first-in, first-out queue; waiting can be aborted.
import { onAbort } from '@pocket-agent/kit';

export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.#free = size;
  }

  /** Resolves with a function that releases the slot; rejects with the signal's reason. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#release();
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = () => {
        removeListener();
        resolve();
      };
      const removeListener = onAbort(signal, (reason) => {
        this.#waiting.delete(admit);
        reject(reason);
      });
      this.#waiting.add(admit);
    });
  }

  /** Passes the slot to the longest waiting caller. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
