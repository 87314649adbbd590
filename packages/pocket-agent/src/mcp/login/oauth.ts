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
import { writePrivately } from '@pocket-agent/kit/private-files';

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

/** What is kept of a login. */
export interface KeptLogin {
  tokens?: OAuthTokens | undefined;
  client?: StoredOAuthClientInformation | undefined;
  verifier?: string | undefined;
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
  #authorizationUrl: URL | undefined;
  /** Kept from the login page to the tokens, so that both come from the same authorization server. */
  #discovery: OAuthDiscoveryState | undefined;
  #state: string = crypto.randomUUID();
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
    this.#state = crypto.randomUUID();
    return this.#state;
  }

  /** With a `context`, a renewal begins. */
  async tokens(context?: OAuthClientInformationContext): Promise<OAuthTokens | undefined> {
    const { tokens } = await this.#store.read();
    if (context) this.#renewed = tokens;
    return tokens;
  }

  async saveTokens(tokens: OAuthTokens): Promise<void> {
    await this.#store.update({ tokens }, this.#renewed);
    if (this.#renewed) this.#renewed = tokens;
    this.#authorizationUrl = undefined;
    this.#discovery = undefined;
  }

  redirectToAuthorization(url: URL): void {
    this.#authorizationUrl = url;
    this.#renewed = undefined; // what follows is a login
  }

  saveDiscoveryState(found: OAuthDiscoveryState): void {
    this.#discovery = found;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#authorizationUrl ? this.#discovery : undefined;
  }

  saveCodeVerifier(verifier: string): Promise<void> {
    return this.#store.update({ verifier });
  }

  async codeVerifier(): Promise<string> {
    const { verifier } = await this.#store.read();
    if (!verifier) throw noLogin();
    return verifier;
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    const isMeant = (part: typeof scope) => scope === 'all' || scope === part;
    // a registered client stays with its authorization server
    if (isMeant('client') && !this.#options.clientInformation) await this.#store.update({ client: undefined });
    if (isMeant('tokens')) await this.#store.update({ tokens: undefined }, this.#renewed);
    if (isMeant('verifier')) await this.#store.update({ verifier: undefined });
    if (isMeant('discovery')) this.#discovery = undefined;
  }

  /** Shows the login page to a person. */
  async waitForRedirect(): Promise<URL> {
    if (!this.#authorizationUrl) throw noLogin();
    const back = await this.#options.authorize(this.#authorizationUrl).catch((error) => {
      this.#authorizationUrl = undefined; // the login is over
      throw error;
    });
    if (back.searchParams.get('state') === this.#state) return back;
    const text = 'The login returned a "state" that does not belong to it, so it was refused.';
    throw new PocketError('MCP_AUTHORIZATION_NEEDED', text);
  }
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
