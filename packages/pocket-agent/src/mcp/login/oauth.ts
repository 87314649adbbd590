// OAuth for remote MCP servers: a provider for the SDK with its tokens in a private file, and the login of a person.
import { readFile } from 'node:fs/promises';
import type {
  OAuthClientInformationContext,
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
  StoredOAuthClientInformation,
} from '@modelcontextprotocol/client';
import { configError, PocketError } from '@pocket-agent/kit';

/** A provider, and a way to take a person through the login page. */
export interface OAuthLogin {
  provider: OAuthClientProvider;
  /** Called after `provider.redirectToAuthorization`; resolves with the URL that the person was redirected to. */
  waitForRedirect(): Promise<URL>;
}

/** How a person logs in to an MCP server once, and where the tokens are saved. */
export interface FileOAuthOptions {
  /** Holds the tokens and the registration of the client, with mode 0600. One file per server. */
  file: string;
  redirectUrl: string;
  /** Shows the login page to a person; resolves with the URL they were redirected to, with `code` and `state`. */
  authorize(authorizationUrl: URL): Promise<URL>;
  clientName?: string;
  scope?: string;
  /** URL of the metadata document of this client, for servers that support it (CIMD). */
  clientMetadataUrl?: string;
  /** A client that is registered already, at the authorization server that it is first used with. */
  clientInformation?: OAuthClientInformationMixed;
}

/** A login page that a person was sent to, and what is needed to finish the login. */
export interface LoginPage {
  url: string;
  /** When it was made, in milliseconds since 1970. */
  at: number;
  verifier: string;
  /** The tokens must come from the authorization server of the page. */
  discovery?: OAuthDiscoveryState | undefined;
}

/** What is kept of a login. */
export interface KeptLogin {
  tokens?: OAuthTokens | undefined;
  client?: StoredOAuthClientInformation | undefined;
  page?: LoginPage | undefined;
}

/** Where a login is kept. */
export interface LoginStore {
  read(): Promise<KeptLogin>;
  /**
   * Changes the parts that are given; one that is undefined is removed. `renewed`: the tokens that a renewal began with, which
   * another process may have replaced since.
   */
  update(change: KeptLogin, renewed?: OAuthTokens): Promise<void>;
}

type KeptOAuthOptions = Omit<FileOAuthOptions, 'file'> & { store: LoginStore };

/** OAuth with dynamic registration, PKCE and refresh, whose tokens outlive the process. */
export function fileOAuth({ file, ...options }: FileOAuthOptions): OAuthLogin {
  return keptOAuth({ ...options, store: new PrivateFile(file) });
}

/** The same with another place for the tokens. */
export function keptOAuth(options: KeptOAuthOptions): OAuthLogin {
  const provider = new KeptProvider(options);
  return { provider, waitForRedirect: () => provider.waitForRedirect() };
}

class KeptProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  readonly clientInformation: Registration['clientInformation'];
  readonly saveClientInformation?: NonNullable<Registration['saveClientInformation']>;
  readonly #options: KeptOAuthOptions;
  readonly #store: LoginStore;
  /** The login page, from the redirect to the tokens. */
  #page: LoginPage | undefined;
  /** Parts of the next page. */
  #discovery: OAuthDiscoveryState | undefined;
  #verifier = '';
  /** The tokens that the renewal in progress began with. */
  #renewed: OAuthTokens | undefined;

  constructor(options: KeptOAuthOptions) {
    const { store, redirectUrl, clientMetadataUrl, clientInformation: given } = options;
    this.#options = options;
    this.#store = store;
    this.redirectUrl = redirectUrl;
    this.clientMetadata = metadataOf(options);
    if (clientMetadataUrl) this.clientMetadataUrl = clientMetadataUrl;
    const registration = given ? registeredBefore(given, this.#store) : registeredIn(this.#store);
    this.clientInformation = registration.clientInformation;
    if (registration.saveClientInformation) this.saveClientInformation = registration.saveClientInformation;
  }

  state(): string {
    return crypto.randomUUID();
  }

  /** With a `context`, a renewal begins. */
  async tokens(context?: OAuthClientInformationContext): Promise<OAuthTokens | undefined> {
    const { tokens } = await this.#store.read();
    if (context) this.#renewed = tokens;
    return tokens;
  }

  async saveTokens(tokens: OAuthTokens): Promise<void> {
    await this.#store.update({ tokens, page: undefined }, this.#renewed);
    if (this.#renewed) this.#renewed = tokens;
    this.#page = undefined;
    this.#discovery = undefined;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.#page = { url: url.href, at: Date.now(), verifier: this.#verifier, discovery: this.#discovery };
    this.#renewed = undefined; // what follows is a login
    await this.#store.update({ page: this.#page });
  }

  saveDiscoveryState(found: OAuthDiscoveryState): void {
    this.#discovery = found;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#page?.discovery;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#shownPage.verifier;
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    const isMeant = (part: typeof scope) => scope === 'all' || scope === part;
    // a registered client stays with its authorization server
    if (isMeant('client') && !this.#options.clientInformation) await this.#store.update({ client: undefined });
    if (isMeant('tokens')) await this.#store.update({ tokens: undefined }, this.#renewed);
    if (isMeant('verifier') || isMeant('discovery')) this.#page = undefined;
    if (isMeant('discovery')) this.#discovery = undefined;
  }

  /** Shows the login page to a person, who may come back from a page that another process has shown. */
  async waitForRedirect(): Promise<URL> {
    const { url } = this.#shownPage;
    try {
      const back = await this.#options.authorize(new URL(url));
      this.#page = [this.#page, (await this.#store.read()).page].find((page) => page && isBackFrom(page, back));
      if (this.#page) return back;
    } catch (error) {
      this.#page = undefined; // the login is over
      throw error;
    }
    const text = 'The login returned a "state" that does not belong to it, so it was refused.';
    throw new PocketError('MCP_AUTHORIZATION_NEEDED', text);
  }

  get #shownPage(): LoginPage {
    if (!this.#page) throw noLogin();
    return this.#page;
  }
}

function isBackFrom({ url }: LoginPage, { searchParams }: URL): boolean {
  const state = new URL(url).searchParams.get('state');
  return state !== null && state === searchParams.get('state');
}

function metadataOf({ clientName = 'Pocket Agent', redirectUrl, scope }: KeptOAuthOptions): OAuthClientMetadata {
  return {
    client_name: clientName,
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    ...(scope ? { scope } : {}),
  };
}

function noLogin(): PocketError {
  return new PocketError('MCP_AUTHORIZATION_NEEDED', 'No login is in progress; start it again.');
}

type Registration = Pick<OAuthClientProvider, 'clientInformation' | 'saveClientInformation'>;

function registeredIn(store: LoginStore): Registration {
  return {
    clientInformation: async () => (await store.read()).client,
    saveClientInformation: (client) => store.update({ client }),
  };
}

/**
 * The secret belongs to the authorization server that it is first used with. The SDK does not send it to another one,
 * and does not register a new client there either, because that could not be saved.
 */
function registeredBefore(given: OAuthClientInformationMixed, store: LoginStore): Registration {
  return {
    clientInformation: async (context) => {
      const { client } = await store.read();
      if (client?.issuer && client.client_id === given.client_id) return { ...given, issuer: client.issuer };
      if (!context) return given;
      const bound = { ...given, issuer: context.issuer };
      await store.update({ client: bound });
      return bound;
    },
  };
}

/** A JSON file that only its owner may read. Updates are written one after the other. */
class PrivateFile implements LoginStore {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<KeptLogin> {
    await this.#writing;
    return this.#load();
  }

  update(change: KeptLogin): Promise<void> {
    const write = async () => {
      const { writePrivately } = await import('@pocket-agent/kit/private-files');
      await writePrivately(this.#path, JSON.stringify({ ...(await this.#load()), ...change }, null, 2));
    };
    const written = this.#writing.then(write);
    this.#writing = written.catch(() => {});
    return written;
  }

  async #load(): Promise<KeptLogin> {
    try {
      return JSON.parse(await readFile(this.#path, 'utf8'));
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
      const text = `The token file ${this.#path} cannot be read; repair or delete it.`;
      throw configError(text, error);
    }
  }
}
