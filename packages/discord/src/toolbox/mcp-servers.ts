// MCP servers that conversations use: those of the operator and those a guild brings along, connected once for all runs.
import { type HttpFetch, isHost, makeFetch } from '@pocket-agent/http/fetch';
import { type Logger, type McpServerEntry, PocketAgentClient } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { GuildServer } from '../store/guild-settings.ts';
import type { ToolChoice } from './catalogue.ts';

const SERVER_PREFIX = 'mcp:';
const CONNECT_MS = 10_000;
/** An answer waits for a server that is silent; one that somebody brought along is waited for less. */
const GUILD_CONNECT_MS = 3_000;
const IDLE_MS = 600_000;
/** Of places that nobody asks in: more connections than these are closed, the one that is idle longest first. */
const MOST_IDLE = 10;

type ServerEntries = Readonly<Record<string, McpServerEntry>>;

interface Lease {
  client: PocketAgentClient;
  release(): void;
}

interface Wanted {
  /** No two places share a connection. */
  place: string;
  ids: readonly string[];
  guild: Readonly<Record<string, GuildServer>>;
}

interface Open {
  client: PocketAgentClient;
  uses: number;
  idle: NodeJS.Timeout | undefined;
}

export class Servers {
  readonly #own: ServerEntries;
  readonly #hosts: readonly string[];
  readonly #logger: Logger;
  /** Strangers gave the addresses: they lead nowhere but to the hosts that are allowed, and nowhere inside. */
  readonly #guildFetch: HttpFetch;
  readonly #open = new Map<string, Open>();

  /** `hosts`: where guilds may have theirs; one that is allowed no longer is used no longer. */
  constructor({ own, hosts, logger }: { own: ServerEntries; hosts: readonly string[]; logger: Logger }) {
    this.#own = own;
    this.#hosts = hosts;
    this.#logger = logger;
    this.#guildFetch = makeFetch({ allowHosts: hosts.filter((host) => host !== '*'), redirects: 'refuse' });
  }

  choices(guild: Readonly<Record<string, GuildServer>>): ToolChoice[] {
    const allowed = Object.entries(guild).flatMap(([name, { url }]) => (isOn(this.#hosts, new URL(url)) ? name : []));
    const names = new Set([...Object.keys(this.#own), ...allowed]);
    return [...names].map((name) => ({ id: `${SERVER_PREFIX}${name}`, label: `${name} (MCP)` }));
  }

  /** Those of the ids that are servers; undefined when none is. */
  lease({ place, ids, guild }: Wanted): Lease | undefined {
    const entries = ids.flatMap((id): [string, McpServerEntry][] => {
      const name = id.startsWith(SERVER_PREFIX) ? id.slice(SERVER_PREFIX.length) : '';
      // nobody replaces a server of the operator
      const brought = ownValue(guild, name);
      const own = ownValue(this.#own, name);
      if (own) return [[name, { connectTimeoutMs: CONNECT_MS, ...own }]];
      const isAllowed = brought && isOn(this.#hosts, new URL(brought.url));
      const cautious = { connectTimeoutMs: GUILD_CONNECT_MS, fetch: this.#guildFetch };
      return isAllowed ? [[name, { ...brought, ...cautious }]] : [];
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

  #release(key: string, open: Open): void {
    open.uses--;
    if (open.uses > 0 || !this.#open.delete(key)) return;
    // at the end again, so that the first idle one is the one that is idle longest
    this.#open.set(key, open);
    open.idle = setTimeout(() => this.#end(key, open), IDLE_MS).unref();
    const idle = [...this.#open].filter(([, { uses }]) => uses === 0);
    for (const [oldest, closing] of idle.slice(0, -MOST_IDLE)) this.#end(oldest, closing);
  }

  #end(key: string, { client, idle }: Open): void {
    clearTimeout(idle);
    this.#open.delete(key);
    client.close().catch(() => this.#logger.warn('An MCP connection did not close'));
  }
}

function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** An address has its host in lower case, whoever wrote it. */
function isOn(hosts: readonly string[], url: URL): boolean {
  return hosts.some((allowed) => allowed === '*' || isHost(allowed, url));
}

interface ServerForm {
  url: string;
  headers: string;
  hosts: readonly string[];
}

/** What a guild's admin may add: a remote server on a host that the operator allows, without variables of ours. */
export function readGuildServer({ url, headers, hosts }: ServerForm): GuildServer {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    throw new DiscordBotError('REFUSED', 'That is no address of an MCP server. It looks like https://example.com/mcp');
  }
  if (!isOn(hosts, parsed)) {
    const allowed = hosts.join(', ') || 'none yet';
    throw new DiscordBotError(
      'REFUSED',
      `The operator of this bot allows MCP servers on these hosts: ${allowed}. They are set in POCKET_DISCORD_MCP_HOSTS.`,
    );
  }
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line): [string, string] => {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.+)$/.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined) {
      throw new DiscordBotError('REFUSED', 'A header is a line such as "Authorization: Bearer …"');
    }
    return [name, value];
  });
  if ([url, ...pairs.flat()].some((text) => text.includes('${'))) {
    throw new DiscordBotError('REFUSED', 'Variables cannot be used here; write the value itself.');
  }
  return pairs.length > 0 ? { url, headers: Object.fromEntries(pairs) } : { url };
}
