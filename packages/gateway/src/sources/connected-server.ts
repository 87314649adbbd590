// One MCP server of the gateway, and the ways from it back to the clients.
import type { Logger } from '@pocket-agent/kit';
import { PocketAgentClient, type ServerList, type ServerLog, type ServerStatus } from 'pocket-agent';
import { GatewayRequest } from '../calls/request.ts';
import { NamedSource } from './named-source.ts';
import { ServerRelay } from './relay.ts';
import { entryByCaller, type GatewayServerEntry } from './server-entry.ts';

const lists: readonly ServerList[] = ['tools', 'prompts', 'resources'];

interface ConnectedOptions {
  name: string;
  entry: GatewayServerEntry;
  hasPrefix: boolean;
  logger: Logger;
  /** A list of the server may have changed: for one caller, or for all. */
  onChange(list: ServerList, caller?: string): void;
  onLog(log: ServerLog): void;
  /** A resource that clients watch has changed: for one caller, or for all. */
  onResource(uri: string, caller?: string): void;
}

export class ConnectedServer {
  readonly source: NamedSource;
  readonly #options: ConnectedOptions;
  readonly #client: PocketAgentClient;
  readonly #relay: ServerRelay;
  /** Whether the server is unavailable or slow. */
  isMissing = false;

  constructor(options: ConnectedOptions) {
    const { name, entry, hasPrefix, logger, onChange, onLog, onResource } = options;
    this.#options = options;
    this.#client = new PocketAgentClient({
      mcpConfig: { mcpServers: { [name]: entryByCaller(name, entry) } },
      toolPrefix: 'never',
      logger,
      elicitationHandler: () => ({ action: 'cancel' }), // the request that is asked has an `elicit` if its client can answer
      samplingHandler: async (params, from) => {
        const { current } = GatewayRequest;
        if (!current) throw new Error('The question belongs to no call.');
        return current.sample(params, from);
      },
      roots: async (from) => (await GatewayRequest.current?.roots(from)) ?? [],
      onServerStatus: (_server, status, reason) => this.#noteStatus(status, reason),
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

  close(): Promise<void> {
    this.#relay.watches.close();
    return this.#client.close();
  }

  /** Clients are told when a server goes, and when it comes back. */
  #noteStatus(status: ServerStatus, reason: string | undefined): void {
    if (status === 'connected') this.#relay.reconnected();
    const isMissing = status === 'failed' || status === 'lost' || (status === 'connecting' && reason !== undefined);
    if (isMissing === this.isMissing || (status === 'connecting' && !isMissing)) return;
    this.isMissing = isMissing;
    this.#relay.changed();
    for (const list of lists) this.#options.onChange(list);
  }
}
