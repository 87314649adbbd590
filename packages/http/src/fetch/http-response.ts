// A Response over an answer of node:http. Headers and web streams of their own cost more than the rest of a small call,
// so they are made when they are asked for, and `text`, `json` and `bytes` do without.
import type { IncomingMessage } from 'node:http';
import { rawHeader } from './raw-header.ts';
import type { Body, BodyCheck } from './response-body.ts';

interface ResponseParts {
  url: string;
  redirected: boolean;
  body?: Body | undefined;
}

const BYTE_ORDER_MARK = '\uFEFF';

export class HttpResponse implements Response {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly type = 'default';
  readonly redirected: boolean;
  readonly #message: IncomingMessage;
  readonly #body: Body | undefined;
  #headers: Headers | undefined;
  #isRead = false;
  #streamed: Response | undefined;

  constructor(message: IncomingMessage, { url, redirected, body }: ResponseParts) {
    inheritResponse();
    this.status = message.statusCode ?? 0;
    this.statusText = message.statusMessage ?? '';
    this.url = url;
    this.redirected = redirected;
    this.#message = message;
    this.#body = body;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): Headers {
    this.#headers ??= this.#makeHeaders();
    return this.#headers;
  }

  /** As the header says, without making Headers for it. */
  get contentType(): string | undefined {
    return rawHeader(this.#message, 'content-type');
  }

  /** What has come of the body, once it is more than so many bytes or all of it; it can still be read. */
  async begun(beyond = 0): Promise<Uint8Array> {
    return this.#body && !this.#isRead && !this.#streamed ? this.#body.begun(beyond) : Buffer.alloc(0);
  }

  /** The body, after decompression, fails with the first error that `check` returns for a chunk. */
  limit(check: BodyCheck): void {
    this.#body?.limit(check);
  }

  get body(): Response['body'] {
    return this.#onStream().body;
  }

  get bodyUsed(): boolean {
    return this.#isRead || this.#streamed?.bodyUsed === true;
  }

  async text(): Promise<string> {
    if (this.#streamed) return this.#streamed.text();
    const text = (await this.#read()).toString();
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(this.#streamed ? await this.#streamed.arrayBuffer() : await this.#read());
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
    const { url, redirected } = this;
    const copy = new HttpResponse(this.#message, { url, redirected, body: this.#body });
    copy.#headers = new Headers(this.headers);
    copy.#streamed = this.#onStream().clone();
    return copy;
  }

  #read(): Promise<Buffer> {
    if (!this.#body) return Promise.resolve(Buffer.alloc(0));
    if (this.#isRead) return Promise.reject(new TypeError('Body is unusable: it has been read already'));
    this.#isRead = true;
    return this.#body.whole();
  }

  /** The body in a Response of the platform, without a status it may refuse; one that has been read is empty. */
  #onStream(): Response {
    const { headers } = this;
    this.#streamed ??= new Response(this.#isRead ? null : (this.#body?.stream() ?? null), { headers });
    return this.#streamed;
  }

  #makeHeaders(): Headers {
    const headers = new Headers();
    const { rawHeaders } = this.#message;
    for (let index = 0; index < rawHeaders.length; index += 2)
      headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
    if (this.#body?.isDecoded) {
      headers.delete('content-encoding');
      headers.delete('content-length');
    }
    return headers;
  }
}

let isResponse = false;

/** Makes `instanceof Response` true. With the first answer, because Node takes 40 ms to load its `Response`. */
function inheritResponse(): void {
  if (isResponse) return;
  isResponse = true;
  Object.setPrototypeOf(HttpResponse.prototype, Response.prototype);
}
