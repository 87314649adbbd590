// Tokens of remote servers: one renewal and one login for all requests that were refused together.
import {
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  type FetchLike,
  isStrictScopeSuperset,
  type OAuthClientProvider,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { isPublicHost } from '@pocket-agent/http/fetch';
import { abortable, PocketError } from '@pocket-agent/kit';
import type { OAuthLogin } from './oauth.ts';

interface Challenge {
  status: number;
  scope: string | undefined;
  resourceMetadataUrl: URL | undefined;
}

/** What the SDK's `auth` needs to know of the server beside its provider. */
interface Asked {
  serverUrl: URL;
  fetchFn: FetchLike;
  scope?: string;
  resourceMetadataUrl?: URL;
}

// by provider: clients that share one share its tokens, and a refresh token works once
const authorizations = new WeakMap<OAuthClientProvider, Authorization>();

export function authorizationOf(provider: OAuthClientProvider, login: OAuthLogin | undefined): Authorization {
  const known = authorizations.get(provider);
  if (known) return known;
  const made = new Authorization(provider, login);
  authorizations.set(provider, made);
  return made;
}

/** Left to itself the SDK renews for every refused request apart, and each renewal takes away the tokens of the other. */
class Authorization {
  readonly #provider: OAuthClientProvider;
  readonly #login: OAuthLogin | undefined;
  #renewing: Promise<string> | undefined;
  #loggingIn: Promise<void> | undefined;
  /** A login page that a person has yet to come back from. */
  #page: Asked | undefined;

  constructor(provider: OAuthClientProvider, login: OAuthLogin | undefined) {
    this.#provider = provider;
    this.#login = login;
  }

  /** For requests to `serverUrl`: a refused one is sent once more when the tokens could be renewed without a person. */
  fetchFor(serverUrl: URL, fetch: FetchLike): FetchLike {
    return async (url, init) => {
      const response = await fetch(url, init);
      const challenge = challengeOf(response);
      if (!challenge) return response;
      await discard(response);
      const headers = new Headers(init?.headers);
      const renewing = this.#renew(headers.get('authorization'), challenge, { serverUrl, fetchFn: fetch });
      headers.set('authorization', `Bearer ${await (init?.signal ? abortable(renewing, init.signal) : renewing)}`);
      const second = await fetch(url, { ...init, headers });
      if (!challengeOf(second)) return second;
      await discard(second);
      const { status, statusText } = second;
      const message = `The server answered ${status} also to a new token`;
      throw new SdkHttpError(SdkErrorCode.ClientHttpAuthentication, message, { status, statusText });
    };
  }

  /** Takes a person through the login page of the last renewal; nothing to do when somebody has done so meanwhile. */
  logIn(): Promise<void> {
    if (!this.#page || !this.#login) return Promise.resolve();
    this.#loggingIn ??= this.#finish(this.#login, this.#page).finally(() => {
      this.#loggingIn = undefined;
      this.#page = undefined;
    });
    return this.#loggingIn;
  }

  #renew(refused: string | null, challenge: Challenge, asked: Asked): Promise<string> {
    this.#renewing ??= this.#renewOnce(refused, challenge, asked).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewOnce(refused: string | null, challenge: Challenge, asked: Asked): Promise<string> {
    const tokens = await this.#provider.tokens();
    // renewed since that request was sent
    if (tokens && `Bearer ${tokens.access_token}` !== refused) return tokens.access_token;
    if (this.#page && this.#login) throw new UnauthorizedError(); // a second page would make the first one worthless
    const needsMore = challenge.status === 403;
    const scope = needsMore ? computeScopeUnion(tokens?.scope, challenge.scope) : challenge.scope;
    const page: Asked = {
      ...asked,
      ...(scope === undefined ? {} : { scope }),
      ...(challenge.resourceMetadataUrl ? { resourceMetadataUrl: challenge.resourceMetadataUrl } : {}),
    };
    // a refresh never gives more rights than there were
    const forceReauthorization = needsMore && isStrictScopeSuperset(scope, tokens?.scope);
    if ((await auth(this.#provider, { ...page, forceReauthorization })) !== 'AUTHORIZED') {
      this.#page = page;
      throw new UnauthorizedError();
    }
    return (await this.#provider.tokens())?.access_token ?? '';
  }

  async #finish(login: OAuthLogin, page: Asked): Promise<void> {
    const { searchParams } = await login.waitForRedirect();
    const authorizationCode = searchParams.get('code');
    if (!authorizationCode) {
      const reason = searchParams.get('error_description') ?? searchParams.get('error') ?? 'no code came back';
      throw new PocketError('MCP_AUTHORIZATION_NEEDED', `The login failed: ${reason}.`);
    }
    const iss = searchParams.get('iss');
    await auth(this.#provider, { ...page, authorizationCode, ...(iss === null ? {} : { iss }) });
  }
}

function challengeOf(response: Response): Challenge | undefined {
  const { status } = response;
  if (status !== 401 && status !== 403) return undefined;
  const { scope, resourceMetadataUrl, error } = extractWWWAuthenticateParams(response);
  return status === 401 || error === 'insufficient_scope' ? { status, scope, resourceMetadataUrl } : undefined;
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {}); // broken off already
}

/**
 * For the requests of a login, whose addresses the MCP server names: a server on the internet must not send us to
 * private addresses. `fetchOwn` is for the origin of the server, `fetch` for all others.
 */
export function loginFetch(server: URL, fetchOwn: FetchLike, fetch: FetchLike): FetchLike {
  return async (to, init) => {
    const target = new URL(to);
    if (target.origin === server.origin) return fetchOwn(to, init);
    if ((await isPublicHost(server.hostname)) && !(await isPublicHost(target.hostname))) {
      const text = `${server.host} wants its login at ${target.host}, which has no public address; it was not called.`;
      throw new PocketError('MCP_CONNECT_FAILED', text);
    }
    return fetch(to, init);
  };
}
