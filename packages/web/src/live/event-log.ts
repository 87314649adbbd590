// The events of one answer so far. Any number of readers can each read them from any position.

/** An answer that grows beyond this can no longer be resumed. */
const MAX_BYTES = 16_777_216;
/** The most events of one read. */
const MAX_READ = 200;

export class EventLog {
  #events: string[] = [];
  #bytes = 0;
  /** Dropped events, after which the answer can no longer be resumed. */
  #dropped = 0;
  #atRest = false;
  #cut: { error: unknown } | undefined;
  #changed = Promise.withResolvers<void>();
  #readers = 0;
  #onLeft: (() => void) | undefined;

  /** `onLeft` is called when the last reader has left before the end. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
  }

  get length(): number {
    return this.#dropped + this.#events.length;
  }

  get hasReaders(): boolean {
    return this.#readers > 0;
  }

  /** Whether a reader can begin at the beginning. */
  get isWhole(): boolean {
    return this.#dropped === 0;
  }

  add(event: object): void {
    const text = JSON.stringify(event);
    this.#events.push(text);
    this.#bytes += text.length;
    if (this.#bytes > MAX_BYTES) this.#dropOld();
    this.#notify();
  }

  /** At rest, readers leave when they have read everything. */
  setAtRest(atRest: boolean): void {
    this.#atRest = atRest;
    this.#notify();
  }

  /** Readers lose their connection, and may reconnect. */
  cut(error: unknown): void {
    this.#cut = { error };
    this.#notify();
  }

  /** The events from `from` on as server-sent events. `end` returns the last events of a response. */
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
      if (--this.#readers === 0 && !this.#atRest) this.#onLeft?.();
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
            controller.error(new Error('The reader was too slow for an answer this long.'));
            return;
          }
          const events = this.#events.slice(next - this.#dropped, next - this.#dropped + MAX_READ);
          if (events.length > 0) {
            next += events.length;
            send(events);
            return;
          }
          if (this.#cut) {
            leave();
            controller.error(this.#cut.error);
            return;
          }
          if (this.#atRest) {
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
