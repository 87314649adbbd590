// A gateway: many MCP servers and other tools behind one MCP endpoint, for callers with different rights.
import { randomUUID } from 'node:crypto';
import type { AuthInfo, Server, ServerContext } from '@modelcontextprotocol/server';
import { announceChange, type HttpServer, type McpHttpOptions, serveHttp, serveStdio } from '@pocket-agent/http/mcp';
import {
  configError,
  errorText,
  isSameSecret,
  type Logger,
  neverAborted,
  PocketError,
  stderrLogger,
  VERSION,
} from '@pocket-agent/kit';
import type { Profile, ServerList } from 'pocket-agent';
import { readProfile } from 'pocket-agent/internal';
import type { RunAgent } from 'pocket-agent/internal/gate';
import { ApprovalDesks } from './approvals/desk.ts';
import { OpenQuestions } from './approvals/open-questions.ts';
import { chatDesks } from './approvals/options.ts';
import { authorizeCallers, metadataUrl, resourceMetadata } from './callers/authorize.ts';
import { type Caller, type CallerSettings, LOCAL, profileNamed } from './callers/caller.ts';
import type { CallerSpace } from './callers/caller-space.ts';
import { CallerSpaces } from './callers/caller-spaces.ts';
import { watchResource } from './calls/resources.ts';
import { Logins } from './logins/logins.ts';
import { checkExposure, checkGatewayOptions, type GatewayOptions } from './options.ts';
import { APPROVALS_PATH, answerApprovals } from './serving/approvals-endpoint.ts';
import { answerLogins, LOGINS_PATH } from './serving/logins-endpoint.ts';
import { RelayServers } from './serving/relay-server.ts';
import { GatewaySources } from './sources/gateway-sources.ts';

/** How a gateway listens for HTTP. */
export interface GatewayListenOptions
  extends Omit<McpHttpOptions, 'authorize' | 'routes' | 'ownHosts' | 'watchResources' | 'maxRouteBodySize'> {
  /** `GET /metrics` answers, for Prometheus, to requests with this bearer token. Default: there is no such path. */
  metricsToken?: string;
}

/** How a gateway serves stdin and stdout, for the client that started it. */
export interface GatewayStdioOptions {
  /** A profile, or the name of one. Default: everything is allowed. */
  profile?: string | Profile;
  /** search and code: the client sees two tools in place of all, as for callers. Default direct. */
  expose?: CallerSettings['expose'];
}

const APPROVAL_TIMEOUT_MS = 300_000;
/** The largest body that the endpoints for approvals and logins read. */
const MAX_ROUTE_BYTES = 65_536;
/** Resources that one stream of a client watches. */
const MAX_WATCHED = 1_000;

export class Gateway {
  readonly name: string;
  #options: GatewayOptions;
  readonly #logger: Logger;
  readonly #sources: GatewaySources;
  readonly #spaces: CallerSpaces;
  /** By the name of a caller: resolves when the connections of an earlier caller of that name are closed. */
  readonly #separating = new Map<string, Promise<void>>();
  readonly #relays: RelayServers;
  /** What the endpoint for approvers shows; undefined without one. */
  readonly #questions: OpenQuestions | undefined;
  readonly #desks: ApprovalDesks;
  /** Server objects on stdin and stdout. */
  readonly #connected = new Set<Server>();
  readonly #listening = new Set<HttpServer>();
  #local: Caller | undefined;

