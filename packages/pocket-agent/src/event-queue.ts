// Events on their way to the one who reads them with `for await`.
import type { AgentEvent } from './events.ts';

/** An iterator, not a generator: that costs half for every event. */
export class EventQueue<Event = AgentEvent> implements AsyncIterableIterator<Event> {
  #events: Event[] = [];
  #read = 0;
  #ended = false;
  #reader: ((result: IteratorResult<Event>) => void) | undefined;

  push(event: Event): void {
    if (this.#reader) this.#hand({ value: event, done: false });
    else if (!this.#ended) this.#events.push(event);
  }

  end(): void {
    this.#ended = true;
    if (this.#reader) this.#hand({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<Event>> {
    if (this.#read < this.#events.length) {
      const value = this.#events[this.#read++] as Event;
      if (this.#read === this.#events.length) this.#forget();
      return Promise.resolve({ value, done: false });
    }
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      this.#reader = resolve;
    });
  }

  /** Nobody reads any more. */
  return(): Promise<IteratorResult<Event>> {
    this.#ended = true;
    this.#forget();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #hand(result: IteratorResult<Event>): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.(result);
  }

  #forget(): void {
    this.#events = [];
    this.#read = 0;
  }
}
