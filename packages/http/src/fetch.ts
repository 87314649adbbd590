// A `fetch` on node:http: connections are kept, addresses are checked where they are connected to, and size and time
// are bounded to the last byte of the body. It does with less than half the work of the built-in one.
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { type Connections, discard, Exchange } from './exchange.ts';
import { FetchError } from './fetch-error.ts';
import { isPrivateAddress, lookupPublic, privateAddress } from './public-address.ts';
import { readRequest } from './request-parts.ts';
import { notingRest } from './rested-connections.ts';

export { FetchError, type FetchErrorCode } from './fetch-error.ts';
export { HttpResponse } from './http-response.ts';

export interface FetchOptions {
  /** public (default): only addresses that belong to everybody, so that strangers who give URLs reach nothing inside. */
  guard?: 'public' | 'none';
  /** Hosts that may have a private address: `name`, `name:port` or an address. */
  allowHosts?: readonly string[];
  /** Default refuse. Followed ones are checked like the first; to another origin go only headers that hold no secret. */
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
/** So long before a server said that it ends a connection it is given up: news of both may be late. */
const NOT_TO_THE_LAST_MS = 2_000;

export function makeFetch(options: FetchOptions = {}): HttpFetch {
  const {
    guard = 'public',
    allowHosts = [],
    redirects = 'refuse',
    tls = {},
    maxConnections = Number.POSITIVE_INFINITY,
  } = options;
  const pool = {
    keepAlive: true,
    agentKeepAliveTimeoutBuffer: NOT_TO_THE_LAST_MS,
    maxSockets: maxConnections,
    timeout: IDLE_MS,
    ...proxy(guard),
  };
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
    const exchange = new Exchange(readRequest(input, init), options);
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

/** A proxy looks names up by itself, so it is no way out where addresses are checked. */
function proxy(guard: 'public' | 'none'): { proxyEnv?: NodeJS.ProcessEnv } {
  return guard === 'none' && process.env.NODE_USE_ENV_PROXY === '1' ? { proxyEnv: process.env } : {};
}

function isRedirect(status: number | undefined): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}
