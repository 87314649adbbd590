// How long runs wait for the tools of a server. A server that takes longer is logged, and its tools join later.
import type { Tool } from '@modelcontextprotocol/client';

interface ToolWaitOptions {
  /** Runs wait for this long. */
  waitMs: number;
  /** The server has not listed its tools within this time. Runs may still wait for it. */
  onSlow(afterMs: number): void;
}

const SLOW_MS = 5_000;

export class ToolWait {
  readonly #options: ToolWaitOptions;
  /** Shared by all runs that wait. */
  #arrival: Promise<readonly Tool[]> | undefined;
  #stopWaiting: (() => void) | undefined;
  #timers: NodeJS.Timeout[] = [];
  /** Callers that wait for the list, for a run or not. They share the timers. */
  #callers = 0;
  /** The last list took longer than `waitMs`, and the server has not listed its tools since: no run waits for it. */
  #isLate = false;

  constructor(options: ToolWaitOptions) {
    this.#options = options;
  }

  get isInProgress(): boolean {
    return this.#arrival !== undefined;
  }

  /** The tools that `list` returns; no tools after `waitMs`, and then `onLate` is called when it returns. */
  forRuns(list: () => Promise<readonly Tool[]>, onLate: () => void): Promise<readonly Tool[]> {
    this.#arrival ??= this.#await(list, onLate);
    return this.#arrival;
  }

  /** Measures how long a list takes. */
  async timed<Listed>(list: () => Promise<Listed>): Promise<Listed> {
    this.#callers++;
    this.#startTimers();
    try {
      const listed = await list();
      this.#isLate = false;
      return listed;
    } finally {
      if (--this.#callers === 0) this.stopTimers();
    }
  }

  /** Also called while a user logs in, which has no time limit. */
  stopTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }

  #await(list: () => Promise<readonly Tool[]>, onLate: () => void): Promise<readonly Tool[]> {
    const { promise, resolve } = Promise.withResolvers<readonly Tool[]>();
    let isLate = false;
    this.#stopWaiting = () => {
      isLate = true;
      resolve([]);
    };
    if (this.#isLate) this.#stopWaiting();
    void list().then((tools) => {
      this.#arrival = undefined;
      this.#stopWaiting = undefined;
      if (isLate) onLate();
      resolve(tools);
    });
    return promise;
  }

  #startTimers(): void {
    if (this.#isLate || this.#timers.length > 0) return;
    const { waitMs, onSlow } = this.#options;
    const slowMs = Math.min(SLOW_MS, waitMs);
    const late = () => {
      this.#isLate = true;
      this.#stopWaiting?.();
    };
    this.#timers = [setTimeout(() => onSlow(slowMs), slowMs), setTimeout(late, waitMs)];
  }
}
