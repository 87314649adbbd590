// /token and /revoke: codes and refresh tokens of MCP clients become tokens, or tokens end.
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { isMattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Memory } from '../base/memory.ts';
import { MattermostApi } from '../client/api.ts';
import type { HttpPool } from '../client/http-pool.ts';
import type { MattermostConfig } from '../config/config.ts';
import { hashOf } from './auth.ts';
import type { Clients } from './clients.ts';
import type { Grants } from './grants.ts';
import { type CodeGrant, isSameResource } from './login.ts';
import { readForm } from './request-form.ts';
import { SingleUse } from './single-use.ts';
import { challengeOf, type Upstream } from './upstream.ts';

interface TokenEndpointOptions {
  config: MattermostConfig;
  pool: HttpPool;
  log: Log;
  signal: AbortSignal;
  clients: Clients;
  grants: Grants;
  upstream: Upstream;
  codes: SingleUse<CodeGrant>;
  resource: string;
}

type Answer = Record<string, unknown>;

export class TokenEndpoint {
  readonly #options: TokenEndpointOptions;
  /** Codes that were used, and for which grant. */
  readonly #spent = new SingleUse<string>({ most: 1000, ms: 600_000 });
  /** Mattermost takes a refresh token once; a client that asks twice at once, or lost the answer, gets the same one. */
  readonly #renewed = new Memory<Answer>({ most: 1000, ms: 10_000 });

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
  }

  async token(request: Request): Promise<Answer> {
    const form = await readForm(request);
    const { clients, resource } = this.#options;
    const clientId = form.get('client_id') ?? '';
    if (!clients.find(clientId)) throw new OAuthError(OAuthErrorCode.InvalidClient, 'This client is not registered');
    if (form.getAll('resource').some((asked) => !isSameResource(asked, resource))) {
      throw new OAuthError(OAuthErrorCode.InvalidTarget, `The only resource here is ${resource}`);
    }
    const type = form.get('grant_type');
    if (type === 'authorization_code') return this.#fromCode(form, clientId);
    if (type === 'refresh_token') return this.#fromRefreshToken(form.get('refresh_token') ?? '', clientId);
    throw new OAuthError(
      OAuthErrorCode.UnsupportedGrantType,
      'Only authorization_code and refresh_token are supported',
    );
  }

  /** Answers the same whether or not there was something to revoke (RFC 7009). */
  async revoke(request: Request): Promise<void> {
    const { grants } = this.#options;
    const form = await readForm(request);
    const token = form.get('token') ?? '';
    const grant = grants.find('refresh', token) ?? grants.find('access', token);
    if (!grant || grant.clientId !== form.get('client_id')) return;
    grants.revoke(grant.id);
    await this.#logOut(grant.accessToken);
  }

  #fromCode(form: URLSearchParams, clientId: string): Answer {
    const { codes, grants } = this.#options;
    const code = form.get('code') ?? '';
    const found = codes.take(code);
    if (!found) {
      const grantId = this.#spent.find(code);
      // a code that comes a second time was stolen, before or after; nobody keeps what it gave
      if (grantId !== undefined) grants.revoke(grantId);
      throw invalidGrant('The code is not valid any more');
    }
    const { grant, redirectUri, challenge } = found;
    const redirect = form.get('redirect_uri') ?? redirectUri;
    if (grant.clientId !== clientId || redirect !== redirectUri) {
      throw invalidGrant('The code was given to another client or address');
    }
    const verifier = form.get('code_verifier') ?? '';
    if (!/^[\w.~-]{43,128}$/.test(verifier) || challengeOf(verifier) !== challenge) {
      throw invalidGrant('The code_verifier does not fit');
    }
    this.#spent.put(grant.id, code);
    return grants.issue(grant);
  }

  #fromRefreshToken(token: string, clientId: string): Promise<Answer> {
    const { grants, upstream } = this.#options;
    const grant = grants.read('refresh', token);
    if (grant.clientId !== clientId) throw invalidGrant('The token was given to another client');
    return this.#renewed.get(hashOf(token), async () => {
      try {
        return grants.issue({ ...grant, ...(await upstream.refresh(grant.refreshToken ?? '')) });
      } catch (error) {
        const isRefusal = isMattermostError(error) && error.status !== undefined && error.status < 500;
        if (isRefusal && error.status !== 429)
          throw invalidGrant('Mattermost refuses to renew this login; log in again');
        throw error;
      }
    });
  }

  /** As far as Mattermost can be told: ours is revoked already. */
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
