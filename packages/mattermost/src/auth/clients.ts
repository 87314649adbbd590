// MCP clients that register themselves. A client's id is its sealed registration: nothing is kept, so a restart loses
// no client and no number of registrations fills the memory.
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { isObject } from '../base/json.ts';
import { isSameRedirect, type RedirectUris } from './redirect-uris.ts';
import type { Seal } from './seal.ts';

export interface RegisteredClient {
  id: string;
  name: string;
  redirectUris: readonly string[];
}

const MOST_REDIRECT_URIS = 5;
const LONGEST_NAME = 100;

export class Clients {
  readonly #seal: Seal;
  readonly #allowed: RedirectUris;

  constructor(seal: Seal, allowed: RedirectUris) {
    this.#seal = seal;
    this.#allowed = allowed;
  }

  /** The answer to RFC 7591; every client is a public one that proves itself by PKCE. */
  register(metadata: unknown): Record<string, unknown> {
    const { redirect_uris: uris, client_name } = isObject(metadata) ? metadata : {};
    if (!Array.isArray(uris) || uris.length === 0 || uris.length > MOST_REDIRECT_URIS || !uris.every(isText)) {
      throw new OAuthError(
        OAuthErrorCode.InvalidClientMetadata,
        `redirect_uris must be a list of 1 to ${MOST_REDIRECT_URIS}`,
      );
    }
    if (!uris.every((uri) => this.#allowed.allows(uri))) {
      throw new OAuthError(OAuthErrorCode.InvalidRedirectUri, 'This server does not allow one of the redirect_uris');
    }
    const name = isText(client_name) ? client_name.slice(0, LONGEST_NAME) : '';
    return {
      client_id: this.#seal.close('client', { name, redirectUris: uris }),
      client_id_issued_at: Math.floor(Date.now() / 1000),
      ...(name === '' ? {} : { client_name: name }),
      redirect_uris: uris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
  }

  find(id: string): RegisteredClient | undefined {
    const found = this.#seal.open('client', id);
    if (!isObject(found) || !Array.isArray(found.redirectUris)) return undefined;
    return { id, name: isText(found.name) ? found.name : '', redirectUris: found.redirectUris.filter(isText) };
  }

  /** It must be one the client registered, and still be allowed by the configuration. */
  mayRedirect({ redirectUris }: RegisteredClient, uri: string): boolean {
    return this.#allowed.allows(uri) && redirectUris.some((registered) => isSameRedirect(registered, uri));
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}
