// Callers with an access token of an external issuer: a JWT that is signed by the issuer and meant for this gateway.
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { configError, errorText, isRecord, OptionSet, PocketError, stringRule } from '@pocket-agent/kit';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { CallerSettings } from './caller.ts';

/** Whose tokens a gateway accepts in addition to its own. */
export interface GatewayOAuthOptions {
  /** The address of the issuer, as in its tokens. */
  issuer: string;
  /** Tokens must be meant for this audience: the public URL of the gateway's MCP endpoint. */
  audience: string;
  /** The settings of callers by scope of their token. The first scope in this object that a token has counts. */
  scopes: Readonly<Record<string, CallerSettings>>;
}

const oauthOptions = new OptionSet<GatewayOAuthOptions>('oauth', {
  issuer: stringRule,
  audience: stringRule,
  scopes: { expected: 'an object of settings by scope', accepts: isRecord },
});

/** Never `none`, and nothing with a shared secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const METADATA_MS = 5_000;
const MAX_METADATA_BYTES = 1_000_000;
/** A retry after a failure to read the metadata. */
const RETRY_MS = 5_000;
const CLOCK_TOLERANCE_S = 5;
/** Names of token callers have no colon. */
const PREFIX = 'oauth:';
const subject = /^[\x21-\x7e]{1,256}$/;

export function checkOAuthOptions(options: GatewayOAuthOptions): void {
  oauthOptions.check(options);
  const { issuer, audience, scopes } = options;
  if (!issuer || !audience || !scopes) throw configError('oauth of a gateway needs issuer, audience and scopes.');
  for (const [name, url] of Object.entries({ issuer, audience }))
    if (!URL.canParse(url)) throw configError(`oauth.${name} must be a URL, not "${url}".`);
  const { protocol, hostname } = new URL(issuer);
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal))
    throw configError(`oauth.issuer must begin with https://, not "${issuer}".`);
}

export interface OAuthCaller {
  name: string;
  settings: CallerSettings;
  expiresAt: number;
  scopes: string[];
}

export class OAuthCallers {
  readonly options: GatewayOAuthOptions;
  #keys: Promise<JWTVerifyGetKey> | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: GatewayOAuthOptions) {
    this.options = options;
  }

  /** Whether a token looks like a JWT. */
  static isJwt(token: string): boolean {
    return token.split('.').length === 3;
  }

  /** Throws an OAuthError for a token that is not valid here. */
  async callerWith(token: string): Promise<OAuthCaller> {
    const { issuer, audience, scopes: known } = this.options;
    const keys = await this.#issuerKeys();
    let payload: JWTPayload;
    try {
      const requiredClaims = ['exp', 'sub'];
      const checks = { issuer, audience, algorithms: ALGORITHMS, requiredClaims, clockTolerance: CLOCK_TOLERANCE_S };
      ({ payload } = await jwtVerify(token, keys, checks));
    } catch (error) {
      if (error instanceof KeysUnavailable) throw unavailable();
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'Invalid token');
    }
    const { sub = '', exp = 0 } = payload;
    if (!subject.test(sub)) throw new OAuthError(OAuthErrorCode.InvalidToken, 'Invalid token');
    const scopes = typeof payload.scope === 'string' ? payload.scope.split(' ') : [];
    const [, settings] = Object.entries(known).find(([scope]) => scopes.includes(scope)) ?? [];
    if (!settings)
      throw new OAuthError(
        OAuthErrorCode.InsufficientScope,
        `One of these scopes is needed: ${Object.keys(known).join(' ')}`,
      );
    return { name: `${PREFIX}${sub}`, settings, expiresAt: exp, scopes };
  }

  async #issuerKeys(): Promise<JWTVerifyGetKey> {
    if (!this.#keys && Date.now() - this.#failedAt < RETRY_MS) throw unavailable();
    this.#keys ??= this.#readKeys();
    try {
      return await this.#keys;
    } catch {
      this.#keys = undefined;
      this.#failedAt = Date.now();
      throw unavailable();
    }
  }

  async #readKeys(): Promise<JWTVerifyGetKey> {
    const { issuer } = this.options;
    const { jwks_uri: address } = await readMetadata(issuer);
    const isSameProtocol =
      typeof address === 'string' && URL.canParse(address) && new URL(address).protocol === new URL(issuer).protocol;
    if (!isSameProtocol) throw new PocketError('CONFIG_INVALID', `The issuer ${issuer} names no keys (jwks_uri).`);
    const keys = createRemoteJWKSet(new URL(address), { timeoutDuration: METADATA_MS });
    return async (header, token) => {
      try {
        return await keys(header, token);
      } catch (error) {
        if (tokenErrors.some((kind) => error instanceof kind)) throw error;
        throw new KeysUnavailable(errorText(error), { cause: error });
      }
    };
  }
}

/** The keys of the issuer could not be downloaded. */
class KeysUnavailable extends Error {}

/** Errors of a token, not of the download of the keys. */
const tokenErrors = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

function unavailable(): OAuthError {
  return new OAuthError(OAuthErrorCode.TemporarilyUnavailable, 'The issuer cannot be reached');
}

/** The metadata of the issuer, of OAuth (RFC 8414) or OpenID Connect. It must name the same issuer. */
async function readMetadata(issuer: string): Promise<Record<string, unknown>> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const problems: string[] = [];
  for (const place of places) {
    try {
      const response = await fetch(place, { signal: AbortSignal.timeout(METADATA_MS), redirect: 'error' });
      const text = response.ok ? await response.text() : '';
      const metadata: unknown = text.length <= MAX_METADATA_BYTES && text !== '' ? JSON.parse(text) : undefined;
      if (isRecord(metadata) && metadata.issuer === issuer) return metadata;
      problems.push(`${place} answered ${response.status}`);
    } catch (error) {
      problems.push(`${place}: ${errorText(error)}`);
    }
  }
  throw new PocketError(
    'CONFIG_INVALID',
    `The metadata of the issuer ${issuer} cannot be read: ${problems.join('; ')}`,
  );
}
