// The servers of a gateway: one client for each MCP server, so that one that is added, changed or broken concerns no other.
import type { Logger } from '@pocket-agent/kit';
import { PocketAgentClient, type ServerLog, type ServerStatus, type ToolSource } from 'pocket-agent';
import { APPROVAL_META_KEY, readMcpConfig } from 'pocket-agent/internal';
import { GatewayRequest } from '../calls/request.ts';
import type { GatewayOptions } from '../options.ts';
import { NamedSource } from './named-source.ts';
import { entryByCaller } from './server-entry.ts';

interface SourcesOptions extends Pick<GatewayOptions, 'mcpServers' | 'sources' | 'names'> {
  logger: Logger;
  /** The tools of a server may have changed. */
  onChange(server: string): void;
  onLog(log: ServerLog): void;
}

export class GatewaySources {
  readonly all: readonly ToolSource[];
  readonly #clients: readonly PocketAgentClient[];
  readonly #logger: Logger;
  readonly #onChange: (server: string) => void;
  readonly #onLog: (log: ServerLog) => void;
  /** Servers that are not available, or slow. */
  readonly #missing = new Set<string>();

  constructor({ mcpServers = {}, sources = {}, names, logger, onChange, onLog }: SourcesOptions) {
    this.#logger = logger;
    this.#onChange = onChange;
    this.#onLog = onLog;
    const hasPrefix = names !== 'plain';
    const enabled = readMcpConfig({ mcpServers });
    const clients = [...enabled.keys()].map((name) => this.#connect(name, mcpServers));
    this.#clients = clients.map(([, client]) => client);
    this.all = [...clients, ...Object.entries(sources)].map(
      ([name, source]) => new NamedSource(name, source, { hasPrefix }),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #connect(name: string, entries: NonNullable<SourcesOptions['mcpServers']>): [string, PocketAgentClient] {
    const [[, entry] = []] = Object.entries(entries).filter(([key]) => key === name);
    if (!entry) throw new Error(`The server ${name} has no entry.`);
    const client = new PocketAgentClient({
      mcpConfig: { mcpServers: { [name]: entryByCaller(name, entry) } },
      toolPrefix: 'never',
      logger: this.#logger,
      elicitationHandler: async (params, from) => {
        const asked = entry.approvals ? params : asQuestion(name, params);
        return (await GatewayRequest.current?.run.elicit?.(asked, from)) ?? { action: 'cancel' };
      },
      samplingHandler: async (params, { signal }) => {
        const { current } = GatewayRequest;
        if (!current) throw new Error('The question belongs to no call.');
        return current.sample(params, signal);
      },
      onServerStatus: (_server, status, reason) => this.#noteStatus(name, status, reason),
      onServerLog: (log) => this.#onLog(log),
      logHandler: () => {},
      listChangedHandler: () => this.#onChange(name),
    });
    return [name, client];
  }

  /** Clients are told when tools go, and when they come back. */
  #noteStatus(name: string, status: ServerStatus, reason: string | undefined): void {
    const isMissing = status === 'failed' || status === 'lost' || (status === 'connecting' && reason !== undefined);
    if (isMissing === this.#missing.has(name) || (status === 'connecting' && !isMissing)) return;
    if (isMissing) this.#missing.add(name);
    else this.#missing.delete(name);
    this.#onChange(name);
  }
}

/** Says who asks, and does not pass for a question of the gateway. */
function asQuestion<Params extends { message: string; _meta?: Record<string, unknown> | undefined }>(
  server: string,
  { _meta: meta = {}, ...params }: Params,
): Params {
  const { [APPROVAL_META_KEY]: _approval, ...others } = meta;
  return { ...params, _meta: others, message: `[${server}] ${params.message}` } as Params;
}
