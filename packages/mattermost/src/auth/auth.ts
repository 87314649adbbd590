// Authentication over HTTP: which clients may call, and with which Mattermost account and profile.
import {
  type AuthInfo,
  bearerAuthChallengeResponse,
  OAuthError,
  OAuthErrorCode,
  verifyBearerToken,
} from '@modelcontextprotocol/server';
import { type Authorize, bearerTokens } from '@pocket-agent/http/mcp';
import { sha256 } from '@pocket-agent/kit';
import { isProfile, narrower, type Profile } from '../base/access.ts';
import { AsyncCache } from '../base/cache.ts';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { MattermostApi } from '../client/api.ts';
import type { HttpPool } from '../client/http-pool.ts';
import type { UserRecord } from '../client/records.ts';
import type { MattermostConfig } from '../config/config.ts';

/** Authorizes HTTP requests. The OAuth proxy also serves the routes of the login. */
export interface Gate {
  /**
   * The account is that of `authInfo.extra.mattermostToken`, otherwise of `authInfo.token`. `authInfo.extra.profile`
   * can only narrow the configured profile.
   */
  authorize: Authorize;
  routes?(request: Request): Promise<Response | undefined>;
}

interface Identity {
  token: string;
  profile: Profile;
}

export function resolveIdentity(config: MattermostConfig, authInfo: AuthInfo | undefined): Identity {
  const { profile: clientProfile, mattermostToken } = authInfo?.extra ?? {};
  const profile = isProfile(clientProfile) ? narrower(clientProfile, config.profile) : config.profile;
  const clientToken = typeof mattermostToken === 'string' ? mattermostToken : authInfo?.token;
  const token = config.authMode === 'static_token' ? config.token : clientToken;
  if (!token) throw new MattermostError('AUTHENTICATION_FAILED', 'Authentication failed: the request has no token.');
  return { token, profile };
}

/** Logs rejected requests. A request without a token is normal: clients send one to discover that they need a token. */
export function withRefusalLog(authorize: Authorize, log: Log): Authorize {
  return async (request) => {
    const auth = await authorize(request);
    if (!(auth instanceof Response)) return auth;
    const { status } = auth;
    if (request.headers.has('authorization')) log.warning('login_refused', { status, token: 'rejected' });
    else log.info('login_refused', { status, token: 'missing' });
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
  return { authorize: authorizeByAccountToken({ config, pool, log, signal }) };
}

const TOKEN_CACHE_MS = 60_000;
const RETRY_AFTER_S = 5;

/** Verifies a token at Mattermost and returns the user id; cached for a minute. */
export function createTokenCheck({ config, pool, log, signal }: GateOptions): (token: string) => Promise<string> {
  const verified = new AsyncCache<string>({ maxEntries: 512, ttlMs: TOKEN_CACHE_MS });
  return (token) =>
    verified.get(sha256(token), async () => {
      const api = new MattermostApi({ config: { ...config, maxRetries: 1 }, pool, token, signal, log });
      return (await api.get<UserRecord>('/users/me')).id;
    });
}

/** Clients send their own Mattermost token, which Mattermost verifies. */
function authorizeByAccountToken(options: GateOptions): Authorize {
  const check = createTokenCheck(options);
  const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'The token contains invalid characters');
    const clientId = await check(token);
    return { token, clientId, scopes: [], expiresAt: Math.floor(Date.now() / 1000) + 3600 };
  };
  return async (request) => {
    try {
      return await verifyBearerToken(request.headers.get('authorization') ?? undefined, {
        verifier: { verifyAccessToken },
      });
    } catch (error) {
      return unauthorized(error);
    }
  };
}

/** The response to a request that could not be verified: 401 only if Mattermost itself rejects the token. */
export function unauthorized(error: unknown, challenge: { resourceMetadataUrl?: string } = {}): Response {
  if (!isMattermostError(error)) return bearerAuthChallengeResponse(error, challenge);
  if (error.status !== 401 && error.status !== 403) return unavailable();
  const text = 'Mattermost rejects this token';
  return bearerAuthChallengeResponse(new OAuthError(OAuthErrorCode.InvalidToken, text), challenge);
}

export function unavailable(): Response {
  const body = {
    error: 'temporarily_unavailable',
    error_description: 'Mattermost cannot be reached to verify the token',
  };
  return Response.json(body, { status: 503, headers: { 'retry-after': String(RETRY_AFTER_S) } });
}
