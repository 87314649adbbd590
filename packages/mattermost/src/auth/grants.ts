// The tokens MCP clients get. They hold those of Mattermost sealed, so nothing is kept here but which were revoked.
import { randomUUID } from 'node:crypto';
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { isObject } from '../base/json.ts';
import { isText } from './clients.ts';
import type { Seal } from './seal.ts';
import type { MattermostTokens } from './upstream.ts';

/** What one login came to; it stays the same when its tokens are renewed. */
export interface Grant extends MattermostTokens {
  id: string;
  clientId: string;
}

type Purpose = 'access' | 'refresh';

const MOST_REVOKED = 10_000;

export class Grants {
  readonly #seal: Seal;
  readonly #revoked = new Set<string>();

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  /** The answer of the token endpoint. Without a refresh token of Mattermost there is none of ours. */
  issue(grant: Grant): Record<string, unknown> {
    const { refreshToken, ...access } = grant;
    return {
      access_token: this.#seal.close('access', access),
      token_type: 'Bearer',
      expires_in: Math.max(1, grant.expiresAt - Math.floor(Date.now() / 1000)),
      ...(refreshToken === undefined ? {} : { refresh_token: this.#seal.close('refresh', grant) }),
    };
  }

  /** Throws for a token that is not ours, is over or was revoked. */
  read(purpose: Purpose, token: string): Grant {
    const grant = this.find(purpose, token);
    const code = purpose === 'access' ? OAuthErrorCode.InvalidToken : OAuthErrorCode.InvalidGrant;
    if (!grant || this.#revoked.has(grant.id)) throw new OAuthError(code, 'This token is not valid; log in again');
    return grant;
  }

  find(purpose: Purpose, token: string): Grant | undefined {
    const value = this.#seal.open(purpose, token);
    if (!isObject(value) || !isText(value.id) || !isText(value.clientId) || !isText(value.accessToken))
      return undefined;
    const refreshToken = isText(value.refreshToken) ? value.refreshToken : undefined;
    const { id, clientId, accessToken } = value;
    return { id, clientId, accessToken, refreshToken, expiresAt: Number(value.expiresAt) };
  }

  revoke(id: string): void {
    this.#revoked.add(id);
    for (const oldest of this.#revoked) {
      if (this.#revoked.size <= MOST_REVOKED) break;
      this.#revoked.delete(oldest);
    }
  }
}

export function newGrant(clientId: string, tokens: MattermostTokens): Grant {
  return { ...tokens, id: randomUUID(), clientId };
}
