// A gateway: many MCP servers and other tools behind one MCP endpoint, for callers with different rights.
import { randomUUID } from 'node:crypto';
import {
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { type Authorize, type HttpServer, type McpHttpOptions, serveHttp, serveStdio } from '@pocket-agent/http/mcp';
import { configError, errorText, type Logger, PocketError, stderrLogger } from '@pocket-agent/kit';
import type { Profile, ServerList } from 'pocket-agent';
import { packageVersion, readProfile } from 'pocket-agent/internal';
import type { RunAgent } from 'pocket-agent/internal/gate';
import { type Caller, type CallerSettings, profileNamed } from './callers/caller.ts';
import type { CallerSpace } from './callers/caller-space.ts';
import { CallerSpaces } from './callers/caller-spaces.ts';
import { checkGatewayOptions, type GatewayOptions } from './options.ts';
import { RelayServers } from './serving/relay-server.ts';
import { GatewaySources } from './sources/gateway-sources.ts';

/** How a gateway listens for HTTP. */
export interface GatewayListenOptions extends Omit<McpHttpOptions, 'authorize' | 'routes' | 'ownHosts'> {}

/** How a gateway serves stdin and stdout, for the one caller who started it. */
export interface GatewayStdioOptions {
  /** A profile, or the name of one. Default: everything is allowed. */
  profile?: string | Profile;
  /** search: the client sees `find_tools` and `call_tool` in place of all tools. Default direct. */
  expose?: CallerSettings['expose'];
}

const LOCAL = 'local';
const announcements = {
  tools: 'sendToolListChanged',
  prompts: 'sendPromptListChanged',
  resources: 'sendResourceListChanged',
} as const;
const TOKEN_VALID_S = 3_600;

export class Gateway {
  readonly name: string;
  #options: GatewayOptions;
  readonly #logger: Logger;
  readonly #sources: GatewaySources;
  readonly #spaces: CallerSpaces;
  readonly #relays: RelayServers;
  /** Server objects on stdin and stdout. */
  readonly #connected = new Set<Server>();
  readonly #listening = new Set<HttpServer>();
  #local: Caller | undefined;

  constructor(options: GatewayOptions = {}) {
    checkGatewayOptions(options);
    const { name = 'gateway', state, logger = stderrLogger() } = options;
    this.name = name;
    this.#options = { ...options };
    this.#logger = logger;
    const agent: RunAgent = { name, agentId: randomUUID(), logger, hooks: {} };
    this.#sources = new GatewaySources({
      logger,
      onChange: (server, list, caller) => this.#spaces.changed(server, list, caller),
      onLog: (log) => this.#spaces.log(log),
    });
    this.#sources.use(options);
    this.#spaces = new CallerSpaces({
      agent,
      access: () => this.#options.access ?? {},
      logger,
      servers: () => this.#sources.all,
      onChange: (caller, list) => this.#tellClients(caller, list),
    });
    const serverInfo = { name, version: packageVersion() };
    this.#relays = new RelayServers({ serverInfo, state, logger, spaceOf: (context) => this.#spaceOf(context) });
  }

  /** Serves HTTP until `close()`. Every client needs the token of a caller. */
  async listen(options: GatewayListenOptions = {}): Promise<HttpServer> {
    const { state } = this.#options;
    if (!state)
      throw configError('To listen for HTTP a gateway needs state, from openGatewayState(): it has the callers.');
    const onError = this.#logError;
    const routes = ({ url, method }: Request) =>
      method === 'GET' && new URL(url).pathname === '/health' ? Response.json({ status: 'ok' }) : undefined;
    const served = { onError, ...options, authorize: this.#authorize, routes };
    const server = await serveHttp(() => this.#relays.make(), served).catch((error) => {
      throw new PocketError('CONFIG_INVALID', errorText(error), { cause: error });
    });
    this.#listening.add(server);
    return server;
  }

  /** Speaks MCP on stdin and stdout until the client disconnects or the process is stopped; then closes the gateway. */
  async serveStdio({ profile = 'admin', expose }: GatewayStdioOptions = {}): Promise<void> {
    const { profiles = {} } = this.#options;
    const rights = typeof profile === 'string' ? profileNamed(profile, profiles) : readProfile(profile);
    this.#local = { name: LOCAL, settings: { profile: LOCAL, expose }, profile: rights };
    const make = () => {
      const server = this.#relays.make();
      this.#connected.add(server);
      server.onclose = () => this.#connected.delete(server);
      return server;
    };
    await serveStdio(make, { onError: this.#logError, close: () => this.close() });
  }

  /**
   * Uses other servers, profiles and access rules from now on. Calls in progress go on; servers that have not changed keep
   * their connections. Throws for options that are wrong, and changes nothing.
   */
  update(options: Pick<GatewayOptions, 'mcpServers' | 'sources' | 'names' | 'profiles' | 'access'>): void {
    checkGatewayOptions(options);
    const { mcpServers, sources, names, profiles, access } = options;
    this.#sources.use({ mcpServers, sources, names });
    this.#options = { ...this.#options, mcpServers, sources, names, profiles, access };
    this.#spaces.renew();
  }

  /** Ends all sessions, calls and connections. */
  async close(): Promise<void> {
    this.#relays.close();
    await Promise.all([...this.#listening].map((server) => server.close()));
    await this.#spaces.close();
    await this.#sources.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #authorize: Authorize = requireBearerAuth({
    verifier: {
      verifyAccessToken: async (token) => {
        const found = await this.#options.state?.callerWith(token);
        if (!found) throw new OAuthError(OAuthErrorCode.InvalidToken, 'Invalid token');
        const caller: Caller = { ...found, profile: this.#profileOf(found.name, found.settings.profile) };
        const expiresAt = Math.floor(Date.now() / 1_000) + TOKEN_VALID_S;
        return { token, clientId: found.name, scopes: [], expiresAt, extra: { caller } };
      },
    },
  });

  /** A caller whose profile is not configured may do nothing. */
  #profileOf(caller: string, name: string): Profile {
    try {
      return profileNamed(name, this.#options.profiles ?? {});
    } catch (error) {
      this.#logger.error(`Caller "${caller}" is refused: ${errorText(error)}`);
      throw new OAuthError(OAuthErrorCode.InvalidToken, 'Invalid token');
    }
  }

  #spaceOf({ http }: ServerContext): CallerSpace {
    const caller = http ? (http.authInfo?.extra?.caller as Caller | undefined) : this.#local;
    if (!caller) throw new Error('A request without a caller was not refused.');
    return this.#spaces.of(caller);
  }

  #tellClients(caller: string, list: ServerList): void {
    for (const server of this.#listening) server.listChanged(list, caller);
    if (caller !== LOCAL) return;
    for (const server of this.#connected) server[announcements[list]]().catch(this.#logError);
  }

  readonly #logError = (error: unknown): void => this.#logger.debug(`${this.name}: ${errorText(error)}`);
}
