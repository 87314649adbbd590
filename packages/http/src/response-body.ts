// The body of an answer: decompressed, bounded, and failed when the exchange is. It is read as it arrives, so that a
// connection does not wait for somebody who only wanted the status; a web stream is made only when one is asked for.
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { FetchError } from './fetch-error.ts';

interface BodyOptions {
  /** As the header says; empty for what is read as it comes. */
  encoding: string;
  maxBytes: number | undefined;
  /** Called once, when there is nothing more to read. */
  over(): void;
}

/** Who reads a body: all that arrived before comes at once. */
interface Reader {
  chunk(chunk: Buffer): void;
  end(): void;
  fail(error: unknown): void;
}

/** So much is kept of a body that nobody reads yet. */
const MOST_UNREAD_BYTES = 64 * 1_024;

const decoders = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

export class Body {
  readonly #flow: Dispatcher.DispatchController;
  readonly #options: BodyOptions;
  readonly #decoder: Transform | undefined;
  #unread: Buffer[] = [];
  #size = 0;
  #reader: Reader | undefined;
  #outcome: { error?: unknown } | undefined;
  #onBegun: (() => void) | undefined;

  constructor(flow: Dispatcher.DispatchController, options: BodyOptions) {
    this.#flow = flow;
    this.#options = options;
    this.#decoder = decoders.get(options.encoding.trim().toLowerCase())?.();
    this.#decoder
      ?.on('data', (chunk: Buffer) => this.#take(chunk))
      .on('drain', () => flow.resume())
      .once('end', () => this.#finish({}))
      .on('error', (error) => this.#breakOff(new TypeError('terminated', { cause: error })));
  }

  /** Whether what is read is no longer what was sent. */
  get isDecoded(): boolean {
    return this.#decoder !== undefined;
  }

  /** More of it has come. */
  add(chunk: Buffer): void {
    if (chunk.length === 0) return; // undici gives one whenever it goes on: a reader that pauses at it would go on for ever
    if (!this.#decoder) this.#take(chunk);
    else if (!this.#decoder.write(chunk)) this.#flow.pause();
  }

  /** All of it has come. */
  end(): void {
    if (this.#decoder) this.#decoder.end();
    else this.#finish({});
  }

  /** No more of it will come. */
  fail(error: unknown): void {
    this.#finish({ error });
    this.#decoder?.destroy();
  }

  /** Everything, when it has come. */
  whole(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    return new Promise((resolve, reject) => {
      this.#readBy({
        chunk: (chunk) => void chunks.push(chunk),
        end: () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
        fail: reject,
      });
    });
  }

  /** What nobody has read yet, as soon as it is more than so many bytes, or nothing more will come. */
  async begun(beyond: number): Promise<Buffer> {
    while (!this.#outcome && this.#unread.reduce((sum, { length }) => sum + length, 0) <= beyond) {
      this.#resume();
      await new Promise<void>((resolve) => {
        this.#onBegun = resolve;
      });
    }
    return Buffer.concat(this.#unread);
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) =>
        this.#readBy({
          chunk: (chunk) => {
            controller.enqueue(chunk);
            if ((controller.desiredSize ?? 0) <= 0) this.#pause();
          },
          end: () => controller.close(),
          fail: (error) => controller.error(error),
        }),
      pull: () => void this.#resume(),
      cancel: () => this.cancel(),
    });
  }

  cancel(): void {
    this.#reader = undefined;
    this.#breakOff(undefined);
  }

  #pause(): void {
    (this.#decoder ?? this.#flow).pause();
  }

  #resume(): void {
    (this.#decoder ?? this.#flow).resume();
  }

  #readBy(reader: Reader): void {
    this.#reader = reader;
    const unread = this.#unread;
    this.#unread = [];
    for (const chunk of unread) reader.chunk(chunk);
    if (this.#outcome) settle(reader, this.#outcome);
    else this.#resume();
  }

  #take(chunk: Buffer): void {
    if (this.#outcome) return;
    this.#size += chunk.byteLength;
    const { maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#size > maxBytes) {
      this.#breakOff(new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`));
      return;
    }
    if (this.#reader) {
      this.#reader.chunk(chunk);
      return;
    }
    this.#unread.push(chunk);
    this.#onBegun?.();
    if (this.#size > MOST_UNREAD_BYTES) this.#pause();
  }

  #breakOff(error: unknown): void {
    const isOver = this.#outcome !== undefined;
    this.fail(error);
    if (!isOver) this.#flow.abort(new Error('The body is not read to its end'));
  }

  #finish(outcome: { error?: unknown }): void {
    if (this.#outcome) return;
    this.#outcome = outcome;
    this.#options.over();
    this.#onBegun?.();
    if (this.#reader) settle(this.#reader, outcome);
  }
}

function settle(reader: Reader, outcome: { error?: unknown }): void {
  if ('error' in outcome) reader.fail(outcome.error);
  else reader.end();
}
