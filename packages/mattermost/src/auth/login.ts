// The login of an MCP client through the browser at Mattermost: /authorize, consent page, callback. A cookie binds each
// login to the browser that started it.
import { randomBytes } from 'node:crypto';
import { errorText, isSameSecret } from '@pocket-agent/kit';
import { isMattermostError } from '../base/errors.ts';
import { ExpiringMap } from '../base/expiring-map.ts';
import type { Log } from '../base/log.ts';
import type { OAuthConfig } from '../config/config.ts';
import type { Clients, RegisteredClient } from './clients.ts';
import { type Grant, newGrant } from './grants.ts';
import { consentPage, errorPage, show } from './pages.ts';
import { readForm } from './request-form.ts';
import type { Upstream } from './upstream.ts';

export const CONSENT_PATH = '/oauth/consent';

/** The grant behind an authorization code; the client must prove that it requested the code (PKCE). */
export interface CodeGrant {
  grant: Grant;
  redirectUri: string;
  challenge: string;
}

interface LoginRequest {
  client: RegisteredClient;
  redirectUri: string;
  /** State of the client, returned unchanged. */
  state: string | undefined;
  challenge: string;
  /** PKCE verifier for Mattermost. */
  verifier: string;
  /** Stored in a cookie of the browser that started the login. */
  secret: string;
  isAllowed: boolean;
}

interface LoginOptions {
  oauth: OAuthConfig;
  clients: Clients;
  upstream: Upstream;
  codes: ExpiringMap<CodeGrant>;
  /** URL of the MCP endpoint, the only valid `resource`. */
  resource: string;
  log: Log;
}

const LOGIN_TTL_S = 600;
const MAX_LOGINS = 1000;

export class Login {
  readonly #options: LoginOptions;
  readonly #requests = new ExpiringMap<LoginRequest>({ maxEntries: MAX_LOGINS, ttlMs: LOGIN_TTL_S * 1000 });

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  authorize(request: Request): Response {
    const { oauth, clients, upstream, resource } = this.#options;
    const query = new URL(request.url).searchParams;
    if ([...query.keys()].some((name, index, all) => name !== 'resource' && all.indexOf(name) !== index)) {
      return errorPage('The request contains a parameter twice.');
    }
    const client = clients.find(query.get('client_id') ?? '');
    if (!client) return errorPage('This program is not registered. Remove its old login so that it registers again.');
    const redirectUri =
      query.get('redirect_uri') ?? (client.redirectUris.length === 1 ? client.redirectUris[0] : undefined);
    if (redirectUri === undefined || !clients.mayRedirect(client, redirectUri)) {
      return errorPage('The redirect address of the program (redirect_uri) is not allowed.');
    }
    const state = query.get('state') ?? undefined;
    const refuse = (error: string, description: string) =>
      this.#sendBack({ redirectUri, state }, { error, error_description: description });
    if (query.get('response_type') !== 'code') {
      return refuse('unsupported_response_type', 'Only response_type=code is supported');
    }
    const challenge = query.get('code_challenge') ?? '';
    if (query.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
      return refuse('invalid_request', 'PKCE with code_challenge_method=S256 is required');
    }
    if (query.getAll('resource').some((requested) => !isSameResource(requested, resource))) {
      return refuse('invalid_target', `The only valid resource is ${resource}`);
    }
    const secret = randomToken();
    const verifier = randomToken();
    const isAllowed = !oauth.requireConsent;
    const key = randomToken();
    this.#requests.set(key, { client, redirectUri, state, challenge, verifier, secret, isAllowed });
    const headers = { 'set-cookie': this.#cookie(key, secret) };
    if (isAllowed) return redirect(upstream.loginUrl(key, verifier), headers);
    const mattermost = new URL(oauth.mattermostPublicUrl).host;
    const action = oauth.mcpPublicUrl + CONSENT_PATH;
    return show(consentPage({ client, redirectUri, mattermost, action, request: key }), { headers });
  }

  /** Accepts the form only from the browser and the origin that the page was shown to. */
  async consent(request: Request): Promise<Response> {
    const { oauth, upstream } = this.#options;
    const form = await readForm(request);
    const key = form.get('request') ?? '';
    const login = this.#find(request, key);
    const origin = request.headers.get('origin');
    if (!login || (origin !== null && origin !== new URL(oauth.mcpPublicUrl).origin)) return unknownLogin();
    if (form.get('choice') !== 'allow') {
      this.#requests.take(key);
      return this.#sendBack(login, { error: 'access_denied', error_description: 'Access was denied' });
    }
    login.isAllowed = true;
    return redirect(upstream.loginUrl(key, login.verifier));
  }

  /** Mattermost redirects the browser here after the login. */
  async callback(request: Request): Promise<Response> {
    const { upstream, codes, log } = this.#options;
    const query = new URL(request.url).searchParams;
    const key = query.get('state') ?? '';
    const login = this.#find(request, key);
    if (!login?.isAllowed) return unknownLogin();
    this.#requests.take(key);
    const code = query.get('code');
    if (!code) return this.#sendBack(login, { error: 'access_denied', error_description: 'Mattermost denied access' });
    try {
      const { client, redirectUri, challenge } = login;
      const grant = newGrant(client.id, await upstream.exchange(code, login.verifier));
      const ownCode = randomToken();
      codes.set(ownCode, { grant, redirectUri, challenge });
      return this.#sendBack(login, { code: ownCode });
    } catch (error) {
      if (!isMattermostError(error)) throw error;
      log.warning('oauth_login_failed', { code: error.code, error: errorText(error) });
      const isRefusal = error.status !== undefined && error.status < 500 && error.status !== 429;
      const description = isRefusal ? 'Mattermost refused the login' : 'Mattermost cannot be reached; try again';
      return this.#sendBack(login, {
        error: isRefusal ? 'server_error' : 'temporarily_unavailable',
        error_description: description,
      });
    }
  }

  /** Finds a login if the browser has its cookie. */
  #find(request: Request, key: string): LoginRequest | undefined {
    const login = this.#requests.get(key);
    const cookies = request.headers.get('cookie')?.split(/;\s*/) ?? [];
    const cookieSecret = cookies.find((cookie) => cookie.startsWith(`${cookieName(key)}=`))?.split('=', 2)[1];
    return login && cookieSecret !== undefined && isSameSecret(cookieSecret, login.secret) ? login : undefined;
  }

  #cookie(key: string, secret: string): string {
    const secure = this.#options.oauth.mcpPublicUrl.startsWith('https:') ? '; Secure' : '';
    return `${cookieName(key)}=${secret}; Path=/; Max-Age=${LOGIN_TTL_S}; HttpOnly; SameSite=Lax${secure}`;
  }

  #sendBack(
    { redirectUri, state }: Pick<LoginRequest, 'redirectUri' | 'state'>,
    answer: Record<string, string>,
  ): Response {
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
    if (state !== undefined) url.searchParams.set('state', state);
    url.searchParams.set('iss', this.#options.oauth.mcpPublicUrl);
    return redirect(url.href);
  }
}

export function isSameResource(requested: string, resource: string): boolean {
  return URL.parse(requested)?.href.replace(/\/$/, '') === new URL(resource).href.replace(/\/$/, '');
}

/** A random value for codes, cookies and PKCE verifiers. */
function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

function cookieName(key: string): string {
  return `mcp_login_${key.slice(0, 8)}`;
}

function redirect(location: string, headers: Record<string, string> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...headers },
  });
}

function unknownLogin(): Response {
  return errorPage('This login has expired or was started in another browser. Start again from your program.');
}
