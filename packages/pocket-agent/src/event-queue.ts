// Events on their way to somebody who reads them with `for await`.
import type { AgentEvent } from './events.ts';

export class EventQueue<Event = AgentEvent> implements AsyncIterable<Event> {
  #events: Event[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  push(event: Event): void {
    this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void> {
    for (;;) {
      const events = this.#events;
      this.#events = [];
      yield* events;
      if (this.#events.length > 0) continue;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
