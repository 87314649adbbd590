// The body of an answer: decompressed, bounded, and failed when the exchange is. It is read as it arrives, so that a
// connection does not wait for somebody who only wanted the status; a web stream is made only when one is asked for.
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FetchError } from './fetch-error.ts';

interface BodyOptions {
  encoding: string | undefined;
  maxBytes: number | undefined;
  /** Why the exchange was ended by us, if it was. */
  reason(): unknown;
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
  readonly #message: IncomingMessage;
  readonly #source: Readable;
  readonly #options: BodyOptions;
  #unread: Buffer[] = [];
  #size = 0;
  #reader: Reader | undefined;
  #outcome: { error?: unknown } | undefined;
  #onBegun: (() => void) | undefined;

  constructor(message: IncomingMessage, options: BodyOptions) {
    this.#message = message;
    this.#options = options;
    this.#source = decoded(message, options.encoding);
    this.#source.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#source.once('end', () => this.#finish({}));
    this.#source.on('error', (error) =>
      this.#finish({ error: options.reason() ?? new TypeError('terminated', { cause: error }) }),
    );
  }

  /** Whether what is read is no longer what was sent. */
  get isDecoded(): boolean {
    return this.#source !== this.#message;
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
      this.#source.resume();
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
            if ((controller.desiredSize ?? 0) <= 0) this.#source.pause();
          },
          end: () => controller.close(),
          fail: (error) => controller.error(error),
        }),
      pull: () => void this.#source.resume(),
      cancel: () => this.cancel(),
    });
  }

  cancel(): void {
    this.#reader = undefined;
    this.#finish({});
    this.#message.destroy();
  }

  #readBy(reader: Reader): void {
    this.#reader = reader;
    const unread = this.#unread;
    this.#unread = [];
    for (const chunk of unread) reader.chunk(chunk);
    if (this.#outcome) settle(reader, this.#outcome);
    else this.#source.resume();
  }

  #take(chunk: Buffer): void {
    if (this.#outcome) return;
    this.#size += chunk.byteLength;
    const { maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#size > maxBytes) {
      this.#finish({ error: new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`) });
      this.#message.destroy();
      return;
    }
    if (this.#reader) {
      this.#reader.chunk(chunk);
      return;
    }
    this.#unread.push(chunk);
    this.#onBegun?.();
    if (this.#size > MOST_UNREAD_BYTES) this.#source.pause();
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

/** What it gives back fails when either part does; an encoding that nobody asked for is left as it is. */
function decoded(message: IncomingMessage, encoding = ''): Readable {
  const make = decoders.get(encoding.trim().toLowerCase());
  return make ? pipeline(message, make(), () => {}) : message;
}
