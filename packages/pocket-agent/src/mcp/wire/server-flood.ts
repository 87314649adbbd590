// Limits for a server that sends messages faster than they can be dealt with.
import { setImmediate } from 'node:timers/promises';

/** Messages are handled for this long at a time; then other work of the process gets a turn. */
export const SLICE_MS = 10;
const MOST_UNSENT_ANSWERS = 250;
/** Servers ask us to reconnect after a time of their choice, which may be 0. */
const SHORTEST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 60_000;

/** Answers to requests of one server that it has not read yet. */
export class UnsentAnswers {
  #count = 0;
  readonly #breakOff: (error: Error) => void;

  constructor(breakOff: (error: Error) => void) {
    this.#breakOff = breakOff;
  }

  async send(send: () => Promise<void>): Promise<void> {
    if (this.#count >= MOST_UNSENT_ANSWERS) {
      this.#breakOff(new Error(`it sent requests without reading our answers to the last ${MOST_UNSENT_ANSWERS}`));
      return;
    }
    this.#count++;
    try {
      await send();
    } finally {
      this.#count--;
    }
  }
}

/** Passes on pieces of a stream one by one, and lets other work run between them when that takes long. */
export function paced(body: ReadableStream<Uint8Array>, cut: (chunk: Uint8Array) => Iterable<Uint8Array>) {
  const reader = body.getReader();
  let begunAt = performance.now();
  let pieces: Iterator<Uint8Array> | undefined;
  const next = async (): Promise<Uint8Array | undefined> => {
    for (;;) {
      const piece = pieces?.next();
      if (piece && !piece.done) return piece.value;
      const { value, done } = await reader.read();
      if (done) return undefined;
      pieces = cut(value)[Symbol.iterator]();
    }
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (performance.now() - begunAt > SLICE_MS) {
          await setImmediate();
          begunAt = performance.now();
        }
        const piece = await next().catch((error) => {
          reader.cancel(error).catch(() => {}); // it may have failed by itself
          throw error;
        });
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** In place of the SDK's scheduler, which takes any time a server names. */
export function reconnectSoon(reconnect: () => void, delayMs: number): () => void {
  const boundedMs = Math.min(Math.max(delayMs, SHORTEST_RECONNECT_MS), LONGEST_RECONNECT_MS);
  const timer = setTimeout(reconnect, boundedMs);
  return () => clearTimeout(timer);
}
