// A `Response` over an answer of node:http. Web streams and Headers cost more than the rest of a small call, so they
// are made only when they are used.
import type { IncomingMessage } from 'node:http';
import { TimeSlices } from '@pocket-agent/kit';
import { ByteChunks } from '../byte-chunks.ts';
import type { Body } from './body.ts';

interface ResponseParts {
  url: string;
  redirected: boolean;
  body: Body | null;
}

/** Splits a chunk into the pieces that are passed on; throws to refuse it. */
export type Split = (chunk: Uint8Array) => Iterable<Uint8Array>;
/** Returns the next chunk, or undefined at the end. */
type ReadChunk = () => Promise<Uint8Array | undefined>;

const BYTE_ORDER_MARK = '\uFEFF';

export class HttpResponse implements Response {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly type = 'default';
  readonly redirected: boolean;
  readonly #message: IncomingMessage;
  readonly #parts: ResponseParts;
  #read: ReadChunk;
  #headers: Headers | undefined;
  /** The body has been read, or is being read. */
  #isUsed = false;
  #stream: ReadableStream<Uint8Array> | undefined;
  /** In place of the body, for methods of the built-in Response and for clones. */
  #builtIn: Response | undefined;

  constructor(message: IncomingMessage, parts: ResponseParts) {
    inheritResponse();
    this.status = message.statusCode ?? 0;
    this.statusText = message.statusMessage ?? '';
    this.url = parts.url;
    this.redirected = parts.redirected;
    this.#message = message;
    this.#parts = parts;
    const { body } = parts;
    this.#read = () => body?.read() ?? Promise.resolve(undefined);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): Headers {
    this.#headers ??= this.#makeHeaders();
    return this.#headers;
  }

  /** Passes the chunks of the body through `split`. Must be called before the body is read. */
  passThrough(split: Split): void {
    this.#read = splitting(this.#read, split, (error) => this.#parts.body?.destroy(error));
  }

  get body(): Response['body'] {
    if (this.#builtIn) return this.#builtIn.body;
    const { body } = this.#parts;
    if (!body || (this.#isUsed && !this.#stream)) return null;
    this.#stream ??= streamOf(
      () => {
        this.#isUsed = true;
        return this.#read();
      },
      () => {
        this.#isUsed = true;
        body.destroy(new Error('The body was cancelled'));
      },
    );
    return this.#stream as Response['body'];
  }

  get bodyUsed(): boolean {
    return this.#builtIn ? this.#builtIn.bodyUsed : this.#isUsed && this.#parts.body !== null;
  }

  async text(): Promise<string> {
    const text = (await this.#bytes()).toString();
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await this.#bytes());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer;
  }

  blob(): Promise<Blob> {
    return this.#asBuiltIn().blob();
  }

  formData(): Promise<FormData> {
    return this.#asBuiltIn().formData();
  }

  clone(): Response {
    const copy = new HttpResponse(this.#message, this.#parts);
    copy.#headers = new Headers(this.headers);
    copy.#builtIn = this.#asBuiltIn().clone();
    return copy;
  }

  async #bytes(): Promise<Buffer> {
    if (this.#builtIn) return Buffer.from(await this.#builtIn.arrayBuffer());
    if (this.bodyUsed || this.#stream?.locked) throw new TypeError('Body is unusable: it has been read already');
    this.#isUsed = true;
    const chunks = new ByteChunks();
    for (let chunk = await this.#read(); chunk; chunk = await this.#read()) chunks.push(chunk);
    return chunks.concat();
  }

  /** Without the status, since the constructor refuses some. */
  #asBuiltIn(): Response {
    this.#builtIn ??= new Response(this.body, { headers: this.headers });
    return this.#builtIn;
  }

  #makeHeaders(): Headers {
    const headers = new Headers();
    const { rawHeaders } = this.#message;
    for (let index = 0; index < rawHeaders.length; index += 2)
      headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
    if (this.#parts.body?.isDecoded) {
      headers.delete('content-encoding');
      headers.delete('content-length');
    }
    return headers;
  }
}

/** A stream that reads nothing ahead. */
export function streamOf(read: ReadChunk, cancel: (reason: unknown) => unknown): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await read();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
      async cancel(reason) {
        await cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Reads pieces of chunks, and lets other work run in between when that takes long. */
export function splitting(read: ReadChunk, split: Split, onRefused: (error: unknown) => void): ReadChunk {
  let pieces: Iterator<Uint8Array> | undefined;
  const slices = new TimeSlices();
  return async () => {
    if (slices.isOver) await slices.next();
    try {
      for (;;) {
        const next = pieces?.next();
        if (next && !next.done) return next.value;
        const chunk = await read();
        if (!chunk) return undefined;
        pieces = split(chunk)[Symbol.iterator]();
      }
    } catch (error) {
      onRefused(error);
      throw error;
    }
  };
}

let inherits = false;

/** Makes `instanceof Response` true. Done with the first answer, because Node takes 40 ms to load its `Response`. */
function inheritResponse(): void {
  if (inherits) return;
  inherits = true;
  Object.setPrototypeOf(HttpResponse.prototype, Response.prototype);
}
