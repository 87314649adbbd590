// OAuth for one remote agent: whose token a call sends, and where it is fetched.
import { type HttpFetch, isHost } from '@pocket-agent/http/fetch';
import { PocketError } from '@pocket-agent/kit';
import { currentRun, whileAsking } from 'pocket-agent/internal';
import { A2aError } from '../client/a2a-error.ts';
import { type DeviceLogin, OAuthTokens } from '../client/oauth-tokens.ts';
import { type Scheme, securityOf } from '../client/security.ts';
import type { RemoteOAuth } from './remote-agent-options.ts';

interface RemoteLoginOptions {
  oauth: RemoteOAuth;
  /** The URL of the agent. */
  url: string;
  allowHosts: readonly string[];
  fetch: HttpFetch;
  card: Record<string, unknown>;
  /** Aborted when the agent is closed. */
  signal: AbortSignal;
}

/** The call that needs a token. */
export interface LoginCall {
  /** On whose behalf it is made. */
  caller: string | undefined;
  signal: AbortSignal;
  onProgress(text: string): void;
}

export class RemoteLogin {
  readonly #options: RemoteLoginOptions;
  readonly #tokens: OAuthTokens;

  constructor(options: RemoteLoginOptions) {
    const { fetch } = options;
    this.#options = options;
    this.#tokens = new OAuthTokens({ fetch, isTrustedHost: (url) => this.#isTrusted(url) });
  }

  /** The header of a call. */
  async headers(call: LoginCall): Promise<Record<string, string>> {
    return { authorization: `Bearer ${await this.#token(call)}` };
  }

  /** New credentials after the ones in `headers` were refused. */
  renew(headers: Readonly<Record<string, string>>, call: LoginCall): Promise<Record<string, string>> {
    this.#tokens.forget(headers.authorization?.replace(/^Bearer /, '') ?? '');
    return this.headers(call);
  }

  async #token(call: LoginCall): Promise<string> {
    const { oauth, signal } = this.#options;
    const { clientId, clientSecret, scopes = [], onLogin, logins } = oauth;
    const { caller, onProgress } = call;
    try {
      if (!onLogin) {
        if (clientSecret === undefined)
          throw new PocketError(
            'CONFIG_INVALID',
            'oauth of remoteAgent needs a "clientSecret", or "onLogin" for people.',
          );
        const tokenUrl = this.#address(
          'tokenUrl',
          oauth.tokenUrl,
          this.#scheme(({ tokenUrl }) => tokenUrl),
        );
        return await this.#tokens.get({ tokenUrl, clientId, clientSecret, scopes }, call.signal);
      }
      const device = this.#scheme((scheme) => scheme.device);
      const show = async (login: DeviceLogin) => {
        onProgress(`Waiting for a login at ${login.url} with the code ${login.userCode}.`);
        await onLogin({ ...login, ...(caller === undefined ? {} : { caller }) });
      };
      const grant = {
        tokenUrl: this.#address('tokenUrl', oauth.tokenUrl, device?.tokenUrl),
        deviceUrl: this.#address('deviceUrl', oauth.deviceUrl, device?.deviceUrl),
        ...{ clientId, clientSecret, scopes, signal, show },
        owner: caller ?? '',
        ...(logins
          ? {
              saved: async () => logins.read(caller),
              save: async (refreshToken: string | undefined) => logins.write(caller, refreshToken),
            }
          : {}),
      };
      return await whileAsking(currentRun()?.asking, () => this.#tokens.getLogin(grant, call.signal));
    } catch (error) {
      if (!(error instanceof A2aError)) throw error;
      throw new PocketError('TOOL_FAILED', `The login at ${new URL(this.#options.url).host} failed: ${error.message}`, {
        cause: error,
      });
    }
  }

  #scheme<Value>(read: (scheme: Extract<Scheme, { type: 'oauth2' }>) => Value | undefined): Value | undefined {
    const schemes = [...securityOf(this.#options.card, undefined).schemes.values()];
    return schemes.flatMap((scheme) => (scheme.type === 'oauth2' ? (read(scheme) ?? []) : []))[0];
  }

  /** The configured address, or that of the card if its host may have our credentials: cards are not trusted. */
  #address(name: string, configured: string | undefined, offered: string | undefined): string {
    if (configured !== undefined) return configured;
    const url = offered === undefined ? undefined : URL.parse(offered);
    if (url && (url.origin === new URL(this.#options.url).origin || this.#isAllowed(url))) return url.href;
    const reason = url ? `its card names one at ${url.host}, which is not in "allowHosts"` : 'its card names none';
    throw new PocketError('CONFIG_INVALID', `remoteAgent needs oauth.${name} for ${this.#options.url}: ${reason}.`);
  }

  #isTrusted(url: URL): boolean {
    return url.origin === new URL(this.#options.url).origin || this.#isAllowed(url);
  }

  #isAllowed(url: URL): boolean {
    return this.#options.allowHosts.some((allowed) => isHost(allowed, url));
  }
}
