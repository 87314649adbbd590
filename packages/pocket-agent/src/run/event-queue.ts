// A queue of events for one reader with `for await`.

type Reader<Event, End> = (result: IteratorResult<Event, End> | Promise<IteratorResult<Event, End>>) => void;

/** An iterator instead of a generator, which costs twice as much per event. `End` is its return value. */
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
