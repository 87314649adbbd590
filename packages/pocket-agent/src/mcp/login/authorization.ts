// OAuth tokens of remote servers: requests that are refused at the same time share one renewal and one login.
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

/** Arguments of the SDK's `auth`, besides the provider. */
interface Asked {
  serverUrl: URL;
  fetchFn: FetchLike;
  scope?: string;
  resourceMetadataUrl?: URL;
}

// by provider: clients with the same provider share its tokens, and a refresh token works only once
const authorizations = new WeakMap<OAuthClientProvider, Authorization>();

export function authorizationOf(provider: OAuthClientProvider, login: OAuthLogin | undefined): Authorization {
  const known = authorizations.get(provider);
  if (known) return known;
  const made = new Authorization(provider, login);
  authorizations.set(provider, made);
  return made;
}

/** The SDK would renew the tokens for each refused request, and each renewal would revoke the tokens of the one before. */
class Authorization {
  readonly #provider: OAuthClientProvider;
  readonly #login: OAuthLogin | undefined;
  #renewing: Promise<string> | undefined;
  #loggingIn: Promise<void> | undefined;
  /** The login page that a person is at. */
  #page: Asked | undefined;

  constructor(provider: OAuthClientProvider, login: OAuthLogin | undefined) {
    this.#provider = provider;
    this.#login = login;
  }

  /** A `fetch` that sends a refused request once more if the tokens can be renewed without a person. */
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
      const message = `The server rejected the renewed token (${status})`;
      throw new SdkHttpError(SdkErrorCode.ClientHttpAuthentication, message, { status, statusText });
    };
  }

  /** Takes a person through the login page that the last renewal asked for, if it asked for one. */
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
    // another request has renewed them already
    if (tokens && `Bearer ${tokens.access_token}` !== refused) return tokens.access_token;
    if (this.#page && this.#login) throw new UnauthorizedError(); // a second login page would invalidate the first
    const needsMore = challenge.status === 403;
    const scope = needsMore ? computeScopeUnion(tokens?.scope, challenge.scope) : challenge.scope;
    const page: Asked = {
      ...asked,
      ...(scope === undefined ? {} : { scope }),
      ...(challenge.resourceMetadataUrl ? { resourceMetadataUrl: challenge.resourceMetadataUrl } : {}),
    };
    // a refresh never adds scopes
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
  await response.body?.cancel().catch(() => {}); // the stream has failed already
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
      const text = `The authorization server ${target.host} of ${server.host} has a private address and was not contacted.`;
      throw new PocketError('MCP_CONNECT_FAILED', text);
    }
    return fetch(to, init);
  };
}