  constructor(options: GatewayOptions = {}) {
    checkGatewayOptions(options);
    const { name = 'gateway', state, loginKey, approvals = {}, logger = stderrLogger() } = options;
    this.name = name;
    this.#options = { ...options };
    this.#logger = logger;
    const agent: RunAgent = { name, agentId: randomUUID(), logger, hooks: {} };
    this.#sources = new GatewaySources({
      logger,
      logins: state && loginKey ? new Logins({ state, key: loginKey, gateway: name }) : undefined,
      onChange: (server, list, caller) => this.#spaces.changed(server, list, caller),
      onLog: (log) => this.#spaces.log(log),
      onResource: (uri, caller) => this.#tellWatchers(uri, caller),
    });
    this.#sources.use(options);
    // `update` replaces some options: parts get functions that read the current ones, here and below
    const access = () => ({ approvalTimeoutMs: APPROVAL_TIMEOUT_MS, ...this.#options.access });
    if (approvals.endpoint && state)
      this.#questions = new OpenQuestions({ state, logger, timeoutMs: () => access().approvalTimeoutMs });
    const desks = [...(this.#questions ? [this.#questions] : []), ...chatDesks(approvals, logger)];
    this.#desks = new ApprovalDesks(desks, logger);
    this.#spaces = new CallerSpaces({
      agent,
      access,
      approvers: { of: (caller) => this.#desks.of(caller), always: approvals.always ?? false },
      logger,
      servers: () => this.#sources.all,
      codeMode: options.codeMode,
      onChange: (caller, list) => this.#tellClients(caller, list),
    });
    const prices = () => this.#options.prices ?? {};
    const serverInfo = { name, version: VERSION };
    this.#relays = new RelayServers({
      serverInfo,
      state,
      prices,
      logger,
      spaceOf: (context) => this.#spaceOf(context),
    });
  }

  /** Serves HTTP until `close()`. Every client needs the token of a caller. */
  async listen(options: GatewayListenOptions = {}): Promise<HttpServer> {
    const { state, oauth } = this.#options;
    if (!state && !oauth)
      throw configError('To listen for HTTP a gateway needs callers: state, from openGatewayState(), or oauth.');
    const { metricsToken, ...address } = options;
    const authorize = authorizeCallers({
      state,
      oauth,
      profiles: () => this.#options.profiles ?? {},
      check: (settings) => checkExposure(settings, this.#options.codeMode),
      beforeUse: (caller) => this.#separate(caller),
      logger: this.#logger,
    });
    const callerOf = async (request: Request) => {
      const auth = await authorize(request);
      return auth instanceof Response ? auth : (this.#callerIn(auth) ?? new Response('No caller', { status: 401 }));
    };
    const loginsOf = (caller: Caller) =>
      this.#sources.loginsOf(caller, () => this.#spaces.of(caller).context({ signal: neverAborted() }));
    const routes = (request: Request) => {
      const { pathname } = new URL(request.url);
      const questions = this.#questions;
      if (questions && isBelow(pathname, APPROVALS_PATH)) return answerApprovals(request, { questions, callerOf });
      if (isBelow(pathname, LOGINS_PATH)) return answerLogins(request, { callerOf, loginsOf, logger: this.#logger });
      return this.#otherPath(request, metricsToken);
    };
    const watchResources: McpHttpOptions['watchResources'] = (uris, auth) => this.#watch(uris, this.#callerIn(auth));
    const others = { onError: this.#logError, maxRouteBodySize: MAX_ROUTE_BYTES };
    const served = { ...others, ...address, authorize, routes, watchResources };
    const server = await serveHttp(() => this.#relays.make(true), served).catch((error) => {
      throw new PocketError('CONFIG_INVALID', errorText(error), { cause: error });
    });
    this.#listening.add(server);
    return server;
  }

  /** Speaks MCP on stdin and stdout until the client disconnects or the process is stopped; then closes the gateway. */
  async serveStdio({ profile = 'admin', expose }: GatewayStdioOptions = {}): Promise<void> {
    const { profiles = {}, codeMode } = this.#options;
    checkExposure({ expose }, codeMode);
    const rights = typeof profile === 'string' ? profileNamed(profile, profiles) : readProfile(profile);
    // `settings.profile` is a name, which is looked up only for callers with a token: these rights are known
    this.#local = { name: LOCAL, settings: { profile: LOCAL, expose }, profile: rights };
    const make = () => {
      const server = this.#relays.make(false);
      this.#connected.add(server);
      server.onclose = () => this.#connected.delete(server);
      return server;
    };
    await serveStdio(make, { onError: this.#logError, close: () => this.close() });
  }

  /**
   * Uses other servers, profiles and access rules from now on. Calls in progress continue; servers that have not changed keep
   * their connections. Throws for options that are wrong, and changes nothing.
   */
  update(options: Pick<GatewayOptions, 'mcpServers' | 'sources' | 'names' | 'profiles' | 'access' | 'prices'>): void {
    const { mcpServers, sources, names, profiles, access, prices } = options;
    const next = { ...this.#options, mcpServers, sources, names, profiles, access, prices };
    checkGatewayOptions({ ...options, ...next }); // with `options`, so that a misspelled one is an error
    this.#sources.use({ mcpServers, sources, names });
    this.#options = next;
    this.#spaces.renew();
  }

  /** Refuses new calls from now on, and resolves when those in progress have ended, at the latest after this time. */
  drain(timeoutMs: number): Promise<void> {
    return this.#relays.drain(timeoutMs);
  }

  /** Ends all sessions, calls and connections. */
  async close(): Promise<void> {
    this.#desks.leave();
    this.#relays.close();
    await Promise.all([...this.#listening].map((server) => server.close()));
    await this.#desks.close();
    await this.#spaces.close();
    await this.#sources.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #otherPath({ url, method, headers }: Request, metricsToken: string | undefined): Response | undefined {
    if (method !== 'GET') return undefined;
    const { pathname } = new URL(url);
    const { oauth } = this.#options;
    if (pathname === '/health') {
      const isStopping = this.#relays.isDraining;
      return Response.json({ status: isStopping ? 'stopping' : 'ok' }, { status: isStopping ? 503 : 200 });
    }
    if (oauth && pathname === new URL(metadataUrl(oauth)).pathname) return Response.json(resourceMetadata(oauth));
    if (metricsToken === undefined || pathname !== '/metrics') return undefined;
    const given = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
    if (!isSameSecret(given, metricsToken)) return new Response('A token is needed', { status: 401 });
    const text = this.#relays.metrics.text(this.#sources.states);
    return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
  }

  /** A caller has no part in the connections and approvals of an earlier one of the same name. */
  async #separate(caller: Caller): Promise<void> {
    const { name } = caller;
    if (this.#spaces.forgetEarlier(caller)) {
      const context = this.#spaces.of(caller).context({ signal: neverAborted() });
      const separated = this.#sources.disconnect(context).finally(() => this.#separating.delete(name));
      this.#separating.set(name, separated);
    }
    await this.#separating.get(name);
  }

  #spaceOf({ http }: ServerContext): CallerSpace {
    return this.#spaces.of(http ? this.#callerIn(http.authInfo) : this.#local);
  }

  #callerIn(auth: AuthInfo | undefined): Caller | undefined {
    return auth?.extra?.caller as Caller | undefined;
  }

  /** A client of the 2026 era watches these resources; those that its caller may not see are left out. */
  async #watch(uris: readonly string[], caller: Caller | undefined) {
    const space = this.#spaces.of(caller);
    const watched = await Promise.all(
      [...new Set(uris)].slice(0, MAX_WATCHED).map(async (uri) => {
        const end = await watchResource(space, uri).catch(this.#logError);
        return end ? [{ uri, end }] : [];
      }),
    );
    return {
      uris: watched.flat().map(({ uri }) => uri),
      end: () => {
        for (const { end } of watched.flat()) end();
      },
    };
  }

  #tellWatchers(uri: string, caller: string | undefined): void {
    this.#relays.watchers.tell(uri, caller);
    for (const server of this.#listening) server.resourceUpdated(uri, caller);
  }

  #tellClients(caller: string, list: ServerList): void {
    for (const server of this.#listening) server.listChanged(list, caller);
    if (caller !== LOCAL) return;
    for (const server of this.#connected) announceChange(server, list).catch(this.#logError);
  }

  readonly #logError = (error: unknown): void => this.#logger.debug(`${this.name}: ${errorText(error)}`);
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(`${path}/`);
}
