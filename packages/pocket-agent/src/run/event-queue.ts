// A queue of events for one reader with `for await`.

type Reader<Event, End> = (result: IteratorResult<Event, End> | Promise<IteratorResult<Event, End>>) => void;

/** An iterator instead of a generator, which costs twice as much per event. `End` is its return value. */
export class EventQueue<Event, End = undefined> implements AsyncIterableIterator<Event, End | undefined> {
  #events: Event[] = [];
  #read = 0;
  #ended = false;
  #last: Promise<IteratorResult<Event, End>> | undefined;
  #readers: Reader<Event, End | undefined>[] = [];

  /** Events that have not been read. */
  get size(): number {
    return this.#events.length - this.#read;
  }

  /** The newest event that has not been read. */
  get newest(): Event | undefined {
    return this.#events.at(-1);
  }

  /** Puts an event in the place of the newest one, which must not have been read. */
  replaceNewest(event: Event): void {
    this.#events[this.#events.length - 1] = event;
  }

  push(event: Event): void {
    const reader = this.#readers.shift();
    if (reader) reader({ value: event, done: false });
    else if (!this.#ended) this.#events.push(event);
  }

  /** Queued events can still be read; then comes `last`, once, which may reject. */
  end(last?: Promise<IteratorResult<Event, End>>): void {
    this.#ended = true;
    this.#last = last;
    last?.catch(() => {}); // the reader gets the rejection
    for (const reader of this.#readers.splice(0)) reader(this.#end());
  }

  next(): Promise<IteratorResult<Event, End | undefined>> {
    if (this.#read < this.#events.length) {
      const value = this.#events[this.#read++] as Event;
      if (this.#read === this.#events.length) this.#forget();
      return Promise.resolve({ value, done: false });
    }
    if (this.#ended) return this.#end();
    return new Promise((resolve) => void this.#readers.push(resolve));
  }

  /** The reader has left. */
  return(): Promise<IteratorResult<Event, End | undefined>> {
    this.#forget();
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

  #forget(): void {
    this.#events = [];
    this.#read = 0;
  }
}
