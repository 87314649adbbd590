// Finds the caller of a request: the owner of a token that the gateway or an external issuer has issued.
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server';
import type { Authorize } from '@pocket-agent/http/mcp';
import { errorText, type Logger } from '@pocket-agent/kit';
import type { Profile } from 'pocket-agent';
import { type Caller, type CallerSettings, profileNamed } from './caller.ts';
import { type GatewayOAuthOptions, OAuthCallers } from './oauth.ts';
import type { GatewayState } from './state.ts';

/** Requests are authorized one by one, so this only has to be in the future. */
const TOKEN_VALID_S = 3_600;

interface Authorizing {
  state: GatewayState | undefined;
  oauth: GatewayOAuthOptions | undefined;
  profiles(): Readonly<Record<string, Profile>>;
  /** Throws if this gateway cannot serve a caller with these settings. */
  check(settings: CallerSettings): void;
  /** Called before each request of a caller is served. */
  beforeUse(caller: Caller): Promise<void>;
  logger: Logger;
}

interface Found {
  name: string;
  settings: CallerSettings;
  createdAt?: Date;
  expiresAt?: number;
  scopes?: string[];
}

/** The caller is `extra.caller` of what it returns. */
export function authorizeCallers({ state, oauth, profiles, check, beforeUse, logger }: Authorizing): Authorize {
  const issued = oauth && new OAuthCallers(oauth);
  const find = (token: string): Promise<Found | undefined> =>
    issued && OAuthCallers.isJwt(token)
      ? issued.callerWith(token)
      : (state?.callerWith(token) ?? Promise.resolve(undefined));
  const verifyAccessToken = async (token: string) => {
    const found = await find(token);
    const profile = found && profileOf(found);
    if (!profile) throw new OAuthError(OAuthErrorCode.InvalidToken, 'Invalid token');
    const { name, settings, createdAt, scopes = [] } = found;
    const { expiresAt = Math.floor(Date.now() / 1_000) + TOKEN_VALID_S } = found;
    const caller: Caller = { name, settings, profile, ...(createdAt ? { createdAt: createdAt.getTime() } : {}) };
    await beforeUse(caller);
    return { token, clientId: name, scopes, expiresAt, extra: { caller } };
  };
  /** A caller whose settings do not fit the configuration may do nothing. */
  const profileOf = ({ name, settings }: Found): Profile | undefined => {
    try {
      check(settings);
      return profileNamed(settings.profile, profiles());
    } catch (error) {
      logger.error(`Caller "${name}" is refused: ${errorText(error)}`);
      return undefined;
    }
  };
  const authorized = requireBearerAuth({
    verifier: { verifyAccessToken },
    ...(oauth ? { resourceMetadataUrl: metadataUrl(oauth) } : {}),
  });
  return async (request) => {
    const result = await authorized(request);
    // 400 is what the SDK answers if the issuer cannot be reached; the request is not at fault
    if (!(result instanceof Response) || result.status !== 400) return result;
    return new Response(result.body, {
      status: 503,
      headers: { 'content-type': 'application/json', 'retry-after': '5' },
    });
  };
}

/** With it clients find the issuer (RFC 9728). */
export function resourceMetadata({ issuer, audience, scopes }: GatewayOAuthOptions): object {
  return {
    resource: audience,
    authorization_servers: [issuer],
    scopes_supported: Object.keys(scopes),
    bearer_methods_supported: ['header'],
  };
}

export function metadataUrl({ audience }: GatewayOAuthOptions): string {
  const { origin, pathname } = new URL(audience);
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
}
