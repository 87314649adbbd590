// Wakes the readers of a run when it may have changed: at once for changes of this process, within a moment for those of others.
import { PocketError } from '@pocket-agent/kit';
import type { Database } from './journal.ts';

const POLL_MS = 500;
const RUNS_PER_QUERY = 1_000;

interface Readers {
  wake: Set<() => void>;
  /** The length of the journal when it was last polled. */
  length: number | undefined;
}

export class Changes {
  readonly #db: Database;
  /** By the id of the run. */
  readonly #readers = new Map<string, Readers>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Wakes the readers of a run: something has changed. */
  notify(run: string): void {
    for (const wake of this.#readers.get(run)?.wake ?? []) wake();
  }

  /** Calls `read` until it returns a value. */
  async until<Value>(run: string, read: () => Promise<Value | undefined>, signal: AbortSignal): Promise<Value> {
    let change = Promise.withResolvers<void>();
    const wake = () => change.resolve();
    const abort = () => change.reject(signal.reason ?? new PocketError('ABORTED', 'The reader has left.'));
    this.#add(run, wake);
    signal.addEventListener('abort', abort, { once: true });
    try {
      for (;;) {
        change = Promise.withResolvers<void>(); // before it reads: no change is missed
        change.promise.catch(() => {});
        signal.throwIfAborted();
        const value = await read();
        if (value !== undefined) return value;
        this.#startPolling();
        await change.promise;
      }
    } finally {
      signal.removeEventListener('abort', abort);
      this.#remove(run, wake);
    }
  }

  #add(run: string, wake: () => void): void {
    const readers = this.#readers.get(run) ?? { wake: new Set(), length: undefined };
    readers.wake.add(wake);
    this.#readers.set(run, readers);
  }

  #remove(run: string, wake: () => void): void {
    const readers = this.#readers.get(run);
    readers?.wake.delete(wake);
    if (readers?.wake.size === 0) this.#readers.delete(run);
    if (this.#readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** One timer and one query for all readers. The timer keeps the process alive. */
  #startPolling(): void {
    this.#timer ??= setInterval(() => {
      if (!this.#isPolling) void this.#poll();
    }, POLL_MS);
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    const runs = [...this.#readers.keys()];
    for (let start = 0; start < runs.length; start += RUNS_PER_QUERY) {
      const some = runs.slice(start, start + RUNS_PER_QUERY);
      const lengths = await this.#lengths(some);
      for (const run of some) {
        const readers = this.#readers.get(run);
        const length = lengths?.get(run);
        if (length === undefined || length !== readers?.length) this.notify(run);
        if (readers) readers.length = length;
      }
    }
    this.#isPolling = false;
  }

  /** Undefined if the database cannot be used: the readers report that. */
  async #lengths(runs: readonly string[]): Promise<ReadonlyMap<string, number> | undefined> {
    const query = this.#db.selectFrom('pocket_runs').select(['id', 'length']).where('id', 'in', runs);
    const rows = await query.execute().catch(() => undefined);
    return rows && new Map(rows.map(({ id, length }) => [id, length]));
  }
}
