// A guarded `fetch`: addresses are checked where they are connected to, and size and time are limited up to the last
// byte of the body. Connections come from node:http Agents, which take about 60 % of the CPU of the built-in fetch.
import { isIP } from 'node:net';
import { isWorker } from '@pocket-agent/kit';
import { Agents, type Target, type TlsOptions } from './agents.ts';
import { Exchange } from './exchange.ts';
import { FetchError } from './fetch-error.ts';
import { isHost } from './host-pattern.ts';
import { isPrivateAddress, lookupPublic, privateAddress } from './public-address.ts';
import { readRequest } from './request.ts';
import { isRedirect, workerFetch } from './worker-fetch.ts';

export { FetchError, type FetchErrorCode } from './fetch-error.ts';
export { isHost } from './host-pattern.ts';
export { withCutStrings } from './json-cutter.ts';
export { isEventStream, limitedResponse, type ResponseLimits } from './limited-response.ts';
export { isPrivateHost, isPublicHost } from './public-address.ts';

export interface FetchOptions {
  /** public (default): refuses private addresses, so that untrusted URLs cannot reach internal servers. */
  guard?: 'public' | 'none';
  /** Hosts that may have a private address: `name`, `name:port`, `*.name` or an address. */
  allowHosts?: readonly string[];
  /** Default refuse. Each is checked like the first address; headers that may hold a secret stay with their origin. */
  redirects?: 'refuse' | 'follow';
  /** From the call to the last byte of the body. Default: only the signal limits the time. */
  timeoutMs?: number;
  /** The largest body, measured after decompression. */
  maxBytes?: number;
  tls?: TlsOptions;
}

export interface HttpFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Ends all connections. */
  close(): void;
}

const MAX_REDIRECTS = 5;

export function makeFetch(options: FetchOptions = {}): HttpFetch {
  const { guard = 'public', allowHosts = [], redirects = 'refuse', tls = {} } = options;
  let agents: Agents | undefined;

  const targetOf = (url: URL): Target => {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new FetchError('SCHEME', `Only http and https are fetched, not ${url.protocol}`);
    if (url.username || url.password) throw new TypeError('A URL with credentials in it is not fetched');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (guard === 'none' || allowHosts.some((allowed) => isHost(allowed, url))) return { url, host };
    if (isWorker())
      throw new FetchError('PRIVATE_ADDRESS', `A Worker cannot check the address of ${host}, so it counts as private`);
    if (isIP(host) && isPrivateAddress(host)) throw privateAddress(host);
    return { url, host, lookup: lookupPublic };
  };

  // most calls go to the same address as the previous one
  let last: Target | undefined;
  const targetAt = (address: string): Target => {
    if (last?.url.href !== address) last = targetOf(new URL(address));
    return last;
  };

  const follow = async (exchange: Exchange, first: Target, mode: RequestInit['redirect']): Promise<Response> => {
    let target = first;
    for (let count = 0; ; count++) {
      agents ??= new Agents({ tls, usesProxy: usesProxy(guard) });
      const message = await exchange.send(target, agents);
      const { url } = target;
      exchange.throwIfEnded();
      const location = isRedirect(message.statusCode) ? message.headers.location : undefined;
      if (location === undefined || (redirects === 'follow' && mode === 'manual'))
        return exchange.respond(message, url);
      exchange.discard(message);
      if (redirects === 'refuse' || mode === 'error')
        throw new FetchError('REDIRECT', `${url.host} redirects, which is not followed`);
      if (count >= MAX_REDIRECTS)
        throw new FetchError('REDIRECT', `${url.host} redirects more than ${MAX_REDIRECTS} times`);
      const next = new URL(location, url);
      exchange.redirect(message.statusCode ?? 0, next.origin === url.origin);
      target = targetOf(next);
    }
  };

  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    const request = input instanceof Request ? input : undefined;
    const target = targetAt(request ? request.url : String(input));
    if (isWorker()) return workerFetch(input, init, options);
    const exchange = new Exchange(readRequest(input, init), options);
    try {
      return await follow(exchange, target, init.redirect ?? request?.redirect ?? 'follow');
    } catch (error) {
      exchange.release();
      throw error;
    }
  };
  return Object.assign(fetch, {
    close() {
      agents?.close();
      agents = undefined;
    },
  });
}

/** A proxy resolves names itself, so it is not used where addresses are checked. */
function usesProxy(guard: 'public' | 'none'): boolean {
  return guard === 'none' && process.env.NODE_USE_ENV_PROXY === '1';
}
