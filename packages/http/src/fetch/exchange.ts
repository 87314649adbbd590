// One call of `fetch`: sends the request, follows redirects, and ends early at an abort or a timeout.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { MAX_TIMER_MS, onAbort } from '@pocket-agent/kit';
import type { Agents, Target } from './agents.ts';
import { Body } from './body.ts';
import type { FetchOptions } from './fetch.ts';
import { FetchError } from './fetch-error.ts';
import type { RequestParts } from './request.ts';
import { HttpResponse } from './response.ts';

/** A discarded body is read up to these limits, so that its connection can be reused. */
const DISCARDED = { bytes: 64 * 1_024, ms: 1_000 };
/** Headers that may be sent to another origin. All others may contain a secret: API keys have many names. */
const KEPT_ACROSS_ORIGINS = /^(accept|accept-.+|content-.+|user-agent|mcp-(protocol-version|method|name))$/;

export class Exchange {
  #method: string;
  readonly #headers: Record<string, string>;
  #sent: RequestParts['body'];
  readonly #options: FetchOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #decodes: boolean;
  #removeListener = () => {};
  #request: ClientRequest | undefined;
  /** The host of the last request, for errors. */
  #host = '';
  #isRedirected = false;
  #isRepeated = false;
  #ended: { reason: unknown } | undefined;
  /** Stops the part that is in progress: the request, or its answer. */
  #stop: (reason: unknown) => void = () => {};

  constructor({ method, headers, body, signal }: RequestParts, options: FetchOptions) {
    this.#method = method;
    this.#headers = headers;
    this.#sent = body;
    this.#options = options;
    this.#decodes = headers['accept-encoding'] === undefined;
    if (this.#decodes) headers['accept-encoding'] = 'gzip, br'; // servers disagree on what "deflate" means
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) {
      const expire = () =>
        this.#end(new FetchError('TIMEOUT', `${this.#host} sent no complete response within ${timeoutMs} ms`));
      this.#timer = setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS));
    }
    if (signal) this.#removeListener = onAbort(signal, (reason) => this.#end(reason));
    if (body instanceof Readable) body.on('error', (error) => this.#end(networkError(error)));
  }

  /** Tries a second time when a kept connection turns out to be closed and the request changes nothing. */
  async send(target: Target, agents: Agents): Promise<IncomingMessage> {
    this.#host = target.url.host;
    if (agents.mayBeClosed(target)) await agents.dropClosed();
    this.throwIfEnded();
    agents.noteUse(target);
    const request = agents.request(target, this.#method, this.#headers);
    this.#request = request;
    try {
      const message = await this.#answerTo(request);
      message.on('close', () => agents.noteUse(target));
      return message;
    } catch (error) {
      this.throwIfEnded();
      if (!agents.isClosed && request.reusedSocket && this.#mayRepeat()) return this.send(target, agents);
      throw error instanceof FetchError ? error : networkError(error);
    }
  }

  /** An abort at the moment of the answer counts: the answer is not read. */
  throwIfEnded(): void {
    if (this.#ended) throw this.#ended.reason;
  }

  respond(message: IncomingMessage, { href: url }: URL): Response {
    const { statusCode: status } = message;
    const parts = { url, redirected: this.#isRedirected };
    if (this.#method === 'HEAD' || status === 204 || status === 205 || status === 304) {
      message.once('close', () => this.release());
      this.discard(message);
      return new HttpResponse(message, { ...parts, body: null });
    }
    return new HttpResponse(message, { ...parts, body: this.#bodyOf(message) });
  }

  /** Reads a small body to its end; of a larger one the connection is closed. */
  discard(message: IncomingMessage): void {
    const request = this.#request;
    let bytes = 0;
    const timer = setTimeout(() => message.destroy(), DISCARDED.ms).unref();
    message.once('close', () => {
      clearTimeout(timer);
      closeIfUnsent(request);
    });
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DISCARDED.bytes) message.destroy();
    });
  }

  /** Changes the request as a redirect with this status requires. */
  redirect(status: number, isSameOrigin: boolean): void {
    this.#isRedirected = true;
    const headers = this.#headers;
    if (!isSameOrigin)
      for (const name of Object.keys(headers)) if (!KEPT_ACROSS_ORIGINS.test(name)) delete headers[name];
    const becomesGet = status === 303 || ((status === 301 || status === 302) && this.#method === 'POST');
    if (!becomesGet) {
      if (this.#sent instanceof Readable)
        throw new FetchError('REDIRECT', 'A streamed request was redirected and cannot be sent again');
      return;
    }
    this.#method = this.#method === 'HEAD' ? 'HEAD' : 'GET';
    this.#sent = undefined;
    for (const name of ['content-type', 'content-length', 'transfer-encoding']) delete headers[name];
  }

  /** Removes the timer and the abort listener. */
  release(): void {
    clearTimeout(this.#timer);
    this.#removeListener();
    this.#stop = () => {};
    this.#sent = undefined;
  }

  #end(reason: unknown): void {
    this.#ended ??= { reason };
    const stop = this.#stop;
    this.release();
    stop(reason);
  }

  #answerTo(request: ClientRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      this.#stop = (reason) => {
        reject(reason);
        request.destroy();
      };
      request.on('error', reject); // after the answer the body has the error
      request.on('close', () => reject(new Error('The connection was closed without an answer')));
      request.on('response', resolve);
      const body = this.#sent;
      if (body instanceof Readable) {
        request.once('close', () => body.destroy());
        body.pipe(request);
      } else request.end(body, 'latin1'); // the encoding of the headers, which are written together with a string
    });
  }

  #bodyOf(message: IncomingMessage): Body {
    const request = this.#request;
    const body = new Body(message, {
      encoding: this.#decodes ? message.headers['content-encoding'] : undefined,
      maxBytes: this.#options.maxBytes,
      onEnd: () => {
        this.release();
        closeIfUnsent(request);
      },
    });
    this.#stop = (reason) => body.destroy(reason);
    return body;
  }

  #mayRepeat(): boolean {
    if (this.#isRepeated || (this.#method !== 'GET' && this.#method !== 'HEAD')) return false;
    this.#isRepeated = true;
    return !(this.#sent instanceof Readable);
  }
}

/**
 * A request that was answered before it was sent whole would keep its connection forever. Over TLS Node reports late
 * that a request was sent.
 */
function closeIfUnsent(request: ClientRequest | undefined): void {
  if (request?.writableFinished === false) setImmediate(() => void (request.writableFinished || request.destroy()));
}

function networkError(cause: unknown): TypeError {
  return new TypeError('fetch failed', { cause });
}
