// Mattermost as the upstream OAuth server: login URL, code exchange, refresh.

import { createHash } from 'node:crypto';
import { errorText, isString, retryAfterHeader } from '@pocket-agent/kit';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import { parseObject } from '../base/json.ts';
import { readBody } from '../client/body.ts';
import type { HttpPool } from '../client/http-pool.ts';
import { statusError } from '../client/status-error.ts';
import type { OAuthConfig } from '../config/config.ts';

/** Tokens issued by Mattermost. Clients only get them encrypted. */
export interface MattermostTokens {
  accessToken: string;
  refreshToken: string | undefined;
  /** In seconds since 1970. */
  expiresAt: number;
}

interface UpstreamOptions {
  oauth: OAuthConfig;
  pool: HttpPool;
  timeoutMs: number;
  signal: AbortSignal;
}

const MAX_RESPONSE_BYTES = 64_000;
const HOUR_S = 3600;
const YEAR_S = 31_536_000;

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly redirectUri: string;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.redirectUri = options.oauth.mcpPublicUrl + options.oauth.callbackPath;
  }

  /** Parameters of the MCP client are not passed on: Mattermost rejects `resource`. */
  loginUrl(state: string, verifier: string): string {
    const { clientId, mattermostPublicUrl } = this.#options.oauth;
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: this.redirectUri,
      state,
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
    });
    return `${mattermostPublicUrl}/oauth/authorize?${query}`;
  }

  exchange(code: string, verifier: string): Promise<MattermostTokens> {
    const { redirectUri } = this;
    return this.#requestTokens({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    });
  }

  refresh(refreshToken: string): Promise<MattermostTokens> {
    return this.#requestTokens({ grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  async #requestTokens(fields: Record<string, string>): Promise<MattermostTokens> {
    const { oauth, pool, timeoutMs, signal } = this.#options;
    const form = new URLSearchParams({ client_id: oauth.clientId, ...fields });
    if (oauth.clientType === 'confidential') form.set('client_secret', oauth.clientSecret ?? '');
    const body = Buffer.from(form.toString());
    const headers = {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(body.length),
    };
    const outgoing = { method: 'POST', path: '/oauth/access_token', headers, body, timeoutMs, signal };
    try {
      return await pool.exchange(outgoing, async (response) => {
        const status = response.statusCode ?? 0;
        const responseBody = await readBody(response, MAX_RESPONSE_BYTES);
        const { location, 'retry-after': retryAfter } = response.headers;
        if (status !== 200) {
          const retryAfterMs = retryAfterHeader({ 'retry-after': retryAfter });
          throw statusError({ status, body: responseBody, location, retryAfterMs });
        }
        return this.#readTokens(responseBody);
      });
    } catch (error) {
      if (isMattermostError(error)) throw error;
      throw new MattermostError('UNREACHABLE', `Mattermost could not be reached: ${errorText(error)}`);
    }
  }

  #readTokens(body: Buffer): MattermostTokens {
    const value = parseObject(body.toString('utf8'));
    if (!isString(value?.access_token) || value.access_token === '') {
      throw new MattermostError('ANSWER_INVALID', 'The response of Mattermost to the login contains no token.');
    }
    const refreshToken = isString(value.refresh_token) && value.refresh_token !== '' ? value.refresh_token : undefined;
    const expiresIn = Number(value.expires_in);
    const fallback = this.#options.oauth.fallbackAccessTokenExpirySeconds ?? (refreshToken ? HOUR_S : YEAR_S);
    const expiresAt = Math.floor(Date.now() / 1000) + (expiresIn > 0 ? expiresIn : fallback);
    return { accessToken: value.access_token, refreshToken, expiresAt };
  }
}

export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
