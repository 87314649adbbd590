// Mattermost as the OAuth server behind ours: where people log in, and what their codes and refresh tokens come to.
import { createHash, randomBytes } from 'node:crypto';
import { errorText, isMattermostError, MattermostError } from '../base/errors.ts';
import { parseObject } from '../base/json.ts';
import { readBody } from '../client/api.ts';
import type { HttpPool } from '../client/http-pool.ts';
import { readRetryAfter } from '../client/retry.ts';
import { statusError } from '../client/status-error.ts';
import type { OAuthConfig } from '../config/config.ts';
import { isText } from './clients.ts';

/** What Mattermost gave; it stays on this server. */
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

const LARGEST_ANSWER = 64_000;
const HOUR_S = 3600;
const YEAR_S = 31_536_000;

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly redirectUri: string;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.redirectUri = options.oauth.mcpPublicUrl + options.oauth.callbackPath;
  }

  /** Where the browser goes. Of what the MCP client asked for, nothing is passed on: Mattermost refuses `resource`. */
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
    return this.#ask({ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier });
  }

  refresh(refreshToken: string): Promise<MattermostTokens> {
    return this.#ask({ grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  async #ask(fields: Record<string, string>): Promise<MattermostTokens> {
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
        const answer = await readBody(response, LARGEST_ANSWER);
        const { location, 'retry-after': retryAfter } = response.headers;
        if (status !== 200) {
          throw statusError({ status, body: answer, location, retryAfterMs: readRetryAfter(retryAfter) });
        }
        return this.#read(answer);
      });
    } catch (error) {
      if (isMattermostError(error)) throw error;
      throw new MattermostError('UNREACHABLE', `Mattermost could not be reached: ${errorText(error)}`);
    }
  }

  #read(answer: Buffer): MattermostTokens {
    const value = parseObject(answer.toString('utf8'));
    if (!isText(value?.access_token) || value.access_token === '') {
      throw new MattermostError('ANSWER_INVALID', 'The answer of Mattermost to a login holds no token.');
    }
    const refreshToken = isText(value.refresh_token) && value.refresh_token !== '' ? value.refresh_token : undefined;
    const told = Number(value.expires_in);
    const unknown = this.#options.oauth.fallbackAccessTokenExpirySeconds ?? (refreshToken ? HOUR_S : YEAR_S);
    const expiresAt = Math.floor(Date.now() / 1000) + (told > 0 ? told : unknown);
    return { accessToken: value.access_token, refreshToken, expiresAt };
  }
}

export function newVerifier(): string {
  return randomBytes(32).toString('base64url');
}

export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
