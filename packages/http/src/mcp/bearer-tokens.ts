// Authorizes clients that send one of a list of bearer tokens.
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server';
import { callerOfToken, isSameSecret } from '@pocket-agent/kit';
import type { Authorize } from './mcp-handler.ts';

export interface BearerToken {
  token: string;
  /** Passed on as `authInfo.extra`. */
  extra?: Record<string, unknown>;
}

export function bearerTokens(tokens: readonly BearerToken[]): Authorize {
  const known = tokens.map(({ token, extra }) => ({
    token,
    named: { clientId: callerOfToken(token), scopes: [], ...(extra ? { extra } : {}) },
  }));
  return requireBearerAuth({
    verifier: {
      async verifyAccessToken(given) {
        const found = known.find(({ token }) => isSameSecret(given, token));
        if (!found) throw new OAuthError(OAuthErrorCode.InvalidToken, 'Invalid token');
        const expiresAt = Math.floor(Date.now() / 1000) + 3600;
        return { token: given, ...found.named, expiresAt };
      },
    },
  });
}
