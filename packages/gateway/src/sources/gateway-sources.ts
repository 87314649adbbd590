// The servers of a gateway: one client for each MCP server, so that adding, changing or losing one does not affect the others.
import { errorText, type Logger } from '@pocket-agent/kit';
import type { ServerList, ServerLog, ToolSource } from 'pocket-agent';
import { readMcpConfig } from 'pocket-agent/internal';
import type { RunContext } from 'pocket-agent/internal/gate';
import { type Caller, mayUse } from '../callers/caller.ts';
import type { GatewayServer } from '../callers/server.ts';
import type { Logins, OfferedLogin } from '../logins/logins.ts';
import { ConnectedServer } from './connected-server.ts';
import { NamedSource } from './named-source.ts';
import type { GatewayServerEntry } from './server-entry.ts';

/** What the options of a gateway say about its servers. */
export interface GatewayTools {
  mcpServers?: Readonly<Record<string, GatewayServerEntry>>;
  sources?: Readonly<Record<string, ToolSource>>;
  names?: 'prefixed' | 'plain';
}

interface SourcesOptions {
  logger: Logger;
  logins: Logins | undefined;
  /** A list of a server may have changed: for one caller, or for all. */
  onChange(server: string, list: ServerList, caller?: string): void;
  onLog(log: ServerLog): void;
  /** A resource that clients watch has changed: for one caller, or for all. */
  onResource(uri: string, caller?: string): void;
}

interface Open {
  /** What it was made from. */
  given: string | ToolSource;
  source: NamedSource;
  connected?: ConnectedServer;
}

export class GatewaySources {
  readonly #options: SourcesOptions;
  #open = new Map<string, Open>();
  readonly #closing = new Set<Promise<void>>();

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  get all(): readonly GatewayServer[] {
    return [...this.#open.values()].map(({ source }) => source);
  }

  get states(): { name: string; isMissing: boolean }[] {
    return [...this.#open].map(([name, { connected }]) => ({ name, isMissing: connected?.isMissing ?? false }));
  }

  /** Where this caller can log in. `makeRun`: a run of the caller. */
  loginsOf(caller: Caller, makeRun: () => RunContext): OfferedLogin[] {
    return [...this.#open].flatMap(([server, { connected }]) => {
      const login = connected && mayUse(caller, server) ? connected.loginOf?.(caller.name) : undefined;
      if (!connected || !login) return [];
      const end = async () => {
        await login.end();
        await connected.disconnect(makeRun());
      };
      return [{ server, login, check: () => connected.check(makeRun()), end }];
    });
  }

  /** Closes the connections of the caller of this run. */
  async disconnect(run: RunContext): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ connected }) => connected?.disconnect(run)));
  }

  /** Opens these servers. Those that are open already and have not changed stay as they are; others end after their calls. */
  use({ mcpServers = {}, sources = {}, names }: GatewayTools): void {
    const hasPrefix = names !== 'plain';
    const before = this.#open;
    const next = new Map<string, Open>();
    for (const name of readMcpConfig({ mcpServers }).keys()) {
      const { [name]: entry } = mcpServers;
      const given = JSON.stringify([entry, hasPrefix]);
      const known = before.get(name);
      // functions in an entry cannot be compared
      const isSame = entry && known?.given === given && !hasFunction(entry);
      next.set(name, isSame && known ? known : this.#connect(name, { mcpServers, given, hasPrefix }));
    }
    for (const [name, source] of Object.entries(sources)) {
      const known = before.get(name);
      next.set(
        name,
        known?.given === source ? known : { given: source, source: new NamedSource(name, source, { hasPrefix }) },
      );
    }
    this.#open = next;
    for (const [name, open] of before) if (next.get(name) !== open) this.#retire(open);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ connected }) => connected?.close()));
    await Promise.all(this.#closing);
  }

  #connect(name: string, { mcpServers, given, hasPrefix }: Connecting): Open {
    const { [name]: entry } = mcpServers;
    if (!entry) throw new Error(`The server ${name} has no entry.`);
    const { logger, logins, onChange, onLog, onResource } = this.#options;
    const changed = (list: ServerList, caller?: string) => onChange(name, list, caller);
    const about = { name, entry, hasPrefix, logger, logins };
    const connected = new ConnectedServer({ ...about, onChange: changed, onLog, onResource });
    return { given, source: connected.source, connected };
  }

  #retire({ source, connected }: Open): void {
    if (!connected) return;
    const { logger } = this.#options;
    const closing = source
      .whenUnused()
      .then(() => connected.close())
      .catch((error) => logger.warn(`Closing the server ${source.name} failed: ${errorText(error)}`));
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }
}

interface Connecting {
  mcpServers: NonNullable<GatewayTools['mcpServers']>;
  given: string;
  hasPrefix: boolean;
}

function hasFunction(entry: object): boolean {
  return Object.values(entry).some((value) => typeof value === 'function');
}
