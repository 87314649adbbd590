// Who asks: the owner of the bearer token. A browser, which cannot send one, may show it as a password to read.
import type { AuthInfo } from '@modelcontextprotocol/server';
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server';
import type { Authorize } from '@pocket-agent/http/mcp';
import type { OwnerTokens } from '../base/owner-tokens.ts';
import type { Caller } from '../base/types.ts';
import { refuse } from './errors.ts';

const HOUR_S = 3_600;
const VISITOR: Caller = { id: 'visitor' };

export interface CallersOptions {
  tokens: OwnerTokens;
  /** Nobody reads without a token. */
  isPrivate: boolean;
}

export class Callers {
  readonly #options: CallersOptions;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** Of a request that changes or calls something. */
  owner(request: Request): Caller {
    const token = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
    const caller = token === undefined ? undefined : this.#options.tokens.read(token);
    if (caller) return caller;
    return refuse({
      status: 401,
      code: 'UNAUTHORIZED',
      message: 'This needs the token of an owner: Authorization: Bearer a3_… (agent3 token OWNER makes one)',
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  /** Of a request that only reads. */
  reader(request: Request): Caller {
    return this.#shown(request) ?? (this.#options.isPrivate ? askForToken('This hub is private') : VISITOR);
  }

  /** The owner who reads what is theirs, in a browser or with a bearer token. */
  readingOwner(request: Request): Caller {
    return this.#shown(request) ?? askForToken('Only owners read calls');
  }

  #shown(request: Request): Caller | undefined {
    const [, scheme = '', sent = ''] = /^(Bearer|Basic) (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    const token = scheme.toLowerCase() === 'basic' ? passwordIn(sent) : sent;
    return this.#options.tokens.read(token);
  }
}

function askForToken(why: string): never {
  return refuse({
    status: 401,
    code: 'UNAUTHORIZED',
    message: `${why}: show the token of an owner as a bearer token, or as the password of a browser`,
    headers: { 'www-authenticate': 'Basic realm="Agent3", charset="UTF-8"' },
  });
}

/** The same tokens for MCP over HTTP. */
export function mcpGate(tokens: OwnerTokens): Authorize {
  return requireBearerAuth({
    verifier: {
      async verifyAccessToken(token) {
        const caller = tokens.read(token);
        if (!caller) throw new OAuthError(OAuthErrorCode.InvalidToken, 'This is not a token of this hub');
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

/** Whom `mcpGate` let in. */
export function mcpCaller(auth: AuthInfo | undefined): Caller {
  const caller = auth?.extra?.caller;
  if (isCaller(caller)) return caller;
  throw new Error('A request came past the gate without a caller');
}

function isCaller(value: unknown): value is Caller {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string';
}

function passwordIn(basic: string): string {
  return Buffer.from(basic, 'base64')
    .toString('utf8')
    .replace(/^[^:]*:/, '');
}
