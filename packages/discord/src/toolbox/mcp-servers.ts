// Connections to MCP servers of the operator and of guilds, shared by all runs of one place.
import { type HttpFetch, isHost, makeFetch } from '@pocket-agent/http/fetch';
import { httpUrlHint } from '@pocket-agent/kit';
import { type Logger, type McpServerEntry, PocketAgentClient } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { GuildServer } from '../store/guild-settings.ts';
import type { ToolChoice } from './catalogue.ts';

const SERVER_PREFIX = 'mcp:';
const CONNECT_MS = 10_000;
/** Shorter for servers of guilds, because an answer waits for a silent server. */
const GUILD_CONNECT_MS = 3_000;
const MAX_IDLE_MS = 600_000;
/** Idle connections above this number are closed, the longest idle first. */
const MAX_IDLE_CONNECTIONS = 10;

type ServerEntries = Readonly<Record<string, McpServerEntry>>;

interface Lease {
  client: PocketAgentClient;
  release(): void;
}

interface LeaseRequest {
  /** A guild or a direct-message conversation; places do not share connections. */
  place: string;
  ids: readonly string[];
  guild: Readonly<Record<string, GuildServer>>;
}

interface OpenConnection {
  client: PocketAgentClient;
  uses: number;
  idle: NodeJS.Timeout | undefined;
}

interface McpServersOptions {
  operatorServers: ServerEntries;
  /** Allowed hosts for servers of guilds, checked at every use. */
  hosts: readonly string[];
  logger: Logger;
}

export class McpServers {
  readonly #operatorServers: ServerEntries;
  readonly #hosts: readonly string[];
  readonly #logger: Logger;
  /** For addresses from guild admins: reaches only allowed hosts and no internal addresses. */
  readonly #guildFetch: HttpFetch;
  readonly #open = new Map<string, OpenConnection>();

  constructor({ operatorServers, hosts, logger }: McpServersOptions) {
    this.#operatorServers = operatorServers;
    this.#hosts = hosts;
    this.#logger = logger;
    this.#guildFetch = makeFetch({ allowHosts: hosts.filter((host) => host !== '*'), redirects: 'refuse' });
  }

  choices(guild: Readonly<Record<string, GuildServer>>): ToolChoice[] {
    const allowed = Object.entries(guild).flatMap(([name, { url }]) =>
      isOnAllowedHost(this.#hosts, new URL(url)) ? name : [],
    );
    const names = new Set([...Object.keys(this.#operatorServers), ...allowed]);
    return [...names].map((name) => ({ id: `${SERVER_PREFIX}${name}`, label: `${name} (MCP)` }));
  }

  /** A connection to the servers among the ids; undefined if no id belongs to a server. */
  lease({ place, ids, guild }: LeaseRequest): Lease | undefined {
    const entries = ids.flatMap((id): [string, McpServerEntry][] => {
      const name = id.startsWith(SERVER_PREFIX) ? id.slice(SERVER_PREFIX.length) : '';
      // a guild cannot replace a server of the operator
      const guildServer = ownValue(guild, name);
      const operatorServer = ownValue(this.#operatorServers, name);
      if (operatorServer) return [[name, { connectTimeoutMs: CONNECT_MS, ...operatorServer }]];
      const isAllowed = guildServer && isOnAllowedHost(this.#hosts, new URL(guildServer.url));
      const guildOptions = { connectTimeoutMs: GUILD_CONNECT_MS, fetch: this.#guildFetch };
      return isAllowed ? [[name, { ...guildServer, ...guildOptions }]] : [];
    });
    if (entries.length === 0) return undefined;
    const key = JSON.stringify([place, entries]);
    const open = this.#open.get(key) ?? { client: this.#connect(entries), uses: 0, idle: undefined };
    this.#open.set(key, open);
    open.uses++;
    clearTimeout(open.idle);
    return { client: open.client, release: () => this.#release(key, open) };
  }

  async close(): Promise<void> {
    for (const { idle } of this.#open.values()) clearTimeout(idle);
    await Promise.all([...this.#open.values()].map(({ client }) => client.close()));
    this.#open.clear();
    this.#guildFetch.close();
  }

  #connect(entries: readonly [string, McpServerEntry][]): PocketAgentClient {
    const mcpServers = Object.fromEntries(entries);
    return new PocketAgentClient({ mcpConfig: { mcpServers }, toolPrefix: 'always', logger: this.#logger });
  }

  #release(key: string, open: OpenConnection): void {
    open.uses--;
    if (open.uses > 0 || !this.#open.delete(key)) return;
    // reinsert at the end, so that the first idle entry is the longest idle
    this.#open.set(key, open);
    open.idle = setTimeout(() => this.#end(key, open), MAX_IDLE_MS).unref();
    const idle = [...this.#open].filter(([, { uses }]) => uses === 0);
    for (const [oldest, closing] of idle.slice(0, -MAX_IDLE_CONNECTIONS)) this.#end(oldest, closing);
  }

  #end(key: string, { client, idle }: OpenConnection): void {
    clearTimeout(idle);
    this.#open.delete(key);
    client.close().catch(() => this.#logger.warn('Closing an MCP connection failed'));
  }
}

function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** URL has lowercased the host. */
function isOnAllowedHost(hosts: readonly string[], url: URL): boolean {
  return hosts.some((allowed) => allowed === '*' || isHost(allowed, url));
}

interface ServerForm {
  url: string;
  headers: string;
  hosts: readonly string[];
}

/** Checks the form of a guild admin: a remote server on an allowed host, without environment variables. */
export function parseGuildServer({ url, headers, hosts }: ServerForm): GuildServer {
  if (httpUrlHint(url) !== undefined) {
    throw new DiscordBotError('REFUSED', 'That is not the URL of an MCP server. Example: https://example.com/mcp');
  }
  if (!isOnAllowedHost(hosts, new URL(url))) {
    const allowed = hosts.length > 0 ? `only on these hosts: ${hosts.join(', ')}` : 'on no host';
    throw new DiscordBotError(
      'REFUSED',
      `The operator of this bot allows MCP servers ${allowed} (POCKET_DISCORD_MCP_HOSTS).`,
    );
  }
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line): [string, string] => {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.+)$/.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined) {
      throw new DiscordBotError('REFUSED', 'Write each header on its own line, such as "Authorization: Bearer …"');
    }
    return [name, value];
  });
  if ([url, ...pairs.flat()].some((text) => text.includes('${'))) {
    throw new DiscordBotError('REFUSED', 'Variables are not supported here; enter the value itself.');
  }
  return pairs.length > 0 ? { url, headers: Object.fromEntries(pairs) } : { url };
}
