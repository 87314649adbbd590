// The events of one answer. Each reader starts at its own position and waits for new events.

/** Above this size old events are dropped, and the answer can no longer be replayed. */
const MAX_BYTES = 16_777_216;
const MAX_EVENTS_PER_READ = 200;

export class EventLog {
  #events: string[] = [];
  #bytes = 0;
  /** How many events were dropped. */
  #dropped = 0;
  #isIdle = false;
  #disconnected: { error: unknown } | undefined;
  #changed = Promise.withResolvers<void>();
  #readers = 0;
  #onLastReaderLeft: (() => void) | undefined;

  /** `onLastReaderLeft` is called if the last reader leaves while events are expected. */
  constructor(onLastReaderLeft: () => void) {
    this.#onLastReaderLeft = onLastReaderLeft;
  }

  get length(): number {
    return this.#dropped + this.#events.length;
  }

  get hasReaders(): boolean {
    return this.#readers > 0;
  }

  /** Whether all events are still there. */
  get canReplay(): boolean {
    return this.#dropped === 0;
  }

  add(event: object): void {
    const text = JSON.stringify(event);
    this.#events.push(text);
    this.#bytes += text.length;
    if (this.#bytes > MAX_BYTES) this.#dropOld();
    this.#notify();
  }

  /** While idle, a response ends when it has sent all events. */
  setIdle(isIdle: boolean): void {
    this.#isIdle = isIdle;
    this.#notify();
  }

  /** Ends all responses with an error; pages may reconnect. */
  disconnect(error: unknown): void {
    this.#disconnected = { error };
    this.#notify();
  }

  /** Streams events as server-sent events, starting with the event number `from`. `end` returns the last events of the response. */
  read({
    from,
    first = [],
    end,
  }: {
    from: number;
    first?: readonly object[];
    end(): readonly string[];
  }): ReadableStream {
    let next = from;
    let begin = first.map((event) => JSON.stringify(event));
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      if (--this.#readers === 0 && !this.#isIdle) this.#onLastReaderLeft?.();
    };
    this.#readers++;
    return new ReadableStream({
      pull: async (controller) => {
        const send = (events: readonly string[]) => controller.enqueue(encoded(events));
        if (begin.length > 0) {
          send(begin);
          begin = [];
          return;
        }
        for (;;) {
          if (next < this.#dropped) {
            leave();
            controller.error(
              new Error('The reader is too slow: the next event has been dropped. Reconnect to read the saved answer.'),
            );
            return;
          }
          const events = this.#events.slice(next - this.#dropped, next - this.#dropped + MAX_EVENTS_PER_READ);
          if (events.length > 0) {
            next += events.length;
            send(events);
            return;
          }
          if (this.#disconnected) {
            leave();
            controller.error(this.#disconnected.error);
            return;
          }
          if (this.#isIdle) {
            send(end());
            leave();
            controller.close();
            return;
          }
          await this.#changed.promise;
          if (hasLeft) return;
        }
      },
      cancel: leave,
    });
  }

  #dropOld(): void {
    this.#dropped += this.#events.length - 1;
    this.#events = this.#events.slice(-1);
    this.#bytes = this.#events[0]?.length ?? 0;
  }

  #notify(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

function encoded(events: readonly string[]): Uint8Array {
  return new TextEncoder().encode(events.map((event) => `data: ${event}\n\n`).join(''));
}
