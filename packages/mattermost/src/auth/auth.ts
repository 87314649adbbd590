// Who may call over HTTP, and as which Mattermost account with which profile.
import { createHash } from 'node:crypto';
import {
  type AuthInfo,
  bearerAuthChallengeResponse,
  OAuthError,
  OAuthErrorCode,
  verifyBearerToken,
} from '@modelcontextprotocol/server';
import { type Authorize, bearerTokens } from '@pocket-agent/http/mcp';
import { isProfile, narrower, type Profile } from '../base/access.ts';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Memory } from '../base/memory.ts';
import { MattermostApi } from '../client/api.ts';
import type { HttpPool } from '../client/http-pool.ts';
import type { UserRecord } from '../client/records.ts';
import type { MattermostConfig } from '../config/config.ts';

/** What stands between the network and the server. The OAuth proxy has pages of its own beside /mcp. */
export interface Gate {
  /**
   * The account is that of `authInfo.extra.mattermostToken`, else of `authInfo.token`; `authInfo.extra.profile` narrows
   * what it may do.
   */
  authorize: Authorize;
  routes?(request: Request): Promise<Response | undefined>;
}

export interface Identity {
  token: string;
  profile: Profile;
}

export function identityOf(config: MattermostConfig, authInfo: AuthInfo | undefined): Identity {
  const given = authInfo?.extra?.profile;
  const profile = isProfile(given) ? narrower(given, config.profile) : config.profile;
  const own = authInfo?.extra?.mattermostToken;
  const token = config.authMode === 'static_token' ? config.token : typeof own === 'string' ? own : authInfo?.token;
  if (!token)
    throw new MattermostError('AUTHENTICATION_FAILED', 'Authentication failed: the call came without a token.');
  return { token, profile };
}

export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** A refused login leaves a line. One without a token is how clients find out that they need one. */
export function withLog(authorize: Authorize, log: Log): Authorize {
  return async (request) => {
    const auth = await authorize(request);
    if (!(auth instanceof Response)) return auth;
    const { status } = auth;
    if (request.headers.has('authorization')) log.warning('login_refused', { status, token: 'not accepted' });
    else log.info('login_refused', { status, token: 'none was sent' });
    return auth;
  };
}

export interface GateOptions {
  config: MattermostConfig;
  pool: HttpPool;
  log: Log;
  /** Aborted when the server closes. */
  signal: AbortSignal;
}

export function createGate({ config, pool, log, signal }: GateOptions): Gate {
  if (config.authMode === 'static_token') {
    return {
      authorize: bearerTokens(config.clientTokens.map(({ token, profile }) => ({ token, extra: { profile } }))),
    };
  }
  return { authorize: accountTokens({ config, pool, log, signal }) };
}

const VERIFIED_MS = 60_000;
const RETRY_AFTER_S = 5;

/** Asks Mattermost whose token it is, and remembers that for a minute. */
export function accountCheck({ config, pool, log, signal }: GateOptions): (token: string) => Promise<string> {
  const verified = new Memory<string>({ most: 512, ms: VERIFIED_MS });
  return (token) =>
    verified.get(hashOf(token), async () => {
      const api = new MattermostApi({ config: { ...config, maxRetries: 1 }, pool, token, signal, log });
      return (await api.get<UserRecord>('/users/me')).id;
    });
}

/** Clients show their own Mattermost token, which Mattermost itself verifies. */
function accountTokens(options: GateOptions): Authorize {
  const check = accountCheck(options);
  const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
    if (!/^[\x21-\x7e]+$/.test(token)) throw new OAuthError(OAuthErrorCode.InvalidToken, 'This is no token');
    const clientId = await check(token);
    return { token, clientId, scopes: [], expiresAt: Math.floor(Date.now() / 1000) + 3600 };
  };
  return async (request) => {
    try {
      return await verifyBearerToken(request.headers.get('authorization') ?? undefined, {
        verifier: { verifyAccessToken },
      });
    } catch (error) {
      return refusal(error);
    }
  };
}

/** The answer to who could not be verified. Only Mattermost's own no is a refusal, not that of a proxy before it. */
export function refusal(error: unknown, challenge: { resourceMetadataUrl?: string } = {}): Response {
  if (!isMattermostError(error)) return bearerAuthChallengeResponse(error, challenge);
  if (error.status !== 401 && error.status !== 403) return unavailable();
  const text = 'Mattermost refuses this token';
  return bearerAuthChallengeResponse(new OAuthError(OAuthErrorCode.InvalidToken, text), challenge);
}

export function unavailable(): Response {
  const body = {
    error: 'temporarily_unavailable',
    error_description: 'Mattermost cannot be reached to verify the token',
  };
  return Response.json(body, { status: 503, headers: { 'retry-after': String(RETRY_AFTER_S) } });
}
