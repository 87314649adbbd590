// The OAuth login of one caller at one server. The page is for a caller who asks for it; connections that the gateway makes by
// itself never wait for a person. What is needed to finish a login is kept in the state, so any process can finish it.
import { PocketError } from '@pocket-agent/kit';
import type { OAuthLogin } from 'pocket-agent';
import { type KeptLogin, keptOAuth, type LoginPage, type LoginStore } from 'pocket-agent/internal/gate';
import { type KeptLogins, type LoginPlace, pageOf } from './kept-logins.ts';

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
  /** Tells a caller how to log in. Default: the command of the gateway. */
  advice?: string;
}

/** A connection that a caller has asked for: to get a login page, or to finish a login. */
interface Attempt {
  /** Undefined to get a page. */
  finishing?: { page: LoginPage; back: URL };
  /** The server has asked for a login. */
  isAsked?: boolean;
}

type Check = () => Promise<void>;

export class CallerLogin {
  readonly redirectUrl: string;
  readonly login: OAuthLogin;
  readonly #options: CallerLoginOptions;
  readonly #own: LoginPlace;
  #attempt: Attempt | undefined;
  #beginning: Promise<URL | undefined> | undefined;
  /** The last attempt: they take turns. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: CallerLoginOptions) {
    const { settings, gateway, caller, server } = options;
    const { redirectUrl = DEFAULT_REDIRECT, scope, clientId, clientSecret } = settings;
    this.#options = options;
    this.#own = { caller, server };
    this.redirectUrl = redirectUrl;
    this.login = keptOAuth({
      store: this.#store,
      redirectUrl,
      authorize: () => this.#show(),
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
    return (await this.#options.kept.read(this.#own)).tokens !== undefined;
  }

  /** The page of the login; undefined if the server accepts the caller already. `check` sends a request as the caller. */
  begin(check: Check): Promise<URL | undefined> {
    this.#beginning ??= this.#inTurn(() => this.#begin(check)).finally(() => {
      this.#beginning = undefined;
    });
    return this.#beginning;
  }

  /** `back`: where the page has sent the caller, with the code. */
  finish(back: URL, check: Check): Promise<void> {
    return this.#inTurn(async () => {
      const page = await this.#openPage();
      if (!page) throw new PocketError('MCP_AUTHORIZATION_NEEDED', 'No login is in progress: start it again.');
      await this.#options.kept.write(pageOf(this.#own), {}); // a page is used once
      await this.#connect({ finishing: { page, back } }, check);
    });
  }

  /** Forgets the login, and a page that is open. */
  end(): Promise<void> {
    const { kept } = this.#options;
    return this.#inTurn(async () => {
      for (const place of [this.#own, pageOf(this.#own)]) await kept.write(place, {});
    });
  }

  async #begin(check: Check): Promise<URL | undefined> {
    // a caller who asks again gets the same page
    const open = await this.#openPage();
    if (open) return new URL(open.url);
    const attempt: Attempt = {};
    await this.#connect(attempt, check).catch((error) => {
      if (!attempt.isAsked) throw error;
    });
    const page = attempt.isAsked ? await this.#openPage() : undefined;
    return page && new URL(page.url);
  }

  async #connect(attempt: Attempt, check: Check): Promise<void> {
    this.#attempt = attempt;
    try {
      await check().catch((error) => {
        if (attempt.isAsked) throw error;
        return check(); // it waited for a connection that was made without the caller
      });
    } finally {
      this.#attempt = undefined;
    }
  }

  async #show(): Promise<URL> {
    const attempt = this.#attempt;
    const isFirst = attempt && !attempt.isAsked;
    if (attempt) attempt.isAsked = true;
    if (isFirst && attempt.finishing) return attempt.finishing.back; // a code works once
    throw this.#needed();
  }

  #needed(): PocketError {
    const { caller, name, advice } = this.#options;
    const text = advice ?? `Caller "${caller}" must log in to "${name}" first: pocket-agent gateway login ${name}`;
    return new PocketError('MCP_AUTHORIZATION_NEEDED', text);
  }

  /** The page of the login that the caller has begun, at any process. */
  async #openPage(): Promise<LoginPage | undefined> {
    const { page } = await this.#options.kept.read(pageOf(this.#own));
    return page && Date.now() - page.at < LOGIN_MS ? page : undefined;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {}); // the caller gets the error
    return result;
  }

  get #store(): LoginStore {
    const { server, kept } = this.#options;
    const own = this.#own;
    const shared = { caller: '', server };
    return {
      read: async (): Promise<KeptLogin> => {
        const { tokens } = await kept.read(own);
        // without this, each attempt to connect would ask the authorization server for a page that is never opened
        if (!tokens && !this.#attempt) throw this.#needed();
        return { tokens, client: (await kept.read(shared)).client, page: this.#attempt?.finishing?.page };
      },
      update: async (change, renewed) => {
        if ('client' in change) await kept.write(shared, { client: change.client });
        // while a login is finished, its page is the one that counts
        if (change.page && this.#attempt && !this.#attempt.finishing)
          await kept.write(pageOf(own), { page: change.page });
        if (!('tokens' in change)) return;
        if (renewed) await kept.replace(own, { from: { tokens: renewed }, to: { tokens: change.tokens } });
        else if (change.tokens) await kept.write(own, { tokens: change.tokens });
      },
    };
  }
}
