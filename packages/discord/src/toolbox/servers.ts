// MCP servers that conversations use: those of the operator and those a guild brings along, connected once for all runs.
import { type Logger, type McpServerEntry, PocketAgentClient } from 'pocket-agent';
import { DiscordBotError } from '../errors.ts';
import type { GuildServer } from '../settings/settings.ts';
import type { ToolChoice } from './catalogue.ts';

export const SERVER_PREFIX = 'mcp:';
const CONNECT_MS = 10_000;
const IDLE_MS = 600_000;

export type ServerEntries = Readonly<Record<string, McpServerEntry>>;

export interface Lease {
  client: PocketAgentClient;
  release(): void;
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
  readonly #open = new Map<string, Open>();

  /** `hosts`: where guilds may have theirs; one that is allowed no longer is used no longer. */
  constructor({ own, hosts, logger }: { own: ServerEntries; hosts: readonly string[]; logger: Logger }) {
    this.#own = own;
    this.#hosts = hosts;
    this.#logger = logger;
  }

  choices(guild: Readonly<Record<string, GuildServer>>): ToolChoice[] {
    const allowed = Object.entries(guild).flatMap(([name, { url }]) => (isOn(this.#hosts, new URL(url)) ? name : []));
    const names = new Set([...Object.keys(this.#own), ...allowed]);
    return [...names].map((name) => ({ id: `${SERVER_PREFIX}${name}`, label: `${name} (MCP)` }));
  }

  /** Those of the ids that are servers; undefined when none is. No two places share a connection. */
  lease(place: string, ids: readonly string[], guild: Readonly<Record<string, GuildServer>>): Lease | undefined {
    const entries = ids.flatMap((id): [string, McpServerEntry][] => {
      const name = id.startsWith(SERVER_PREFIX) ? id.slice(SERVER_PREFIX.length) : '';
      // nobody replaces a server of the operator
      const brought = ownValue(guild, name);
      const entry = ownValue(this.#own, name) ?? (brought && isOn(this.#hosts, new URL(brought.url)) && brought);
      return entry ? [[name, { connectTimeoutMs: CONNECT_MS, ...entry }]] : [];
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
  }

  #connect(entries: readonly [string, McpServerEntry][]): PocketAgentClient {
    const mcpServers = Object.fromEntries(entries);
    return new PocketAgentClient({ mcpConfig: { mcpServers }, toolPrefix: 'always', logger: this.#logger });
  }

  #release(key: string, open: Open): void {
    open.uses--;
    if (open.uses > 0) return;
    open.idle = setTimeout(() => {
      this.#open.delete(key);
      open.client.close().catch(() => this.#logger.warn('An MCP connection did not close'));
    }, IDLE_MS).unref();
  }
}

function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function isOn(hosts: readonly string[], { host, hostname }: URL): boolean {
  return hosts.includes('*') || hosts.includes(host) || hosts.includes(hostname);
}

/** What a guild's admin may add: a remote server on a host that the operator allows, without variables of ours. */
export function readGuildServer(url: string, headers: string, hosts: readonly string[]): GuildServer {
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
