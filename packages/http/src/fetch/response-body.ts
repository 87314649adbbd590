// The body of an answer: decompressed, bounded, and failed when the exchange is. It is read as it arrives, so that a
// connection does not wait for somebody who only wanted the status; a web stream is made only when one is asked for.
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, type Zlib } from 'node:zlib';
import { FetchError } from './fetch-error.ts';

/** The error that ends the body, or undefined to read on. */
export type BodyCheck = (chunk: Uint8Array) => Error | undefined;

interface BodyOptions {
  encoding: string | undefined;
  maxBytes: number | undefined;
  /** Called once, when there is nothing more to read. */
  over(): void;
}

/** Who reads a body: all that arrived before comes at once. */
interface Reader {
  chunk(chunk: Buffer): void;
  end(): void;
  fail(error: unknown): void;
  /** Somebody has begun to read, who may take as long as they like. */
  hasBegun(): boolean;
}

/** So much is kept of a body that nobody reads yet. */
const MOST_UNREAD_BYTES = 64 * 1_024;
/** So long a larger one keeps its connection. */
const UNREAD_MS = 30_000;
/** We ask for two. Each lets a body grow a thousandfold and more, and `maxBytes` counts only what the last gives. */
const MOST_ENCODINGS = 2;

const decoders = new Map<string, () => Transform & Zlib>([
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
  #unreadTimer: NodeJS.Timeout | undefined;
  #check: BodyCheck | undefined;

  constructor(message: IncomingMessage, options: BodyOptions) {
    this.#message = message;
    this.#options = options;
    const steps = decodersOf(options.encoding);
    const first = steps?.[0];
    this.#source = steps && first ? decoded(message, steps) : message;
    this.#source.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#source.on('end', () => this.#finish({}));
    this.#source.on('error', (error: NodeJS.ErrnoException) => {
      const isEmpty = error.code === 'Z_BUF_ERROR' && first?.bytesWritten === 0;
      this.#finish(isEmpty ? {} : { error: terminated(error) });
    });
    if (!steps) this.fail(terminated(new Error(`The answer has more than ${MOST_ENCODINGS} encodings`)));
  }

  /** Whether what is read is no longer what was sent. */
  get isDecoded(): boolean {
    return this.#source !== this.#message;
  }

  /** Fails with the first error that `check` returns for a chunk. */
  limit(check: BodyCheck): void {
    this.#check = check;
    const error = this.#unread.map(check).find((found) => found !== undefined);
    if (error && this.#outcome) this.#outcome = { error };
    else this.#failIf(error);
  }

  /** Everything, when it has come. */
  whole(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    return new Promise((resolve, reject) => {
      this.#readBy({
        chunk: (chunk) => void chunks.push(chunk),
        end: () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
        fail: reject,
        hasBegun: () => true,
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
    let arrived = 0;
    return new ReadableStream<Uint8Array>({
      start: (controller) =>
        this.#readBy({
          chunk: (chunk) => {
            arrived++;
            controller.enqueue(chunk);
            if ((controller.desiredSize ?? 0) <= 0) this.#pause();
          },
          end: () => controller.close(),
          fail: (error) => controller.error(error),
          // a stream wants one chunk: what it wants less is what nobody has taken
          hasBegun: () => arrived > 1 - (controller.desiredSize ?? 1),
        }),
      pull: () => this.#resume(),
      cancel: () => this.cancel(),
    });
  }

  cancel(): void {
    this.#reader = undefined;
    this.#finish({});
    this.#destroy();
  }

  /** The exchange is over: what has come is not all there was, and nobody gets it for the whole. */
  fail(error: unknown): void {
    if (this.#outcome) return;
    this.#unread = [];
    this.#finish({ error });
    this.#destroy();
  }

  /** Of a message that has come whole nothing else would stop the decoders; the last one takes the others with it. */
  #destroy(): void {
    this.#source.destroy();
    this.#message.destroy();
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
      this.fail(new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`));
      return;
    }
    if (this.#failIf(this.#check?.(chunk))) return;
    if (this.#reader) {
      this.#reader.chunk(chunk);
      return;
    }
    this.#unread.push(chunk);
    this.#onBegun?.();
    if (this.#size > MOST_UNREAD_BYTES) this.#pause();
  }

  #failIf(error: Error | undefined): boolean {
    if (error) this.fail(error);
    return error !== undefined;
  }

  #pause(): void {
    this.#source.pause();
    clearTimeout(this.#unreadTimer);
    if (this.#reader?.hasBegun()) return;
    const text = `Nobody read the answer within ${UNREAD_MS} ms, so its connection was ended`;
    const late = () => this.#reader?.hasBegun() || this.fail(new FetchError('TIMEOUT', text));
    this.#unreadTimer = setTimeout(late, UNREAD_MS).unref();
  }

  #resume(): void {
    clearTimeout(this.#unreadTimer);
    this.#source.resume();
  }

  #finish(outcome: { error?: unknown }): void {
    if (this.#outcome) return;
    this.#outcome = outcome;
    clearTimeout(this.#unreadTimer);
    this.#options.over();
    this.#onBegun?.();
    if (this.#reader) settle(this.#reader, outcome);
    this.#reader = undefined; // its connection remembers this body until the next request
  }
}

function settle(reader: Reader, outcome: { error?: unknown }): void {
  if ('error' in outcome) reader.fail(outcome.error);
  else reader.end();
}

/**
 * In the order in which they undo what was done; none for an encoding that nobody asked for, which is left as it is.
 * Undefined where there are more of them than are undone.
 */
function decodersOf(encoding: string | undefined): (Transform & Zlib)[] | undefined {
  if (encoding === undefined) return [];
  const makers = encoding.split(',').map((name) => decoders.get(name.trim().toLowerCase()));
  if (!makers.every((make) => make !== undefined)) return [];
  return makers.length > MOST_ENCODINGS ? undefined : makers.reverse().map((make) => make());
}

function terminated(cause: Error): TypeError {
  return new TypeError('terminated', { cause });
}

/** What it gives back fails when any part does. */
function decoded(message: IncomingMessage, steps: readonly Transform[]): Readable {
  pipeline([message, ...steps], () => {});
  return steps.at(-1) ?? message;
}
