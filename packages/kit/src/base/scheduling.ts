// A semaphore, a queue by key, work in batches, time slices for long work, and a queue of events for one reader.
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

/** Runs tasks with the same key one after the other; tasks with different keys run in parallel. */
export class KeyedQueue<Key = string> {
  readonly #last = new Map<Key, Promise<unknown>>();

  run<Result>(key: Key, work: () => Promise<Result>): Promise<Result> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled: Promise<void> = Promise.allSettled([done]).then(() => {
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

interface BatchOptions<Item> {
  /** Batches that are worked on at the same time. */
  maxBatches: number;
  /** How many of the items that wait are the next batch. */
  count(items: readonly Item[]): number;
}

/** Works on several items together: on those that are added in one turn of the event loop, or while earlier ones are worked on. */
export class BatchQueue<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #options: BatchOptions<Item>;
  readonly #waiting: { item: Item; done: PromiseWithResolvers<Result> }[] = [];
  #batches = 0;
  #isDue = false;

  /** `work` returns a result for each item, in their order. */
  constructor(work: (items: readonly Item[]) => Promise<readonly Result[]>, options: BatchOptions<Item>) {
    this.#work = work;
    this.#options = options;
  }

  add(item: Item): Promise<Result> {
    const done = Promise.withResolvers<Result>();
    this.#waiting.push({ item, done });
    this.#beginSoon();
    return done.promise;
  }

  #beginSoon(): void {
    if (this.#isDue || this.#waiting.length === 0 || this.#batches === this.#options.maxBatches) return;
    this.#isDue = true;
    process.nextTick(() => {
      this.#isDue = false;
      void this.#begin();
      this.#beginSoon();
    });
  }

  async #begin(): Promise<void> {
    const batch = this.#waiting.splice(0, this.#options.count(this.#waiting.map(({ item }) => item)));
    this.#batches++;
    try {
      const results = await this.#work(batch.map(({ item }) => item));
      for (const [index, { done }] of batch.entries()) done.resolve(results[index] as Result); // one for each
    } catch (error) {
      for (const { done } of batch) done.reject(error);
    }
    this.#batches--;
    this.#beginSoon();
  }
}

/** How long work may take before other work of the process gets a turn. */
const SLICE_MS = 10;

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return immediate();
}

/** Calls `work` for each item. If this takes long, other work of the process runs in between. */
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

type Reader<Event, End> = (result: IteratorResult<Event, End> | Promise<IteratorResult<Event, End>>) => void;

/**
 * A queue of events for one reader with `for await`: an iterator, because a generator costs twice as much per event.
 * `End` is its return value.
 */
export class EventQueue<Event, End = undefined> implements AsyncIterableIterator<Event, End | undefined> {
  /** Events in the order in which they came. */
  #incoming: Event[] = [];
  /** The events before those, newest first: the reader takes from the end. */
  #outgoing: Event[] = [];
  #ended = false;
  #last: Promise<IteratorResult<Event, End>> | undefined;
  #readers: Reader<Event, End | undefined>[] = [];

  /** Events that have not been read. */
  get size(): number {
    return this.#incoming.length + this.#outgoing.length;
  }

  /** The newest event that has not been read. */
  get newest(): Event | undefined {
    return this.#incoming.at(-1) ?? this.#outgoing[0];
  }

  /** Puts an event in the place of the newest one, which must not have been read. */
  replaceNewest(event: Event): void {
    if (this.#incoming.length > 0) this.#incoming[this.#incoming.length - 1] = event;
    else this.#outgoing[0] = event;
  }

  push(event: Event): void {
    const reader = this.#readers.shift();
    if (reader) reader({ value: event, done: false });
    else if (!this.#ended) this.#incoming.push(event);
  }

  /** Queued events can still be read; then comes `last`, once, which may reject. */
  end(last?: Promise<IteratorResult<Event, End>>): void {
    this.#ended = true;
    this.#last = last;
    last?.catch(() => {}); // the reader gets the rejection
    for (const reader of this.#readers.splice(0)) reader(this.#end());
  }

  next(): Promise<IteratorResult<Event, End | undefined>> {
    if (this.#outgoing.length === 0) {
      this.#outgoing = this.#incoming.reverse();
      this.#incoming = [];
    }
    if (this.#outgoing.length > 0) return Promise.resolve({ value: this.#outgoing.pop() as Event, done: false });
    if (this.#ended) return this.#end();
    return new Promise((resolve) => void this.#readers.push(resolve));
  }

  /** The reader has left. */
  return(): Promise<IteratorResult<Event, End | undefined>> {
    this.#incoming = [];
    this.#outgoing = [];
    this.end();
    return this.#end();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #end(): Promise<IteratorResult<Event, End | undefined>> {
    const last = this.#last;
    this.#last = undefined;
    return last ?? Promise.resolve({ value: undefined, done: true });
  }
}
