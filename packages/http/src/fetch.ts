// A `fetch` on node:http: connections are kept, addresses are checked where they are connected to, and size and time
// are bounded to the last byte of the body. It does with less than half the work of the built-in one.
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { FetchError } from './fetch-error.ts';
import { HttpResponse } from './http-response.ts';
import { isPrivateAddress, lookupPublic, privateAddress } from './public-address.ts';
import { Body } from './response-body.ts';

export { FetchError, type FetchErrorCode } from './fetch-error.ts';
export { HttpResponse } from './http-response.ts';

export interface FetchOptions {
  /** public (default): only addresses that belong to everybody, so that strangers who give URLs reach nothing inside. */
  guard?: 'public' | 'none';
  /** Hosts that may have a private address: `name`, `name:port` or an address. */
  allowHosts?: readonly string[];
  /** Default refuse. Followed ones are checked like the first, and to another origin carry no headers of your own. */
  redirects?: 'refuse' | 'follow';
  /** From the call to the last byte of the body. Default: no limit but that of the signal. */
  timeoutMs?: number;
  /** Of the body, after decompression. */
  maxBytes?: number;
  /** Certificates to trust instead of the usual ones; whether to check at all. */
  tls?: { ca?: string | readonly string[]; rejectUnauthorized?: boolean };
  /** Connections to one host. Default: no limit. */
  maxConnections?: number;
}

export interface HttpFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Ends all connections. */
  close(): void;
}

const MOST_REDIRECTS = 5;
const IDLE_MS = 30_000;
/** After so long without a request a server may have ended a connection. */
const REST_MS = 5;
/** What is worth reading of a body that nobody wants, so that its connection serves again. */
const DISCARDED = { bytes: 64 * 1_024, ms: 1_000 };
/** Any other header may hold a secret: an API key goes by many names. */
const KEPT_ACROSS = /^(accept|accept-.+|content-.+|user-agent|mcp-(protocol-version|method|name))$/;

export function makeFetch(options: FetchOptions = {}): HttpFetch {
  const {
    guard = 'public',
    allowHosts = [],
    redirects = 'refuse',
    tls = {},
    maxConnections = Number.POSITIVE_INFINITY,
  } = options;
  const pool = { keepAlive: true, maxSockets: maxConnections, timeout: IDLE_MS, ...proxy(guard) };
  const { ca, rejectUnauthorized = true } = tls;
  const agents = {
    http: notingRest(new HttpAgent(pool)),
    https: notingRest(new HttpsAgent({ ...pool, rejectUnauthorized, ...(ca ? { ca: [...[ca].flat()] } : {}) })),
  };
  const allowed = new Set(allowHosts.map((host) => host.toLowerCase()));
  let connections: Connections = { areClosed: false };

  const open = (url: URL, exchange: Exchange): Promise<IncomingMessage> => {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new FetchError('SCHEME', `Only http and https are fetched, not ${url.protocol}`);
    if (url.username || url.password) throw new TypeError('A URL with credentials in it is not fetched');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const isFree = guard === 'none' || allowed.has(host) || allowed.has(url.host);
    if (!isFree && isIP(host) && isPrivateAddress(host)) throw privateAddress(host);
    const { method, headers } = exchange;
    const { port, pathname, search } = url;
    const lookup = isFree ? {} : { lookup: lookupPublic };
    // from a URL object node:http would make the same, at twice the cost of all else here
    const target = { host, port, path: pathname + search, method, headers, ...lookup };
    const connect = () =>
      url.protocol === 'https:'
        ? requestHttps({ ...target, agent: agents.https })
        : requestHttp({ ...target, agent: agents.http });
    return exchange.send(connect, connections);
  };

  // most calls go to the address of the one before, which need not be read again
  let latest: URL | undefined;
  const read = (address: string): URL => {
    if (latest?.href !== address) latest = new URL(address);
    return latest;
  };

  const fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    let url = read(input instanceof Request ? input.url : String(input));
    const exchange = prepare(input, init, options);
    try {
      for (let count = 0; ; count++) {
        const message = await open(url, exchange);
        exchange.throwIfEnded();
        const { location } = message.headers;
        if (!isRedirect(message.statusCode) || location === undefined) return exchange.respond(message, url);
        const mode = init.redirect ?? (input instanceof Request ? input.redirect : 'follow');
        if (redirects === 'follow' && mode === 'manual') return exchange.respond(message, url);
        discard(message);
        if (redirects === 'refuse' || mode === 'error')
          throw new FetchError('REDIRECT', `${url.host} redirects, which is not followed`);
        if (count >= MOST_REDIRECTS)
          throw new FetchError('REDIRECT', `${url.host} redirects more than ${MOST_REDIRECTS} times`);
        const next = new URL(location, url);
        exchange.redirect(message.statusCode ?? 0, next.origin === url.origin);
        url = next;
      }
    } catch (error) {
      exchange.release();
      throw error;
    }
  };
  return Object.assign(fetch, {
    close() {
      connections.areClosed = true;
      connections = { areClosed: false };
      agents.http.destroy();
      agents.https.destroy();
    },
  });
}

/** Those between two calls of `close`. */
interface Connections {
  areClosed: boolean;
}

/** One call: what is sent, and what ends it early. */
class Exchange {
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

