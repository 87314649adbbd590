// Dynamic registration of MCP clients. The client id is the encrypted registration itself, so nothing is stored: a restart
// loses no client, and registrations use no memory.
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { isRecord, isString } from '@pocket-agent/kit';
import { isSameRedirect, type RedirectUris } from './redirect-uris.ts';
import type { TokenCipher } from './token-cipher.ts';

export interface RegisteredClient {
  id: string;
  name: string;
  redirectUris: readonly string[];
}

const MAX_REDIRECT_URIS = 5;
const MAX_NAME_LENGTH = 100;

export class Clients {
  readonly #cipher: TokenCipher;
  readonly #allowed: RedirectUris;

  constructor(cipher: TokenCipher, allowed: RedirectUris) {
    this.#cipher = cipher;
    this.#allowed = allowed;
  }

  /** The registration response (RFC 7591). Every client is a public client and must use PKCE. */
  register(metadata: unknown): Record<string, unknown> {
    const { redirect_uris: uris, client_name } = isRecord(metadata) ? metadata : {};
    if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_REDIRECT_URIS || !uris.every(isString)) {
      throw new OAuthError(
        OAuthErrorCode.InvalidClientMetadata,
        `redirect_uris must be a list of 1 to ${MAX_REDIRECT_URIS} strings`,
      );
    }
    if (!uris.every((uri) => this.#allowed.allows(uri))) {
      throw new OAuthError(OAuthErrorCode.InvalidRedirectUri, 'This server does not allow one of the redirect_uris');
    }
    const name = isString(client_name) ? client_name.slice(0, MAX_NAME_LENGTH) : '';
    return {
      client_id: this.#cipher.encrypt('client', { name, redirectUris: uris }),
      client_id_issued_at: Math.floor(Date.now() / 1000),
      ...(name === '' ? {} : { client_name: name }),
      redirect_uris: uris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
  }

  find(id: string): RegisteredClient | undefined {
    const found = this.#cipher.decrypt('client', id);
    if (!isRecord(found) || !Array.isArray(found.redirectUris)) return undefined;
    return { id, name: isString(found.name) ? found.name : '', redirectUris: found.redirectUris.filter(isString) };
  }

  /** The URI must be registered by the client and still be allowed by the configuration. */
  mayRedirect({ redirectUris }: RegisteredClient, uri: string): boolean {
    return this.#allowed.allows(uri) && redirectUris.some((registered) => isSameRedirect(registered, uri));
  }
}
