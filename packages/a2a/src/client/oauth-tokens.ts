// OAuth 2 tokens for calls of agents: those of a program (client credentials), and those of people who log in on another
// device. Fetched once for concurrent calls, cached, renewed before they expire.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import { abortable, delay, dropOldest, isRecord, nonEmptyString } from '@pocket-agent/kit';
import { A2aError, explainFetchError } from './a2a-error.ts';

interface OAuthClient {
  tokenUrl: string;
  clientId: string;
  scopes: readonly string[];
}

/** A program that has a secret of its own. */
export interface ClientCredentials extends OAuthClient {
  clientSecret: string;
}

/** A person who logs in with a browser: the device authorization grant, RFC 8628. */
export interface DeviceGrant extends OAuthClient {
  clientSecret?: string | undefined;
  deviceUrl: string;
  /** The person: a token is used for no one else. */
  owner: string;
  /** Shows the person where to log in. */
  show(login: DeviceLogin): void | Promise<void>;
  /** The refresh token of an earlier login, in another process. */
  saved?(): Promise<string | undefined>;
  /** Called with each new refresh token, and with undefined when it is no longer valid. */
  save?(refreshToken: string | undefined): Promise<void>;
  /** Ends the wait for the person. */
  signal: AbortSignal;
}

/** Where a person logs in, and with which code. */
export interface DeviceLogin {
  url: string;
  userCode: string;
  /** The same address with the code in it, if the server has one. */
  completeUrl?: string;
  expiresAt: Date;
}

interface IssuedToken {
  token: string;
  refreshToken: string | undefined;
  lifeMs: number;
}

interface CachedToken {
  token: Promise<string>;
  value?: string;
  refreshToken?: string | undefined;
  /** From this time on a new token is fetched. */
  renewAt: number;
}

const FETCH_MS = 10_000;
const DEFAULT_LIFE_S = 300;
const MAX_CACHED = 1000;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const DEFAULT_INTERVAL_S = 5;
const MAX_INTERVAL_S = 60;
const DEFAULT_DEVICE_LIFE_S = 600;
const MAX_DEVICE_LIFE_S = 3_600;
const MAX_USER_CODE = 100;

/** The tokens of one program. */
export class OAuthTokens {
  readonly #fetch: HttpFetch;
  readonly #isTrustedHost: (url: URL) => boolean;
  readonly #cache = new Map<string, CachedToken>();

  /** `isTrustedHost`: may be called over plain http. */
  constructor(options: { fetch: HttpFetch; isTrustedHost(url: URL): boolean }) {
    this.#fetch = options.fetch;
    this.#isTrustedHost = options.isTrustedHost;
  }

  /** A token of the program itself. The signal ends only this wait; the request continues for other callers. */
  get(client: ClientCredentials, signal: AbortSignal): Promise<string> {
    const { tokenUrl, clientId, clientSecret, scopes } = client;
    const key = JSON.stringify([tokenUrl, clientId, clientSecret, scopes]);
    return this.#get(key, () => this.#issue(client, { grant_type: 'client_credentials', ...scopeOf(scopes) }), signal);
  }

  /** A token of a person, who may have to log in first. */
  getLogin(grant: DeviceGrant, signal: AbortSignal): Promise<string> {
    const { tokenUrl, deviceUrl, clientId, scopes, owner } = grant;
    const key = JSON.stringify(['device', tokenUrl, deviceUrl, clientId, scopes, owner]);
    return this.#get(key, (refreshToken) => this.#login(grant, refreshToken), signal);
  }

