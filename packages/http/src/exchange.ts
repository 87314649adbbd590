// One call of fetch: what is sent, what comes back, and what ends it early.
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { FetchError } from './fetch-error.ts';
import { Incoming } from './incoming.ts';

export interface Outgoing {
  method: string;
  /** By names in lower case. */
  headers: Record<string, string>;
  body: string | Uint8Array | Readable | undefined;
  signal: AbortSignal | undefined;
}

export interface ExchangeLimits {
  /** From the call to the last byte of the body. Default: no limit but that of the signal, and 10 seconds to connect. */
  timeoutMs?: number;
  /** Of the body, after decompression. */
  maxBytes?: number;
}

/** Any other header may hold a secret: an API key goes by many names. */
const KEPT_ACROSS = /^(accept|accept-.+|content-.+|user-agent|mcp-(protocol-version|method|name))$/;

export class Exchange {
  readonly #outgoing: Outgoing;
  readonly #maxBytes: number | undefined;
  readonly #decodes: boolean;
  readonly #timer: NodeJS.Timeout | undefined;
  #incoming: Incoming | undefined;
  #ended: { reason: unknown } | undefined;

  constructor(outgoing: Outgoing, { timeoutMs, maxBytes }: ExchangeLimits) {
    const { headers, signal } = outgoing;
    this.#outgoing = outgoing;
    this.#maxBytes = maxBytes;
    this.#decodes = headers['accept-encoding'] === undefined;
    if (this.#decodes) headers['accept-encoding'] = 'gzip, deflate, br';
    if (timeoutMs !== undefined) {
      const late = () => this.#end(new FetchError('TIMEOUT', `No whole answer within ${timeoutMs} ms`));
      this.#timer = setTimeout(late, timeoutMs);
    }
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Resolves when the head of the answer is there. */
  async send(dispatcher: Dispatcher, { origin, pathname, search }: URL): Promise<Incoming> {
    if (this.#ended) throw this.#ended.reason;
    const { headers, body = null } = this.#outgoing;
    const method = this.#outgoing.method as Dispatcher.HttpMethod;
    const incoming = new Incoming({
      isBodiless: method === 'HEAD',
      decodes: this.#decodes,
      maxBytes: this.#maxBytes,
      over: () => this.release(),
    });
    this.#incoming = incoming;
    dispatcher.dispatch({ origin, path: pathname + search, method, headers, body }, incoming);
    await incoming.head;
    return incoming;
  }

  /** What is sent after an answer that redirects. */
  redirect(status: number, isSameOrigin: boolean): void {
    const outgoing = this.#outgoing;
    const { headers, method, body } = outgoing;
    if (!isSameOrigin) for (const name of Object.keys(headers)) if (!KEPT_ACROSS.test(name)) delete headers[name];
    const becomesGet = status === 303 || ((status === 301 || status === 302) && method === 'POST');
    if (!becomesGet) {
      if (body instanceof Readable)
        throw new FetchError('REDIRECT', 'A streamed request was redirected and cannot be sent again');
      return;
    }
    outgoing.method = method === 'HEAD' ? 'HEAD' : 'GET';
    outgoing.body = undefined;
    delete headers['content-type'];
    delete headers['content-length'];
  }

  /** Nothing ends it any more. */
  release(): void {
    clearTimeout(this.#timer);
    this.#outgoing.signal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = () => this.#end(this.#outgoing.signal?.reason);

  #end(reason: unknown): void {
    this.#ended ??= { reason };
    this.release();
    this.#incoming?.end(reason);
  }
}
