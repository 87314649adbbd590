// A `fetch` on node:http: connections are kept, addresses are checked where they are connected to, and size and time
// are bounded to the last byte of the body. It does with less than half the work of the built-in one.
import { isIP } from 'node:net';
import type { Connections, Target, TlsOptions } from './connections.ts';
import { Exchange } from './exchange.ts';
import { FetchError } from './fetch-error.ts';
import { isHost } from './host-pattern.ts';
import { KeptConnections } from './kept-connections.ts';
import { ProxiedConnections } from './proxied-connections.ts';
import { isPrivateAddress, lookupPublic, privateAddress } from './public-address.ts';
import { readRequest } from './request-parts.ts';

export { FetchError, type FetchErrorCode } from './fetch-error.ts';
export { isHost } from './host-pattern.ts';
export { HttpResponse } from './http-response.ts';
export { withCutStrings } from './json-cutter.ts';
export { isEventStream, limitedResponse, type ResponseLimits } from './limited-response.ts';
export { isPublicHost } from './public-address.ts';

export interface FetchOptions {
  /** public (default): only addresses that belong to everybody, so that strangers who give URLs reach nothing inside. */
  guard?: 'public' | 'none';
  /** Hosts that may have a private address: `name`, `name:port`, `*.name` or an address. */
  allowHosts?: readonly string[];
  /** Default refuse. Followed ones are checked like the first; to another origin go only headers that hold no secret. */
  redirects?: 'refuse' | 'follow';
  /** From the call to the last byte of the body. Default: no limit but that of the signal. */
  timeoutMs?: number;
  /** Of the body, after decompression. */
  maxBytes?: number;
  tls?: TlsOptions;
}

export interface HttpFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Ends all connections. */
  close(): void;
}

/** Throws for an address that is not fetched. */
type Begin = (input: string | URL | Request, init?: RequestInit) => BegunFetch;

export interface BegunFetch {
  response: Promise<Response>;
  /** Also the reading of the body. Nothing happens when it is over. */
  end(reason: unknown): void;
}

const begins = new WeakMap<object, Begin>();

/**
 * For who ends a call by a function, as a signal for each is dear. Undefined for a `fetch` that was not made here, also
 * for one that only looks like it: whoever put something around one of ours wants to see what is fetched.
 */
export function beginOf(fetch: object): Begin | undefined {
  return begins.get(fetch);
}

const MOST_REDIRECTS = 5;

export function makeFetch(options: FetchOptions = {}): HttpFetch {
  const { guard = 'public', allowHosts = [], redirects = 'refuse', tls = {} } = options;
  const make = (): Connections => (isProxied(guard) ? new ProxiedConnections(tls) : new KeptConnections(tls));
  let connections = make();

  const targetOf = (url: URL): Target => {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new FetchError('SCHEME', `Only http and https are fetched, not ${url.protocol}`);
    if (url.username || url.password) throw new TypeError('A URL with credentials in it is not fetched');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const isFree = guard === 'none' || allowHosts.some((allowed) => isHost(allowed, url));
    if (!isFree && isIP(host) && isPrivateAddress(host)) throw privateAddress(host);
    const isSecure = url.protocol === 'https:';
    const port = Number(url.port || (isSecure ? 443 : 80));
    const path = url.pathname + url.search;
    const { origin, host: authority } = url;
    return { url, origin, isSecure, authority, host, port, path, ...(isFree ? {} : { lookup: lookupPublic }) };
  };

  // most calls go to the address of the one before, which need not be read again
  let latest: Target | undefined;
  const read = (address: string): Target => {
    if (latest?.url.href !== address) latest = targetOf(new URL(address));
    return latest;
  };

  const answerTo = async (exchange: Exchange, first: Target, mode: RequestInit['redirect']): Promise<Response> => {
    let target = first;
    try {
      for (let count = 0; ; count++) {
        const message = await exchange.send(target, connections);
        const { url } = target;
        exchange.throwIfEnded();
        const location = isRedirect(message.statusCode) ? message.headers.location : undefined;
        if (location === undefined) return exchange.respond(message, url);
        if (redirects === 'follow' && mode === 'manual') return exchange.respond(message, url);
        exchange.discard(message);
        if (redirects === 'refuse' || mode === 'error')
          throw new FetchError('REDIRECT', `${url.host} redirects, which is not followed`);
        if (count >= MOST_REDIRECTS)
          throw new FetchError('REDIRECT', `${url.host} redirects more than ${MOST_REDIRECTS} times`);
        const next = new URL(location, url);
        exchange.redirect(message.statusCode ?? 0, next.origin === target.origin);
        target = targetOf(next);
      }
    } catch (error) {
      exchange.release();
      throw error;
    }
  };
  const begin: Begin = (input, init = {}) => {
    const given = input instanceof Request ? input : undefined;
    const target = read(given ? given.url : String(input));
    const exchange = new Exchange(readRequest(input, init), options);
    const response = answerTo(exchange, target, init.redirect ?? given?.redirect ?? 'follow');
    return { response, end: (reason) => exchange.end(reason) };
  };
  const fetch = async (input: string | URL | Request, init?: RequestInit) => begin(input, init).response;
  begins.set(fetch, begin);
  return Object.assign(fetch, {
    close() {
      connections.close();
      connections = make();
    },
  });
}

/** A proxy looks names up by itself, so it is no way out where addresses are checked. */
function isProxied(guard: 'public' | 'none'): boolean {
  return guard === 'none' && process.env.NODE_USE_ENV_PROXY === '1';
}

function isRedirect(status: number | undefined): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}
