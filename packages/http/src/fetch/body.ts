// The body of a response: decompressed, limited in size, and read ahead so that a small one frees its connection.
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, type Zlib } from 'node:zlib';
import { ByteChunks } from '../byte-chunks.ts';
import { FetchError } from './fetch-error.ts';

interface BodyOptions {
  /** The value of `content-encoding`, if the body is to be decoded. */
  encoding: string | undefined;
  maxBytes: number | undefined;
  /** Called when nothing more is read from the connection. */
  onEnd(): void;
}

/** How much is read ahead of the reader of the body. */
const READ_AHEAD_BYTES = 64 * 1_024;
/** A larger body keeps its connection for this long if it is not read. */
const UNREAD_MS = 30_000;
/** We ask for one. Each can expand a body a thousandfold, and `maxBytes` counts only what the last one returns. */
const MAX_ENCODINGS = 2;

const encodings = new Map<string, () => Transform & Zlib>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

export class Body {
  readonly #message: IncomingMessage;
  readonly #source: Readable;
  readonly #options: BodyOptions;
  /** Arrived, but not read yet. */
  readonly #unread = new ByteChunks();
  #size = 0;
  #hasBeenRead = false;
  #end: { error?: unknown } | undefined;
  /** Wakes up the reader that waits for more. */
  #wake: (() => void) | undefined;
  #unreadTimer: NodeJS.Timeout | undefined;

  constructor(message: IncomingMessage, options: BodyOptions) {
    this.#message = message;
    this.#options = options;
    const decoders = decodersOf(options.encoding);
    this.#source = decoded(message, decoders ?? []);
    this.#source.on('data', (chunk: Buffer) => this.#add(chunk));
    this.#source.on('end', () => this.#finish({}));
    this.#source.on('error', (error: NodeJS.ErrnoException) => {
      const isEmpty = error.code === 'Z_BUF_ERROR' && decoders?.[0]?.bytesWritten === 0;
      this.#finish(isEmpty ? {} : { error: terminated(error) });
    });
    if (!decoders) this.destroy(terminated(new Error(`The answer has more than ${MAX_ENCODINGS} encodings`)));
  }

  /** Whether the chunks are no longer encoded as they were sent. */
  get isDecoded(): boolean {
    return this.#source !== this.#message;
  }

  /** The next chunk, or undefined at the end. Only one reader may wait at a time. */
  async read(): Promise<Uint8Array | undefined> {
    while (this.#unread.byteLength === 0 && !this.#end) {
      this.#source.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#hasBeenRead = true;
    const chunk = this.#unread.shift();
    if (chunk) return chunk;
    if (this.#end && 'error' in this.#end) throw this.#end.error;
    return undefined;
  }

  /** Stops decoding and closes the connection; reading then fails with the error. Nothing happens at the end. */
  destroy(error: unknown): void {
    if (this.#end) return;
    this.#unread.clear();
    this.#finish({ error });
    this.#source.destroy();
    this.#message.destroy();
  }

  #add(chunk: Buffer): void {
    if (this.#end) return;
    this.#size += chunk.byteLength;
    const { maxBytes } = this.#options;
    if (maxBytes !== undefined && this.#size > maxBytes) {
      this.destroy(new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`));
      return;
    }
    this.#unread.push(chunk);
    if (this.#wake) this.#wakeReader();
    else if (this.#unread.byteLength > READ_AHEAD_BYTES) this.#pause();
  }

  #pause(): void {
    this.#source.pause();
    if (!this.#hasBeenRead) this.#unreadTimer ??= setTimeout(() => this.#closeUnread(), UNREAD_MS).unref();
  }

  #closeUnread(): void {
    if (this.#hasBeenRead) return;
    const text = `The body was not read within ${UNREAD_MS} ms, so its connection was closed`;
    this.destroy(new FetchError('TIMEOUT', text));
  }

  #finish(end: { error?: unknown }): void {
    if (this.#end) return;
    this.#end = end;
    clearTimeout(this.#unreadTimer);
    this.#options.onEnd();
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** The decoders in order; an empty list for an unknown encoding, undefined for more than MAX_ENCODINGS encodings. */
function decodersOf(encoding: string | undefined): (Transform & Zlib)[] | undefined {
  if (encoding === undefined) return [];
  const makers = encoding.split(',').map((name) => encodings.get(name.trim().toLowerCase()));
  if (!makers.every((make) => make !== undefined)) return [];
  return makers.length > MAX_ENCODINGS ? undefined : makers.reverse().map((make) => make());
}

function decoded(message: IncomingMessage, decoders: readonly Transform[]): Readable {
  const last = decoders.at(-1);
  if (!last) return message;
  pipeline([message, ...decoders], () => {}); // the last one emits the errors of all
  return last;
}

function terminated(cause: Error): TypeError {
  return new TypeError('terminated', { cause });
}
