// The endpoints /token and /revoke: exchange codes and refresh tokens for tokens, and revoke tokens.
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { sha256 } from '@pocket-agent/kit';
import { AsyncCache } from '../base/cache.ts';
import { isMattermostError } from '../base/errors.ts';
import { ExpiringMap } from '../base/expiring-map.ts';
import type { Log } from '../base/log.ts';
import { MattermostApi } from '../client/api.ts';
import type { HttpPool } from '../client/http-pool.ts';
import type { MattermostConfig } from '../config/config.ts';
import type { Clients } from './clients.ts';
import type { Grants } from './grants.ts';
import { type CodeGrant, isSameResource } from './login.ts';
import { readForm } from './request-form.ts';
import { challengeOf, type Upstream } from './upstream.ts';

interface TokenEndpointOptions {
  config: MattermostConfig;
  pool: HttpPool;
  log: Log;
  signal: AbortSignal;
  clients: Clients;
  grants: Grants;
  upstream: Upstream;
  codes: ExpiringMap<CodeGrant>;
  resource: string;
}

type TokenResponse = Record<string, unknown>;

export class TokenEndpoint {
  readonly #options: TokenEndpointOptions;
  /** Grant ids by used code. */
  readonly #usedCodes = new ExpiringMap<string>({ maxEntries: 1000, ttlMs: 600_000 });
  /** Mattermost accepts a refresh token once. A client that repeats a request gets the same response. */
  readonly #refreshed = new AsyncCache<TokenResponse>({ maxEntries: 1000, ttlMs: 10_000 });

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
  }

  async token(request: Request): Promise<TokenResponse> {
    const form = await readForm(request);
    const { clients, resource } = this.#options;
    const clientId = form.get('client_id') ?? '';
    if (!clients.find(clientId)) throw new OAuthError(OAuthErrorCode.InvalidClient, 'This client is not registered');
    if (form.getAll('resource').some((requested) => !isSameResource(requested, resource))) {
      throw new OAuthError(OAuthErrorCode.InvalidTarget, `The only valid resource is ${resource}`);
    }
    const type = form.get('grant_type');
    if (type === 'authorization_code') return this.#fromCode(form, clientId);
    if (type === 'refresh_token') return this.#fromRefreshToken(form.get('refresh_token') ?? '', clientId);
    throw new OAuthError(
      OAuthErrorCode.UnsupportedGrantType,
      'Only authorization_code and refresh_token are supported',
    );
  }

  /** The response does not depend on whether the token existed (RFC 7009). */
  async revoke(request: Request): Promise<void> {
    const { grants } = this.#options;
    const form = await readForm(request);
    const token = form.get('token') ?? '';
    const grant = grants.find('refresh', token) ?? grants.find('access', token);
    if (!grant || grant.clientId !== form.get('client_id')) return;
    grants.revoke(grant.id);
    await this.#logOut(grant.accessToken);
  }

  #fromCode(form: URLSearchParams, clientId: string): TokenResponse {
    const { codes, grants } = this.#options;
    const code = form.get('code') ?? '';
    const codeGrant = codes.take(code);
    if (!codeGrant) {
      const grantId = this.#usedCodes.get(code);
      // a code that is used twice was stolen, so its grant is revoked
      if (grantId !== undefined) grants.revoke(grantId);
      throw invalidGrant('The code is no longer valid');
    }
    const { grant, redirectUri, challenge } = codeGrant;
    const redirect = form.get('redirect_uri') ?? redirectUri;
    if (grant.clientId !== clientId || redirect !== redirectUri) {
      throw invalidGrant('The code was issued to another client or redirect_uri');
    }
    const verifier = form.get('code_verifier') ?? '';
    if (!/^[\w.~-]{43,128}$/.test(verifier) || challengeOf(verifier) !== challenge) {
      throw invalidGrant('The code_verifier does not match');
    }
    this.#usedCodes.set(code, grant.id);
    return grants.issue(grant);
  }

  #fromRefreshToken(token: string, clientId: string): Promise<TokenResponse> {
    const { grants, upstream } = this.#options;
    const grant = grants.read('refresh', token);
    if (grant.clientId !== clientId) throw invalidGrant('The token was issued to another client');
    return this.#refreshed.get(sha256(token), async () => {
      try {
        return grants.issue({ ...grant, ...(await upstream.refresh(grant.refreshToken ?? '')) });
      } catch (error) {
        const isRefusal = isMattermostError(error) && error.status !== undefined && error.status < 500;
        if (isRefusal && error.status !== 429)
          throw invalidGrant('Mattermost refuses to refresh this login; log in again');
        throw error;
      }
    });
  }

  /** Best effort: our own token is already revoked. */
  async #logOut(token: string): Promise<void> {
    const { config, pool, log, signal } = this.#options;
    const api = new MattermostApi({ config: { ...config, maxRetries: 0 }, pool, log, signal, token });
    try {
      await api.post('/users/logout');
    } catch (error) {
      if (!isMattermostError(error)) throw error;
      log.warning('oauth_logout_failed', { code: error.code });
    }
  }
}

function invalidGrant(text: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidGrant, text);
}
