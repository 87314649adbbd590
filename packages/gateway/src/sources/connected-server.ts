// One MCP server of the gateway, and the ways from it back to the clients.
import { dropOldest, type Logger, VERSION } from '@pocket-agent/kit';
import { PocketAgentClient, type ServerList, type ServerLog, type ServerStatus } from 'pocket-agent';
import { inRun, type RunContext } from 'pocket-agent/internal/gate';
import { GatewayRequest } from '../calls/request.ts';
import type { CallerLogin } from '../logins/caller-login.ts';
import { type Logins, readLogin } from '../logins/logins.ts';
import { NamedSource } from './named-source.ts';
import { ServerRelay } from './relay.ts';
import { entryByCaller, type GatewayServerEntry } from './server-entry.ts';

/** More than the callers that are active at a time. */
const MAX_CALLERS = 10_000;
const lists: readonly ServerList[] = ['tools', 'prompts', 'resources'];

interface ConnectedOptions {
  name: string;
  entry: GatewayServerEntry;
  hasPrefix: boolean;
  logger: Logger;
  logins: Logins | undefined;
  /** A list of the server may have changed: for one caller, or for all. */
  onChange(list: ServerList, caller?: string): void;
  onLog(log: ServerLog): void;
  /** A resource that clients watch has changed: for one caller, or for all. */
  onResource(uri: string, caller?: string): void;
}

interface Availability {
  /** Whether the server is unavailable or slow. */
  isMissing: boolean;
  /** Whether this says nothing about the server: the caller has no login, or has left. */
  saysNothing: boolean;
}

type StatusFrom = { caller?: string | undefined; needsLogin?: boolean };

export class ConnectedServer {
  readonly source: NamedSource;
  readonly #options: ConnectedOptions;
  readonly #client: PocketAgentClient;
  readonly #relay: ServerRelay;
  /** The login of a caller; undefined for a server without logins. */
  readonly loginOf: ((caller: string) => CallerLogin) | undefined;
  /** By caller if each has its own connection. */
  readonly #availability = new Map<string | undefined, Availability>();
  /** Whether the server may refuse one caller and accept another. */
  readonly #hasLogins: boolean;

  constructor(options: ConnectedOptions) {
    const { name, entry, hasPrefix, logger, onChange, onLog, onResource } = options;
    this.loginOf = loginFor(options);
    this.#options = options;
    const own = entryByCaller(name, entry, this.loginOf);
    this.#hasLogins = 'url' in own && [own.auth, own.headers].some((value) => typeof value === 'function');
    this.#client = new PocketAgentClient({
      mcpConfig: { mcpServers: { [name]: own } },
      toolPrefix: 'never',
      logger,
      // its clients may be others than Pocket Agent, which some servers send more tools
      clientInfo: { name: 'pocket-agent-gateway', version: VERSION },
      elicitationHandler: () => ({ action: 'cancel' }), // the request that is asked has an `elicit` if its client can answer
      samplingHandler: async (params, from) => {
        const { current } = GatewayRequest;
        if (!current) throw new Error('The question belongs to no call.');
        return current.sample(params, from);
      },
      roots: async (from) => (await GatewayRequest.current?.roots(from)) ?? [],
      onServerStatus: (_server, status, reason, from) => this.#noteStatus(status, reason, from),
      onServerLog: onLog,
      logHandler: () => {}, // they are for the client of the call
      messageHandler: ({ method, params }, { caller }) => {
        if (method !== 'notifications/resources/updated' || typeof params?.uri !== 'string') return;
        if (this.#relay.watches.has(params.uri, caller)) onResource(params.uri, caller);
      },
      listChangedHandler: (list, { caller }) => {
        this.#relay.changed();
        onChange(list, caller);
      },
    });
    this.#relay = new ServerRelay({ server: name, client: this.#client, entry, hasPrefix, logger });
    this.source = new NamedSource(name, this.#client, { hasPrefix, relay: this.#relay });
  }

  /** Whether the server is unavailable or slow for all who use it. */
  get isMissing(): boolean {
    const counted = [...this.#availability.values()].filter(({ saysNothing }) => !saysNothing);
    return counted.length > 0 && counted.every(({ isMissing }) => isMissing);
  }

  /** Sends a request as the caller of this run, which a server with logins answers only after a login. */
  async check(run: RunContext): Promise<void> {
    await inRun(run, () =>
      this.#client.request<unknown>(this.#options.name, (sdk) => {
        const { tools, prompts } = sdk.getServerCapabilities() ?? {};
        if (tools) return sdk.listTools();
        return prompts ? sdk.listPrompts() : sdk.listResources();
      }),
    );
  }

  /** Closes the connection of the caller of this run, after a logout or for a new caller of the same name. */
  async disconnect(run: RunContext): Promise<void> {
    await inRun(run, () => this.#client.disconnect(this.#options.name));
    this.#relay.changed();
    for (const list of lists) this.#options.onChange(list, run.policy.caller);
  }

  close(): Promise<void> {
    this.#relay.watches.close();
    return this.#client.close();
  }

  /** Notifies clients when a server is lost, and when it is back. */
  #noteStatus(status: ServerStatus, reason: string | undefined, from: StatusFrom = {}): void {
    if (status === 'connected') this.#relay.reconnected();
    const { caller, needsLogin = false } = from;
    const { isMissing: wasMissing = false } = this.#availability.get(caller) ?? {};
    const isMissing =
      status === 'closed'
        ? wasMissing // its clients know it, and are notified when it is back
        : status === 'failed' || status === 'lost' || (status === 'connecting' && reason !== undefined);
    if (status === 'connecting' && !isMissing) return;
    const saysNothing = status === 'closed' || (needsLogin && this.#hasLogins);
    this.#availability.delete(caller);
    if (status !== 'closed' || isMissing) this.#availability.set(caller, { isMissing, saysNothing });
    dropOldest(this.#availability, MAX_CALLERS);
    if (isMissing === wasMissing) return;
    this.#relay.changed();
    for (const list of lists) this.#options.onChange(list, caller);
  }
}

function loginFor({ name, entry, logins }: ConnectedOptions): ConnectedServer['loginOf'] {
  const settings = readLogin(name, entry.login);
  if (!settings || !logins || !('url' in entry)) return undefined;
  const { url } = entry;
  return (caller) => logins.of(caller, { name, url, settings });
}
