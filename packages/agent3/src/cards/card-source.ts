// Fetches cards and signing keys, with a timeout and HTTP caching.
import { CARD_PATH, type SigningKey } from '@pocket-agent/a2a/client';
import { FetchError, type HttpFetch, isHost, limitedResponse } from '@pocket-agent/http/fetch';
import { isRecord, recordsIn } from '@pocket-agent/kit';
import { Agent3Error } from '../base/agent3-error.ts';
import type { CardJson } from '../base/agents.ts';
import { type FoundServer, readMcpServer } from './mcp-tools.ts';

/** The largest card or key set that is read. */
export const MAX_CARD_BYTES = 256 * 1_024;
const TIMEOUT_MS = 10_000;
const MIN_FRESH_MS = 60_000;
const MAX_FRESH_MS = 86_400_000;
const DEFAULT_FRESH_MS = 300_000;

export type FetchedCard = { freshMs: number; etag: string | undefined; url: string } & (
  | { isChanged: true; card: CardJson }
  | { isChanged: false }
);

interface CardSourceOptions {
  fetch: HttpFetch;
  /** Private hosts that are allowed; they may be reached over plain http. */
  allowHosts: readonly string[];
  timeoutMs?: number | undefined;
  /** Upper bound for the cache lifetime of a card, whatever its server says. */
  maxStaleMs: number;
  /** Aborts pending requests. */
  signal: AbortSignal;
}

export class CardSource {
  readonly #fetch: HttpFetch;
  readonly #plainHosts: readonly string[];
  readonly #timeoutMs: number;
  readonly #maxStaleMs: number;
  readonly #signal: AbortSignal;

  constructor({ fetch, allowHosts, timeoutMs = TIMEOUT_MS, maxStaleMs, signal }: CardSourceOptions) {
    this.#signal = signal;
    this.#fetch = fetch;
    this.#plainHosts = allowHosts;
    this.#timeoutMs = timeoutMs;
    this.#maxStaleMs = maxStaleMs;
  }

  /** The URL of a card; a path ending in `/` gets the well-known file name. */
  cardUrl(text: string): string {
    const url = URL.parse(text);
    if (!url || !/^https?:$/.test(url.protocol))
      throw new Agent3Error('INPUT_INVALID', 'cardUrl must be an absolute http or https URL');
    if (url.username || url.password)
      throw new Agent3Error('INPUT_INVALID', 'cardUrl must not contain a password; register it as credentials');
    this.checkScheme(url, 'cardUrl');
    url.hash = '';
    if (url.searchParams.size === 0) url.search = '';
    return url.pathname.endsWith('/') ? new URL(CARD_PATH, url).href : url.href;
  }

  /** Over plain http, cards and credentials could be read and changed in transit. */
  checkScheme(url: URL, what: string): void {
    if (url.protocol === 'https:' || this.#plainHosts.some((host) => isHost(host, url))) return;
    throw new Agent3Error(
      'INPUT_INVALID',
      `${what} must be https (${url.host}); if the host is yours, add it to AGENT3_ALLOW_HOSTS`,
    );
  }

  async fetchCard(url: string, etag?: string): Promise<FetchedCard> {
    // agents that support both versions serve one card for each; prefer the card of 1.0
    const headers = {
      accept: 'application/json',
      'a2a-version': '1.0',
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
    };
    const { response, text } = await this.#read(url, headers);
    const caching = {
      url: sourceOf(url, response),
      freshMs: Math.min(freshMs(response.headers), this.#maxStaleMs),
      etag: response.headers.get('etag') ?? undefined,
    };
    if (response.status === 304 && etag !== undefined)
      return { isChanged: false, ...caching, etag: caching.etag ?? etag };
    if (response.status !== 200) throw unavailable(url, `it answered with status ${response.status}`);
    return { isChanged: true, card: parseObject(text, url), ...caching };
  }

  /** The keys of a JWK set. */
  async fetchKeys(url: string): Promise<SigningKey[]> {
    const { response, text } = await this.#read(url, { accept: 'application/json' });
    if (response.status !== 200) throw unavailable(url, `it answered with status ${response.status}`);
    // an open redirect would let any host answer for this one
    if (!isSameOrigin(url, response)) throw unavailable(url, 'it redirects to another host, whose keys do not count');
    const { keys } = parseObject(text, url);
    return recordsIn(keys);
  }

  /** The lines of a text file. A redirect to another host proves nothing about this one. */
  async fetchLines(url: string): Promise<string[]> {
    const { response, text } = await this.#read(url, { accept: 'text/plain' });
    if (response.status !== 200) throw unavailable(url, `it answered with status ${response.status}`);
    if (!isSameOrigin(url, response)) throw unavailable(url, 'it redirects to another host');
    return text.split('\n').map((line) => line.trim());
  }

  /** Connects to an MCP server and lists its tools. */
  async fetchMcpServer(url: string): Promise<FoundServer> {
    this.checkScheme(new URL(url), 'The address of an MCP server');
    try {
      return await readMcpServer(url, { fetch: this.#fetch, timeoutMs: this.#timeoutMs });
    } catch (cause) {
      throw unavailable(url, reasonOf(cause), cause);
    }
  }

  /** Whether the server answers with anything but a 5xx status. */
  async answers(url: string): Promise<boolean> {
    const { response } = await this.#read(url, {});
    return response.status < 500;
  }

  async #read(url: string, headers: Record<string, string>): Promise<{ response: Response; text: string }> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const signal = AbortSignal.any([timeout, this.#signal]);
    try {
      const response = await this.#fetch(url, { headers, signal });
      this.checkScheme(new URL(response.url), 'The redirect target');
      return { response, text: await limitedResponse(response, { maxBytes: MAX_CARD_BYTES }).text() };
    } catch (cause) {
      throw unavailable(
        url,
        timeout.aborted ? `no complete answer within ${this.#timeoutMs} ms` : reasonOf(cause),
        cause,
      );
    }
  }
}

/** A card that was fetched through a redirect to another host belongs to that host. */
function sourceOf(url: string, response: Response): string {
  return isSameOrigin(url, response) ? url : response.url;
}

function isSameOrigin(url: string, response: Response): boolean {
  return new URL(response.url).origin === new URL(url).origin;
}

function parseObject(text: string, url: string): CardJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unavailable(url, 'it did not send a JSON object', cause);
  }
  if (!isRecord(value)) throw unavailable(url, 'it did not send a JSON object');
  return value;
}

function unavailable(url: string, reason: string, cause?: unknown): Agent3Error {
  const { host, pathname } = new URL(url);
  return new Agent3Error('CARD_UNAVAILABLE', `Could not read ${host}${pathname}: ${reason}`, { cause });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof FetchError || !(error.cause instanceof Error)) return error.message;
  return error.cause.message;
}

function freshMs(headers: Headers): number {
  const control = headers.get('cache-control') ?? '';
  if (/no-(store|cache)/i.test(control)) return MIN_FRESH_MS;
  const seconds = /max-age=(\d+)/i.exec(control)?.[1];
  if (seconds === undefined) return DEFAULT_FRESH_MS;
  return Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, Number(seconds) * 1_000));
}
