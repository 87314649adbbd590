// OAuth 2 tokens for the client-credentials grant: fetched once for concurrent calls, cached, renewed before they expire.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import { abortable, dropOldest, isRecord } from '@pocket-agent/kit';
import { CallFailure, toFailure } from '../base/call-failure.ts';

interface TokenRequest {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scopes: readonly string[];
}

interface CachedToken {
  token: Promise<string>;
  value?: string;
  /** From this time on a new token is fetched. */
  renewAt: number;
}

const FETCH_MS = 10_000;
const DEFAULT_LIFE_S = 300;
const MAX_CACHED = 1000;

export class OAuthTokens {
  readonly #fetch: HttpFetch;
  readonly #isTrustedHost: (url: URL) => boolean;
  readonly #cache = new Map<string, CachedToken>();

  constructor(options: { fetch: HttpFetch; isTrustedHost(url: URL): boolean }) {
    this.#fetch = options.fetch;
    this.#isTrustedHost = options.isTrustedHost;
  }

  /** The signal ends only this wait; the request continues for other callers. */
  async get(request: TokenRequest, signal: AbortSignal): Promise<string> {
    const key = JSON.stringify([request.tokenUrl, request.clientId, request.clientSecret, request.scopes]);
    let cached = this.#cache.get(key);
    if (!cached || cached.renewAt <= performance.now()) {
      cached = this.#renew(key, request);
      dropOldest(this.#cache, MAX_CACHED);
    }
    return abortable(cached.token, signal);
  }

  /** All cached tokens. */
  get values(): string[] {
    return [...this.#cache.values()].flatMap(({ value }) => value ?? []);
  }

  forget(token: string): void {
    for (const [key, { value }] of this.#cache) if (value === token) this.#cache.delete(key);
  }

  #renew(key: string, request: TokenRequest): CachedToken {
    const cached: CachedToken = { token: Promise.resolve(''), renewAt: Number.POSITIVE_INFINITY };
    cached.token = this.#request(request).then(
      ({ token, lifeMs }) => {
        cached.value = token;
        cached.renewAt = performance.now() + lifeMs * 0.8;
        return token;
      },
      (error) => {
        if (this.#cache.get(key) === cached) this.#cache.delete(key);
        throw error;
      },
    );
    cached.token.catch(() => {}); // callers of `get` see the rejection
    this.#cache.delete(key);
    this.#cache.set(key, cached);
    return cached;
  }

  async #request({
    tokenUrl,
    clientId,
    clientSecret,
    scopes,
  }: TokenRequest): Promise<{ token: string; lifeMs: number }> {
    const url = URL.canParse(tokenUrl) ? new URL(tokenUrl) : undefined;
    if (!url || (url.protocol !== 'https:' && !this.#isTrustedHost(url)))
      throw new CallFailure(
        'ADDRESS_REFUSED',
        'its token URL is not https. Register the agent with the right tokenUrl.',
      );
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    if (scopes.length > 0) body.set('scope', scopes.join(' '));
    let answer: unknown;
    try {
      const response = await this.#fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body: body.toString(),
        signal: AbortSignal.timeout(FETCH_MS),
      });
      answer = JSON.parse(await response.text());
    } catch (error) {
      if (error instanceof SyntaxError) throw refused('the answer is not JSON');
      if (error instanceof DOMException) throw refused('no answer in time');
      const { code, message } = toFailure(error);
      throw new CallFailure(code, `getting a token for it failed: ${message}`);
    }
    if (!isRecord(answer) || typeof answer.access_token !== 'string') {
      const reason = isRecord(answer) ? String(answer.error ?? '') : '';
      throw refused(/^[a-z_]{1,40}$/.test(reason) ? reason : 'no token in the answer');
    }
    const seconds = Number(answer.expires_in);
    return { token: answer.access_token, lifeMs: (seconds > 0 ? seconds : DEFAULT_LIFE_S) * 1000 };
  }
}

function refused(why: string): CallFailure {
  return new CallFailure('AUTH_FAILED', `its token server issued no token (${why}). Register other credentials.`);
}
