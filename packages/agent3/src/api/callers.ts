// Authenticates requests by owner tokens: as bearer tokens, in the cookie of a browser that signed in, or for reading
// also as the password of basic authentication.
import type { AuthInfo } from '@modelcontextprotocol/server';
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server';
import type { Authorize } from '@pocket-agent/http/mcp';
import { isRecord } from '@pocket-agent/kit';
import type { Caller } from '../base/agent3.ts';
import type { NamedTokenStore, OwnerTokens } from '../base/owner-tokens.ts';
import { refuse } from './errors.ts';

const HOUR_S = 3_600;
/** A reader without a token. */
export const VISITOR: Caller = { id: 'visitor' };

const COOKIE = 'agent3';

interface CallersOptions {
  tokens: OwnerTokens;
  named: NamedTokenStore | undefined;
  /** Reading needs a token, too. */
  isPrivate: boolean;
}

export class Callers {
  readonly #options: CallersOptions;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** The caller of a request that changes or calls something. */
  async owner(request: Request): Promise<Caller> {
    const token = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
    // a cookie is sent by every page that can reach the hub, so the request must come from a page of the hub
    const cookie = isFromOwnPage(request) ? cookieIn(request) : undefined;
    const caller = await this.#check(token ?? cookie);
    if (caller) return caller;
    return refuse({
      status: 401,
      code: 'UNAUTHORIZED',
      message: 'This needs an owner token: Authorization: Bearer a3_… (agent3 token OWNER creates one)',
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  /** The caller of a request that only reads. */
  async reader(request: Request): Promise<Caller> {
    const caller = await this.viewer(request);
    return caller ?? (this.isPrivate ? askForToken() : VISITOR);
  }

  get isPrivate(): boolean {
    return this.#options.isPrivate;
  }

  /** Undefined without a valid token. */
  async viewer(request: Request): Promise<Caller | undefined> {
    const [, scheme = '', credentials = ''] =
      /^(Bearer|Basic) (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    const token = scheme.toLowerCase() === 'basic' ? passwordIn(credentials) : credentials;
    return this.#check(token || cookieIn(request));
  }

  /** A cookie for the token, if the token is valid and the request is from a page of the hub. */
  async signIn(request: Request, token: string): Promise<string | undefined> {
    if (!isFromOwnPage(request) || !(await this.#check(token))) return undefined;
    return cookieOf(request, token);
  }

  signOut(request: Request): string {
    return `${cookieOf(request, '')}; Max-Age=0`;
  }

  async #check(token: string | undefined): Promise<Caller | undefined> {
    return token ? this.#options.tokens.check(token, this.#options.named) : undefined;
  }
}

function cookieIn(request: Request): string | undefined {
  return new RegExp(`(?:^|;\\s*)${COOKIE}=([^;\\s]+)`).exec(request.headers.get('cookie') ?? '')?.[1];
}

/** Scripts cannot read it, other sites cannot send it, and it ends with the browser. */
function cookieOf(request: Request, token: string): string {
  const isSecure = request.url.startsWith('https:') || request.headers.get('x-forwarded-proto') === 'https';
  return `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

/** Browsers name the page that sends a form or a script's request. */
function isFromOwnPage(request: Request): boolean {
  const origin = URL.parse(request.headers.get('origin') ?? '');
  return origin !== null && origin.host === (request.headers.get('host') ?? new URL(request.url).host);
}

function askForToken(): never {
  return refuse({
    status: 401,
    code: 'UNAUTHORIZED',
    message: 'This hub is private: send an owner token as a bearer token, or as the password of basic authentication',
    // not Basic, for which browsers would show a dialog of their own
    headers: { 'www-authenticate': 'Bearer' },
  });
}

/** Authenticates MCP over HTTP with owner tokens. */
export function mcpAuthorization({ tokens, named }: Pick<CallersOptions, 'tokens' | 'named'>): Authorize {
  return requireBearerAuth({
    verifier: {
      async verifyAccessToken(token) {
        const caller = await tokens.check(token, named);
        if (!caller) throw new OAuthError(OAuthErrorCode.InvalidToken, 'This hub did not issue the token');
        return {
          token,
          clientId: caller.id,
          scopes: [],
          expiresAt: Math.floor(Date.now() / 1000) + HOUR_S,
          extra: { caller },
        };
      },
    },
  });
}

/** The caller that `mcpAuthorization` accepted. */
export function mcpCaller(auth: AuthInfo | undefined): Caller {
  const caller = auth?.extra?.caller;
  if (isCaller(caller)) return caller;
  throw new Error('An MCP request has no authenticated caller');
}

function isCaller(value: unknown): value is Caller {
  return isRecord(value) && typeof value.id === 'string';
}

function passwordIn(basic: string): string {
  return Buffer.from(basic, 'base64')
    .toString('utf8')
    .replace(/^[^:]*:/, '');
}