  constructor(parts: ExchangeParts, options: FetchOptions) {
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
      const late = () => this.#end(new FetchError('TIMEOUT', `No whole answer within ${timeoutMs} ms`));
      this.#timer = setTimeout(late, timeoutMs);
    }
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Connects once more when a kept connection turns out to have ended and nothing can happen twice. */
  send(connect: () => ClientRequest, connections: Connections): Promise<IncomingMessage> {
    const request = connect();
    this.#request = request;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      let isWaiting = true;
      let isWritten = false;
      const fail = (error: Error) => {
        if (!isWaiting) return;
        isWaiting = false;
        const isOver = this.#ended !== undefined || connections.areClosed;
        if (!isOver && request.reusedSocket && this.#mayRepeat(isWritten)) resolve(this.send(connect, connections));
        else reject(error instanceof FetchError ? error : networkError(error));
      };
      const write = () => {
        if (!isWaiting) return;
        isWritten = true;
        const body = this.#sent;
        if (body instanceof Readable) body.once('error', (error) => request.destroy(error)).pipe(request);
        else request.end(body);
      };
      request.on('error', fail); // after the answer the body tells
      request.on('close', () => {
        if (isWaiting) fail(new Error('The connection was closed without an answer')); // as after a 101
      });
      request.on('response', (message) => {
        isWaiting = false;
        resolve(message);
      });
      if (rested.has(request))
        setImmediate(write); // by then is heard whether the server has ended it
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
      discard(message);
      return new HttpResponse(message, { url: url.href, redirected: this.#isRedirected });
    }
    const body = new Body(message, {
      encoding: this.#decodes ? message.headers['content-encoding'] : undefined,
      maxBytes: this.#options.maxBytes,
      over: () => this.release(),
    });
    this.#body = body;
    return new HttpResponse(message, { url: url.href, redirected: this.#isRedirected, body });
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
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = () => this.#end(this.#signal?.reason);

  #end(reason: unknown): void {
    this.#ended ??= { reason };
    this.release();
    this.#reject?.(reason);
    this.#body?.fail(reason); // before the request is destroyed, which ends a message that has come as if it were read
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

interface ExchangeParts {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | Readable | undefined;
  signal: AbortSignal | undefined;
}

function prepare(input: string | URL | Request, init: RequestInit, options: FetchOptions): Exchange {
  const given = input instanceof Request ? input : undefined;
  const signal = init.signal ?? given?.signal;
  signal?.throwIfAborted();
  const headers = headersOf(init.headers ?? given?.headers);
  const method = (init.method ?? given?.method ?? 'GET').toUpperCase();
  const body = readBody(init.body ?? given?.body ?? undefined, headers);
  return new Exchange({ method, headers, body, signal }, options);
}

/** By names in lower case. What a plain object holds is checked by node:http, so the built-in Headers can be spared. */
function headersOf(asked: RequestInit['headers']): Record<string, string> {
  const headers: Record<string, string> = {};
  if (isPlainObject(asked)) {
    for (const [key, value] of Object.entries(asked)) {
      const name = key.toLowerCase();
      const text = `${value}`.replace(AROUND, '');
      headers[name] = headers[name] === undefined ? text : `${headers[name]}, ${text}`;
    }
    return headers;
  }
  new Headers(asked).forEach((value, name) => {
    headers[name] = value;
  });
  return headers;
}

/** White space that HTTP has around a value. */
const AROUND = /^[\t\n\r ]+|[\t\n\r ]+$/g;

function isPlainObject(asked: RequestInit['headers']): asked is Record<string, string> {
  return asked !== undefined && Object.getPrototypeOf(asked) === Object.prototype;
}

function readBody(body: RequestInit['body'] | undefined, headers: Record<string, string>): ExchangeParts['body'] {
  // how long a body is we know ourselves: the rest of one that is longer would be read as another request
  if (headers['content-length'] !== undefined) delete headers['content-length'];
  if (headers['transfer-encoding'] !== undefined) delete headers['transfer-encoding'];
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    if (typeof body === 'string') headers['content-type'] ??= 'text/plain;charset=UTF-8';
    headers['content-length'] = String(Buffer.byteLength(body));
    return body;
  }
  if (body instanceof Readable) return body;
  // forms, blobs and streams: the built-in Response knows how they are written
  const written = new Response(body);
  const type = written.headers.get('content-type');
  if (type !== null) headers['content-type'] ??= type;
  return written.body ? Readable.fromWeb(written.body) : undefined;
}

/** Requests on connections that have rested for a while. */
const rested = new WeakSet<ClientRequest>();

function notingRest<Kind extends HttpAgent>(agent: Kind): Kind {
  const since = new WeakMap<object, number>();
  const { keepSocketAlive, reuseSocket } = agent;
  agent.keepSocketAlive = (socket) => {
    since.set(socket, performance.now());
    return keepSocketAlive.call(agent, socket);
  };
  agent.reuseSocket = (socket, request) => {
    if (performance.now() - (since.get(socket) ?? 0) > REST_MS) rested.add(request);
    reuseSocket.call(agent, socket, request);
  };
  return agent;
}

/** Reads a small body to its end; any other is broken off, with its connection. */
function discard(message: IncomingMessage): void {
  let bytes = 0;
  const timer = setTimeout(() => message.destroy(), DISCARDED.ms).unref();
  message.once('close', () => clearTimeout(timer));
  message.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DISCARDED.bytes) message.destroy();
  });
}

/** A proxy looks names up by itself, so it is no way out where addresses are checked. */
function proxy(guard: 'public' | 'none'): { proxyEnv?: NodeJS.ProcessEnv } {
  return guard === 'none' && process.env.NODE_USE_ENV_PROXY === '1' ? { proxyEnv: process.env } : {};
}

function isRedirect(status: number | undefined): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

function networkError(error: Error): TypeError {
  return new TypeError('fetch failed', { cause: error });
}
