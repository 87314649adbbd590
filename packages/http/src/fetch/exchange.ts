// One call of `fetch`: what is sent, the answer to it, and what ends it early.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { type Connections, hasRested, isSpokenOn, type Target } from './connections.ts';
import type { FetchOptions } from './fetch.ts';
import { FetchError } from './fetch-error.ts';
import { HttpResponse } from './http-response.ts';
import { rawHeader } from './raw-header.ts';
import type { RequestParts } from './request-parts.ts';
import { Body } from './response-body.ts';

/** What is worth reading of a body that nobody wants, so that its connection serves again. */
const DISCARDED = { bytes: 64 * 1_024, ms: 1_000 };
/** Any other header may hold a secret: an API key goes by many names. */
const KEPT_ACROSS = /^(accept|accept-.+|content-.+|user-agent|mcp-(protocol-version|method|name))$/;

export class Exchange {
  method: string;
  headers: Record<string, string>;
  #sent: string | Uint8Array | Readable | undefined;
  readonly #options: FetchOptions;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #decodes: boolean;
  #request: ClientRequest | undefined;
  /** Refuses whoever waits for the answer. */
  #reject: ((reason: unknown) => void) | undefined;
  #body: Body | undefined;
  #isRedirected = false;
  #isRepeated = false;
  #ended: { reason: unknown } | undefined;

  constructor(parts: RequestParts, options: FetchOptions) {
    const { method, headers, body, signal } = parts;
    this.method = method;
    this.headers = headers;
    this.#sent = body;
    this.#options = options;
    this.#signal = signal;
    this.#decodes = headers['accept-encoding'] === undefined;
    if (this.#decodes) headers['accept-encoding'] = 'gzip, br'; // what "deflate" means servers do not agree on
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) {
      const late = () => this.end(new FetchError('TIMEOUT', `No whole answer within ${timeoutMs} ms`));
      this.#timer = setTimeout(late, timeoutMs);
    }
    signal?.addEventListener('abort', this.#abort, { once: true });
    if (body instanceof Readable) body.on('error', (error) => this.end(networkError(error)));
  }

  /** Connects once more when a kept connection turns out to have ended and nothing can happen twice. */
  send(target: Target, connections: Connections): Promise<IncomingMessage> {
    const request = connections.request(target, this.method, this.headers);
    this.#request = request;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      let isWaiting = true;
      let isWritten = false;
      const fail = (error: Error) => {
        if (!isWaiting) return;
        isWaiting = false;
        const isOver = this.#ended !== undefined || connections.areClosed;
        if (!isOver && request.reusedSocket && this.#mayRepeat(isWritten)) resolve(this.send(target, connections));
        else reject(error instanceof FetchError ? error : networkError(error));
      };
      const write = () => {
        if (!isWaiting) return;
        if (isSpokenOn(request)) {
          request.destroy(tooEarly());
          return;
        }
        isWritten = true;
        const body = this.#sent;
        if (body instanceof Readable) {
          request.once('close', () => body.destroy());
          body.pipe(request);
        } else request.end(body, 'latin1'); // as the headers are, which are written together with text
      };
      request.on('error', fail); // after the answer the body tells
      request.on('close', () => {
        if (isWaiting) fail(new Error('The connection was closed without an answer')); // as after a 101
      });
      request.on('response', (message) => {
        if (!isWritten) {
          request.destroy(tooEarly());
          return;
        }
        isWaiting = false;
        resolve(message);
      });
      // the first may come before anything is read; by the second is heard whether the server has ended it
      if (hasRested(request)) setImmediate(() => setImmediate(write));
      else write();
    });
  }

  /** An answer that came at the same moment is not whole any more. */
  throwIfEnded(): void {
    if (this.#ended) throw this.#ended.reason;
  }

  respond(message: IncomingMessage, url: URL): Response {
    const status = message.statusCode;
    if (this.method === 'HEAD' || status === 204 || status === 205 || status === 304) {
      message.once('close', () => this.release());
      this.discard(message);
      return new HttpResponse(message, { url: url.href, redirected: this.#isRedirected });
    }
    const body = new Body(message, {
      encoding: this.#decodes ? rawHeader(message, 'content-encoding') : undefined,
      maxBytes: this.#options.maxBytes,
      over: () => {
        this.release();
        breakOffUnsent(this.#request);
      },
    });
    this.#body = body;
    return new HttpResponse(message, { url: url.href, redirected: this.#isRedirected, body });
  }

  /** Reads a small body to its end; any other is broken off, with its connection. */
  discard(message: IncomingMessage): void {
    const request = this.#request;
    let bytes = 0;
    const timer = setTimeout(() => message.destroy(), DISCARDED.ms).unref();
    message.once('close', () => {
      clearTimeout(timer);
      breakOffUnsent(request);
    });
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DISCARDED.bytes) message.destroy();
    });
  }

  redirect(status: number, isSameOrigin: boolean): void {
    this.#isRedirected = true;
    if (!isSameOrigin)
      for (const name of Object.keys(this.headers)) if (!KEPT_ACROSS.test(name)) delete this.headers[name];
    const becomesGet = status === 303 || ((status === 301 || status === 302) && this.method === 'POST');
    if (!becomesGet) {
      if (this.#sent instanceof Readable)
        throw new FetchError('REDIRECT', 'A streamed request was redirected and cannot be sent again');
      return;
    }
    this.method = this.method === 'HEAD' ? 'HEAD' : 'GET';
    this.#sent = undefined;
    delete this.headers['content-type'];
    delete this.headers['content-length'];
    delete this.headers['transfer-encoding'];
  }

  /** Nothing will be sent again. */
  release(): void {
    this.#sent = undefined; // a kept connection remembers its latest request
    this.#body = undefined;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = () => this.end(this.#signal?.reason);

  /** Breaks it off, wherever it is; nothing when it is over. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    const body = this.#body;
    this.release();
    this.#reject?.(reason);
    body?.fail(reason); // before the request is destroyed, which ends a message that has come as if it were read
    this.#request?.destroy();
  }

  /** What was never written has reached nobody. Beyond that only what changes nothing is sent again, and once. */
  #mayRepeat(isWritten: boolean): boolean {
    if (!isWritten) return true;
    if (this.#isRepeated || (this.method !== 'GET' && this.method !== 'HEAD')) return false;
    this.#isRepeated = true;
    return !(this.#sent instanceof Readable);
  }
}

/** What is answered before it is sent would keep its connection for ever. Over TLS it is heard late that it was sent. */
function breakOffUnsent(request: ClientRequest | undefined): void {
  if (request?.writableFinished === false) setImmediate(() => void (request.writableFinished || request.destroy()));
}

function tooEarly(): Error {
  return new Error('The server answered before it was asked');
}

function networkError(error: Error): TypeError {
  return new TypeError('fetch failed', { cause: error });
}