  /** All cached tokens. */
  get values(): string[] {
    return [...this.#cache.values()].flatMap(({ value }) => value ?? []);
  }

  /** The next call gets another token. */
  forget(token: string): void {
    for (const cached of this.#cache.values()) if (cached.value === token) cached.renewAt = 0;
  }

  /** `issue` gets the refresh token of the last login. */
  async #get(
    key: string,
    issue: (refreshToken: string | undefined) => Promise<IssuedToken>,
    signal: AbortSignal,
  ): Promise<string> {
    const previous = this.#cache.get(key);
    let cached = previous;
    if (!cached || cached.renewAt <= performance.now()) {
      cached = this.#renew(key, previous, () => issue(previous?.refreshToken));
      dropOldest(this.#cache, MAX_CACHED);
    }
    return abortable(cached.token, signal);
  }

  #renew(key: string, previous: CachedToken | undefined, issue: () => Promise<IssuedToken>): CachedToken {
    const cached: CachedToken = { token: Promise.resolve(''), renewAt: Number.POSITIVE_INFINITY };
    cached.token = issue().then(
      ({ token, refreshToken, lifeMs }) => {
        cached.value = token;
        cached.refreshToken = refreshToken;
        cached.renewAt = performance.now() + lifeMs * 0.8;
        return token;
      },
      (error) => {
        if (this.#cache.get(key) === cached) {
          this.#cache.delete(key);
          // a person need not log in again because the token server could not be reached
          if (previous?.refreshToken) this.#cache.set(key, { ...previous, renewAt: 0 });
        }
        throw error;
      },
    );
    cached.token.catch(() => {}); // callers of `get` see the rejection
    this.#cache.delete(key);
    this.#cache.set(key, cached);
    return cached;
  }

  /** With the refresh token if it still counts; otherwise the person logs in. */
  async #login(grant: DeviceGrant, known: string | undefined): Promise<IssuedToken> {
    const refreshToken = known ?? (await grant.saved?.());
    if (refreshToken) {
      const params = { grant_type: 'refresh_token', refresh_token: refreshToken, ...scopeOf(grant.scopes) };
      const answer = await this.#post(grant.tokenUrl, grant, params);
      const issued = tokenIn(answer);
      if (issued) return saved(grant, { ...issued, refreshToken: issued.refreshToken ?? refreshToken });
      if (errorIn(answer) !== 'invalid_grant') throw refused(answer);
      await grant.save?.(undefined);
    }
    return saved(grant, await this.#askPerson(grant));
  }

  async #askPerson(grant: DeviceGrant): Promise<IssuedToken> {
    const { deviceUrl, tokenUrl, scopes, signal } = grant;
    const started = await this.#post(deviceUrl, grant, scopeOf(scopes));
    const device = isRecord(started) ? started : {};
    const [code, userCode] = [nonEmptyString(device.device_code), nonEmptyString(device.user_code)];
    const url = webAddress(device.verification_uri ?? device.verification_url);
    if (!code || !userCode || userCode.length > MAX_USER_CODE || !url) throw refused(started);
    const completeUrl = webAddress(device.verification_uri_complete);
    const lifeMs = 1_000 * within(device.expires_in, { fallback: DEFAULT_DEVICE_LIFE_S, max: MAX_DEVICE_LIFE_S });
    const endsAt = performance.now() + lifeMs;
    await grant.show({
      url,
      userCode,
      ...(completeUrl ? { completeUrl } : {}),
      expiresAt: new Date(Date.now() + lifeMs),
    });
    let interval = within(device.interval, { fallback: DEFAULT_INTERVAL_S, max: MAX_INTERVAL_S });
    const params = { grant_type: DEVICE_GRANT, device_code: code };
    while (performance.now() < endsAt) {
      await delay(interval * 1_000, signal);
      const answer = await this.#post(tokenUrl, grant, params);
      const issued = tokenIn(answer);
      if (issued) return issued;
      const error = errorIn(answer);
      if (error === 'slow_down') interval = Math.min(interval + DEFAULT_INTERVAL_S, MAX_INTERVAL_S);
      else if (error !== 'authorization_pending') throw refused(answer);
    }
    throw refused({ error: 'expired_token' });
  }

  async #issue(client: ClientCredentials, params: Record<string, string>): Promise<IssuedToken> {
    const answer = await this.#post(client.tokenUrl, client, params);
    const issued = tokenIn(answer);
    if (!issued) throw refused(answer);
    return issued;
  }

  /** The answer of the server, also if it is an error of OAuth. */
  async #post(
    address: string,
    { clientId, clientSecret }: { clientId: string; clientSecret?: string | undefined },
    params: Record<string, string>,
  ): Promise<unknown> {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (!url || (url.protocol !== 'https:' && !this.#isTrustedHost(url)))
      throw new A2aError('ADDRESS_REFUSED', 'its token URL is not https. Register the agent with the right tokenUrl.');
    const body = new URLSearchParams(clientSecret === undefined ? { ...params, client_id: clientId } : params);
    try {
      const response = await this.#fetch(url, {
        method: 'POST',
        headers: {
          ...(clientSecret === undefined ? {} : { authorization: basic(clientId, clientSecret) }),
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body: body.toString(),
        signal: AbortSignal.timeout(FETCH_MS),
      });
      return JSON.parse(await response.text());
    } catch (error) {
      if (error instanceof SyntaxError) throw failure('the answer is not JSON');
      if (error instanceof DOMException) throw failure('no answer in time');
      const cause = explainFetchError(error);
      if (!(cause instanceof A2aError)) throw error;
      throw new A2aError(cause.code, `getting a token for it failed: ${cause.message}`, cause);
    }
  }
}

async function saved(grant: DeviceGrant, issued: IssuedToken): Promise<IssuedToken> {
  if (issued.refreshToken) await grant.save?.(issued.refreshToken);
  return issued;
}

function tokenIn(answer: unknown): IssuedToken | undefined {
  if (!isRecord(answer) || typeof answer.access_token !== 'string') return undefined;
  const seconds = Number(answer.expires_in);
  const lifeMs = (seconds > 0 ? seconds : DEFAULT_LIFE_S) * 1000;
  return { token: answer.access_token, refreshToken: nonEmptyString(answer.refresh_token), lifeMs };
}

function errorIn(answer: unknown): string {
  return isRecord(answer) ? String(answer.error ?? '') : '';
}

function scopeOf(scopes: readonly string[]): Record<string, string> {
  return scopes.length > 0 ? { scope: scopes.join(' ') } : {};
}

function basic(clientId: string, clientSecret: string): string {
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

function webAddress(value: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

function within(value: unknown, { fallback, max }: { fallback: number; max: number }): number {
  const number = Number(value ?? fallback);
  return number >= 0 ? Math.min(number, max) : fallback;
}

function refused(answer: unknown): A2aError {
  const reason = errorIn(answer);
  return failure(/^[a-z_]{1,40}$/.test(reason) ? reason : 'no token in the answer');
}

function failure(why: string): A2aError {
  return new A2aError('AUTH_FAILED', `its token server issued no token (${why}).`);
}
