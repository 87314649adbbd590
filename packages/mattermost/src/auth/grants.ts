// Tokens of MCP clients. They contain the encrypted Mattermost tokens, so only revocations are stored.
import { randomUUID } from 'node:crypto';
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { dropOldest, isRecord, isString } from '@pocket-agent/kit';
import type { TokenCipher } from './token-cipher.ts';
import type { MattermostTokens } from './upstream.ts';

/** The result of one login; keeps its id when tokens are refreshed. */
export interface Grant extends MattermostTokens {
  id: string;
  clientId: string;
}

type Purpose = 'access' | 'refresh';

const MAX_REVOKED = 10_000;

export class Grants {
  readonly #cipher: TokenCipher;
  readonly #revoked = new Set<string>();

  constructor(cipher: TokenCipher) {
    this.#cipher = cipher;
  }

  /** The response of the token endpoint. It has a refresh token only if Mattermost issued one. */
  issue(grant: Grant): Record<string, unknown> {
    const { refreshToken, ...access } = grant;
    return {
      access_token: this.#cipher.encrypt('access', access),
      token_type: 'Bearer',
      expires_in: Math.max(1, grant.expiresAt - Math.floor(Date.now() / 1000)),
      refresh_token: refreshToken && this.#cipher.encrypt('refresh', grant),
    };
  }

  /** Throws if the token is unknown or revoked. */
  read(purpose: Purpose, token: string): Grant {
    const grant = this.find(purpose, token);
    const code = purpose === 'access' ? OAuthErrorCode.InvalidToken : OAuthErrorCode.InvalidGrant;
    if (!grant || this.#revoked.has(grant.id)) throw new OAuthError(code, 'This token is not valid; log in again');
    return grant;
  }

  find(purpose: Purpose, token: string): Grant | undefined {
    const value = this.#cipher.decrypt(purpose, token);
    if (!isRecord(value) || !isString(value.id) || !isString(value.clientId) || !isString(value.accessToken))
      return undefined;
    const refreshToken = isString(value.refreshToken) ? value.refreshToken : undefined;
    const { id, clientId, accessToken } = value;
    return { id, clientId, accessToken, refreshToken, expiresAt: Number(value.expiresAt) };
  }

  revoke(id: string): void {
    this.#revoked.add(id);
    dropOldest(this.#revoked, MAX_REVOKED);
  }
}

export function newGrant(clientId: string, tokens: MattermostTokens): Grant {
  return { ...tokens, id: randomUUID(), clientId };
}
