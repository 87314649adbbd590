// The connection pools of one `fetch`: keep-alive Agents of node:http and node:https.
import type { ClientRequest, Agent as HttpAgent, RequestOptions } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import { nextTurn } from '@pocket-agent/kit';

export interface TlsOptions {
  /** Certificates to trust instead of the usual ones. */
  ca?: string | readonly string[];
  /** Whether to check certificates at all. */
  rejectUnauthorized?: boolean;
}

/** Where a request goes. */
export interface Target {
  url: URL;
  /** Without the brackets of an IPv6 address. */
  host: string;
  /** Resolves the host and checks its addresses; left out where any address is allowed. */
  lookup?: RequestOptions['lookup'];
}

interface PoolOptions {
  tls: TlsOptions;
  /** Connect through the proxy that the environment names. */
  usesProxy: boolean;
}

/** An idle connection is closed after this time. */
const IDLE_MS = 30_000;
/** Safety margin before the keep-alive time that a server announces is over. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
/** A connection that was idle for longer may have been closed by its server. */
const TRUSTED_IDLE_MS = 5;

export class Agents {
  isClosed = false;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  #lastUsed = { origin: '', at: 0 };

  constructor({ tls: { ca, rejectUnauthorized = true }, usesProxy }: PoolOptions) {
    const pool = {
      keepAlive: true,
      agentKeepAliveTimeoutBuffer: KEEP_ALIVE_MARGIN_MS,
      timeout: IDLE_MS,
      ...(usesProxy ? { proxyEnv: process.env } : {}),
    };
    this.#http = new (nodeHttp().Agent)(pool);
    this.#https = new (nodeHttps().Agent)({ ...pool, rejectUnauthorized, ...(ca ? { ca: [ca].flat() } : {}) });
  }

  /** Whether the server may have closed an idle connection that Node still keeps. */
  mayBeClosed({ url: { origin } }: Target): boolean {
    const { origin: last, at } = this.#lastUsed;
    return origin !== last || performance.now() - at >= TRUSTED_IDLE_MS;
  }

  /**
   * Lets Node notice connections that their server has closed, so that no request is written to one. The first turn of
   * the event loop may come before anything is read from the network, the second does not.
   */
  async dropClosed(): Promise<void> {
    await nextTurn();
    await nextTurn();
  }

  noteUse({ url: { origin } }: Target): void {
    this.#lastUsed = { origin, at: performance.now() };
  }

  /** A request on a free connection or a new one. */
  request({ url, host, lookup }: Target, method: string, headers: Readonly<Record<string, string>>): ClientRequest {
    const isSecure = url.protocol === 'https:';
    const options = {
      host,
      port: url.port || (isSecure ? 443 : 80),
      path: url.pathname + url.search,
      method,
      headers,
      ...(lookup ? { lookup } : {}),
    };
    // the certificate must be for the host of the URL, whatever the Host header says
    const request = isSecure
      ? nodeHttps().request({ ...options, agent: this.#https, servername: isIP(host) ? '' : host })
      : nodeHttp().request({ ...options, agent: this.#http });
    // an Agent keeps the connection unless the server closes it
    if (headers.connection === 'close') request.once('close', () => request.socket?.destroy());
    return request;
  }

  /** Ends all connections, also those in use. */
  close(): void {
    this.isClosed = true;
    this.#http.destroy();
    this.#https.destroy();
  }
}

// `import` evaluates every export of a built-in module, and one of node:http's loads all of undici: 50 ms

function nodeHttp(): typeof import('node:http') {
  return process.getBuiltinModule('node:http');
}

function nodeHttps(): typeof import('node:https') {
  return process.getBuiltinModule('node:https');
}
