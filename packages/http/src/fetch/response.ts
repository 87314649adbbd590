// A `Response` over an answer of node:http. Web streams and Headers cost more than the rest of a small call, so they
// are made only when they are used.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

interface ResponseParts {
  url: string;
  redirected: boolean;
  body: Readable | null;
  /** The body is no longer encoded as the headers say. */
  isDecoded: boolean;
}

export type Chunks = AsyncIterable<Uint8Array>;

const BYTE_ORDER_MARK = '\uFEFF';

export class HttpResponse implements Response {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly type = 'default';
  readonly redirected: boolean;
  readonly #message: IncomingMessage;
  readonly #parts: ResponseParts;
  #headers: Headers | undefined;
  #chunks: Chunks | null;
  #isRead = false;
  /** Once a web stream was asked for. */
  #streamed: Response | undefined;

  constructor(message: IncomingMessage, parts: ResponseParts) {
    inheritResponse();
    this.status = message.statusCode ?? 0;
    this.statusText = message.statusMessage ?? '';
    this.url = parts.url;
    this.redirected = parts.redirected;
    this.#message = message;
    this.#parts = parts;
    this.#chunks = parts.body;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): Headers {
    this.#headers ??= this.#makeHeaders();
    return this.#headers;
  }

  /** Passes the body through a generator. Must be called before the body is read. */
  pass(through: (chunks: Chunks) => Chunks): void {
    if (this.#chunks) this.#chunks = through(this.#chunks);
  }

  get body(): Response['body'] {
    return this.#onStream().body;
  }

  get bodyUsed(): boolean {
    return this.#streamed ? this.#streamed.bodyUsed : this.#isRead && this.#parts.body !== null;
  }

  async text(): Promise<string> {
    if (this.#streamed) return this.#streamed.text();
    const text = (await this.#bytes()).toString();
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(this.#streamed ? await this.#streamed.arrayBuffer() : await this.#bytes());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer;
  }

  blob(): Promise<Blob> {
    return this.#onStream().blob();
  }

  formData(): Promise<FormData> {
    return this.#onStream().formData();
  }

  clone(): Response {
    const copy = new HttpResponse(this.#message, this.#parts);
    copy.#headers = new Headers(this.headers);
    copy.#streamed = this.#onStream().clone();
    return copy;
  }

  async #bytes(): Promise<Buffer> {
    if (this.bodyUsed) throw new TypeError('Body is unusable: it has been read already');
    this.#isRead = true;
    const chunks: Uint8Array[] = [];
    if (this.#chunks) for await (const chunk of this.#chunks) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** The body in a built-in Response, whose constructor would refuse some statuses; empty if the body was read. */
  #onStream(): Response {
    const { headers } = this;
    this.#streamed ??= new Response(this.#isRead ? null : this.#stream(), { headers });
    return this.#streamed;
  }

  #stream(): ReadableStream<Uint8Array> | null {
    return this.#chunks ? streamOf(this.#chunks, () => this.#parts.body?.destroy()) : null;
  }

  #makeHeaders(): Headers {
    const headers = new Headers();
    const { rawHeaders } = this.#message;
    for (let index = 0; index < rawHeaders.length; index += 2)
      headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
    if (this.#parts.isDecoded) {
      headers.delete('content-encoding');
      headers.delete('content-length');
    }
    return headers;
  }
}

/** A stream that reads nothing ahead. */
export function streamOf(chunks: Chunks, cancel: (reason: unknown) => unknown): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        await cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

let inherits = false;

/** Makes `instanceof Response` true. Done with the first answer, because Node takes 40 ms to load its `Response`. */
function inheritResponse(): void {
  if (inherits) return;
  inherits = true;
  Object.setPrototypeOf(HttpResponse.prototype, Response.prototype);
}
