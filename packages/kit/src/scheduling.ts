// What runs when: a semaphore, and time slices of long work.
import { setImmediate as immediate } from 'node:timers/promises';
import { onAbort } from './abort.ts';

/** A number of slots with a first-in, first-out queue. */
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

/** How long work may take before other work of the process gets a turn. */
const SLICE_MS = 10;

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return immediate();
}

/** Calls `work` for each item. When that takes long, other work of the process gets turns in between. */
export async function inSlices<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  const slices = new TimeSlices();
  for (const item of items) {
    work(item);
    if (slices.isOver) await slices.next();
  }
}

/** For a loop over many items: `if (slices.isOver) await slices.next();`. Begins with the first slice. */
export class TimeSlices {
  #startedAt = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#startedAt > SLICE_MS;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#startedAt = performance.now();
  }
}
