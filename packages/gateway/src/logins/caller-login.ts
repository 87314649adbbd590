// The OAuth login of one caller at one server. The page is for a caller who asks for it; connections that the gateway makes by
// itself never wait for a person.
import { PocketError } from '@pocket-agent/kit';
import type { OAuthLogin } from 'pocket-agent';
import { type KeptLogin, keptOAuth, type LoginStore } from 'pocket-agent/internal/gate';
import type { KeptLogins } from './kept-logins.ts';

/** What the gateway needs to log its callers in at a server. */
export interface ServerLogin {
  scope?: string;
  /** A client that is registered at the authorization server; default: the gateway registers itself. */
  clientId?: string;
  clientSecret?: string;
  /** Where the page sends a caller back to: an address of the caller's own machine. */
  redirectUrl?: string;
}

export const DEFAULT_REDIRECT = 'http://127.0.0.1:19191/callback';
/** How long a person may take at the page. */
const LOGIN_MS = 300_000;

interface CallerLoginOptions {
  caller: string;
  /** The name of the server. */
  name: string;
  /** Name and address of the server. */
  server: string;
  settings: ServerLogin;
  kept: KeptLogins;
  /** The name of the gateway, which the page shows. */
  gateway: string;
}

/** A login in progress. */
interface Attempt {
  page: PromiseWithResolvers<URL>;
  back: PromiseWithResolvers<URL>;
  /** Resolves when the server accepts the login. */
  done: Promise<void>;
}

export class CallerLogin {
  readonly redirectUrl: string;
  readonly login: OAuthLogin;
  readonly #options: CallerLoginOptions;
  #attempt: Attempt | undefined;
  #verifier: string | undefined;

  constructor(options: CallerLoginOptions) {
    const { settings, gateway } = options;
    const { redirectUrl = DEFAULT_REDIRECT, scope, clientId, clientSecret } = settings;
    this.#options = options;
    this.redirectUrl = redirectUrl;
    this.login = keptOAuth({
      store: this.#store,
      redirectUrl,
      authorize: (page) => this.#show(page),
      clientName: gateway,
      ...(scope === undefined ? {} : { scope }),
      ...(clientId === undefined
        ? {}
        : {
            clientInformation: {
              client_id: clientId,
              ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
            },
          }),
    });
  }

  async isDone(): Promise<boolean> {
    return (await this.#own()).tokens !== undefined;
  }

  /** The page of the login; undefined if the server accepts the caller already. `check` sends a request as the caller. */
  async begin(check: () => Promise<void>): Promise<URL | undefined> {
    const attempt = this.#attempt ?? this.#start(check);
    return Promise.race([attempt.page.promise, attempt.done.then(() => undefined)]);
  }

  /** `back`: where the page has sent the caller, with the code. */
  async finish(back: URL): Promise<void> {
    if (!this.#attempt) throw new PocketError('MCP_AUTHORIZATION_NEEDED', 'No login is in progress: start it again.');
    this.#attempt.back.resolve(back);
    await this.#attempt.done;
  }

  #start(check: () => Promise<void>): Attempt {
    const page = Promise.withResolvers<URL>();
    const back = Promise.withResolvers<URL>();
    const late = () => back.reject(new PocketError('MCP_AUTHORIZATION_NEEDED', 'The login took too long.'));
    const timer = setTimeout(late, LOGIN_MS).unref();
    let isShown = false;
    void page.promise.then(() => {
      isShown = true;
    });
    back.promise.catch(() => {}); // the connection may not wait for it yet
    const again = (error: unknown) => {
      if (isShown) throw error;
      return check(); // it waited for a connection that was made without the caller
    };
    const attempt: Attempt = { page, back, done: Promise.resolve() };
    this.#attempt = attempt;
    attempt.done = check()
      .catch(again)
      .finally(() => {
        clearTimeout(timer);
        this.#attempt = undefined;
      });
    attempt.done.catch(() => {}); // `begin` or `finish` reports it
    return attempt;
  }

  #show(page: URL): Promise<URL> {
    if (!this.#attempt) return Promise.reject(this.#needed());
    this.#attempt.page.resolve(page);
    return this.#attempt.back.promise;
  }

  #needed(): PocketError {
    const { caller, name } = this.#options;
    const text = `Caller "${caller}" must log in to "${name}" first: pocket-agent gateway login ${name}`;
    return new PocketError('MCP_AUTHORIZATION_NEEDED', text);
  }

  #own(): Promise<KeptLogin> {
    const { caller, server, kept } = this.#options;
    return kept.read({ caller, server });
  }

  get #store(): LoginStore {
    const { caller, server, kept } = this.#options;
    const shared = { caller: '', server };
    const own = { caller, server };
    return {
      read: async () => {
        const { tokens } = await kept.read(own);
        // without this, each attempt to connect would ask the authorization server for a page that is never opened
        if (!tokens && !this.#attempt) throw this.#needed();
        return { tokens, client: (await kept.read(shared)).client, verifier: this.#verifier };
      },
      update: async (change, renewed) => {
        if ('verifier' in change) this.#verifier = change.verifier;
        if ('client' in change) await kept.write(shared, { client: change.client });
        if (!('tokens' in change)) return;
        if (renewed) await kept.replace(own, { from: { tokens: renewed }, to: { tokens: change.tokens } });
        else if (change.tokens) await kept.write(own, { tokens: change.tokens });
      },
    };
  }
}
