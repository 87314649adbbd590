// Authenticates requests by owner tokens: as bearer tokens, or for reading also as the password of a browser login.
import type { AuthInfo } from '@modelcontextprotocol/server';
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server';
import type { Authorize } from '@pocket-agent/http/mcp';
import { isRecord } from '@pocket-agent/kit';
import type { Caller } from '../base/agent3.ts';
import type { OwnerTokens } from '../base/owner-tokens.ts';
import { refuse } from './errors.ts';

const HOUR_S = 3_600;
const VISITOR: Caller = { id: 'visitor' };

interface CallersOptions {
  tokens: OwnerTokens;
  /** Reading needs a token, too. */
  isPrivate: boolean;
}

export class Callers {
  readonly #options: CallersOptions;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** The caller of a request that changes or calls something. */
  owner(request: Request): Caller {
    const token = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
    const caller = token === undefined ? undefined : this.#options.tokens.read(token);
    if (caller) return caller;
    return refuse({
      status: 401,
      code: 'UNAUTHORIZED',
      message: 'This needs an owner token: Authorization: Bearer a3_… (agent3 token OWNER creates one)',
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  /** The caller of a request that only reads. */
  reader(request: Request): Caller {
    return this.#tokenOwner(request) ?? (this.#options.isPrivate ? askForToken('This hub is private') : VISITOR);
  }

  /** The caller of a request that reads an owner's private data. */
  privateReader(request: Request): Caller {
    return this.#tokenOwner(request) ?? askForToken('Reading calls requires a token');
  }

  #tokenOwner(request: Request): Caller | undefined {
    const [, scheme = '', credentials = ''] =
      /^(Bearer|Basic) (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    const token = scheme.toLowerCase() === 'basic' ? passwordIn(credentials) : credentials;
    return this.#options.tokens.read(token);
  }
}

function askForToken(why: string): never {
  return refuse({
    status: 401,
    code: 'UNAUTHORIZED',
    message: `${why}: send an owner token as a bearer token, or as the password of a browser login`,
    headers: { 'www-authenticate': 'Basic realm="Agent3", charset="UTF-8"' },
  });
}

/** Authenticates MCP over HTTP with owner tokens. */
export function mcpAuthorization(tokens: OwnerTokens): Authorize {
  return requireBearerAuth({
    verifier: {
      async verifyAccessToken(token) {
        const caller = tokens.read(token);
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
