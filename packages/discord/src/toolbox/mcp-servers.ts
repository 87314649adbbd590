// Connections to MCP servers of the operator and of guilds, shared by all runs of one place.
import { type HttpFetch, isHost, makeFetch } from '@pocket-agent/http/fetch';
import { httpUrlHint } from '@pocket-agent/kit';
import { type Logger, type McpServerEntry, PocketAgentClient } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { GuildServer } from '../store/guild-settings.ts';
import type { ToolChoice } from './catalogue.ts';
import type { MemberAt, MemberLogins } from './member-logins.ts';

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
  /** Who asks. Servers with a login are connected for each member. */
  member?: Pick<MemberAt, 'guildId' | 'userId'> | undefined;
}

interface OpenConnection {
  client: PocketAgentClient;
  /** The member whose logins it has; empty if it has none. */
  owner: string;
  uses: number;
  idle: NodeJS.Timeout | undefined;
}

interface LoginRequest extends Pick<MemberAt, 'guildId' | 'userId' | 'name'> {
  server: GuildServer;
}

type LoginRequestMember = Omit<LoginRequest, 'server'>;

/** A login, with the server to try it at. */
interface ServerLogin {
  /** The page of the login; undefined if the member is logged in. */
  begin(): Promise<URL | undefined>;
  /** `back`: where the page has sent the member. */
  finish(back: URL): Promise<void>;
  end(): Promise<void>;
}

interface McpServersOptions {
  /** Undefined if the operator gave no key to encrypt logins. */
  logins?: MemberLogins | undefined;
  operatorServers: ServerEntries;
  /** Allowed hosts for servers of guilds, checked at every use. */
  hosts: readonly string[];
  logger: Logger;
}

export class McpServers {
  readonly #operatorServers: ServerEntries;
  readonly #hosts: readonly string[];
  readonly #logger: Logger;
  readonly #logins: MemberLogins | undefined;
  /** For addresses from guild admins: reaches only allowed hosts and no internal addresses. */
  readonly #guildFetch: HttpFetch;
  readonly #open = new Map<string, OpenConnection>();

  constructor({ operatorServers, hosts, logger, logins }: McpServersOptions) {
    this.#logins = logins;
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
  lease({ place, ids, guild, member }: LeaseRequest): Lease | undefined {
    let owner = '';
    const entries = ids.flatMap((id): [string, McpServerEntry][] => {
      const name = id.startsWith(SERVER_PREFIX) ? id.slice(SERVER_PREFIX.length) : '';
      // a guild cannot replace a server of the operator
      const guildServer = ownValue(guild, name);
      const operatorServer = ownValue(this.#operatorServers, name);
      if (operatorServer) return [[name, { connectTimeoutMs: CONNECT_MS, ...operatorServer }]];
      const isAllowed = guildServer && isOnAllowedHost(this.#hosts, new URL(guildServer.url));
      if (!isAllowed) return [];
      if (guildServer.login !== undefined) owner = member?.userId ?? '';
      const entry = this.#guildEntry(guildServer, member && { ...member, name });
      return entry ? [[name, entry]] : [];
    });
    if (entries.length === 0) return undefined;
    // a login is known by its owner; as JSON it would show tokens
    const key = JSON.stringify([place, owner, entries.map(([name, entry]) => [name, ownValue(guild, name) ?? entry])]);
    const open = this.#open.get(key) ?? { client: this.#connect(entries), owner, uses: 0, idle: undefined };
    this.#open.set(key, open);
    open.uses++;
    clearTimeout(open.idle);
    return { client: open.client, release: () => this.#release(key, open) };
  }

  /** Undefined if the server needs no login, or the operator does not allow it. */
  loginOf({ server, ...member }: LoginRequest): ServerLogin | undefined {
    const { url, login: scope } = server;
    const isAllowed = isOnAllowedHost(this.#hosts, new URL(url));
    if (!this.#logins || scope === undefined || !isAllowed) return undefined;
    const login = this.#logins.of({ ...member, url, scope });
    const check = () => this.#check(server, member);
    const end = async () => {
      await login.end();
      for (const [key, open] of this.#open) if (open.owner === member.userId && open.uses === 0) this.#end(key, open);
    };
    return { begin: () => login.begin(check), finish: (back) => login.finish(back, check), end };
  }

  /** The chosen servers at which the member has to log in first, and the ids of the others. */
  async missingLogins(request: Omit<LeaseRequest, 'place'>): Promise<{ missing: string[]; ids: string[] }> {
    const { ids, guild, member } = request;
    const logins = this.#logins;
    const needed = Object.entries(guild).flatMap(([name, { url, login: scope }]) =>
      member && scope !== undefined && ids.includes(SERVER_PREFIX + name) ? { ...member, name, url, scope } : [],
    );
    const done = await Promise.all(needed.map((server) => logins?.of(server).isDone()));
    const missing = needed.flatMap(({ name }, index) => (done[index] ? [] : name));
    return { missing, ids: ids.filter((id) => !missing.some((name) => id === SERVER_PREFIX + name)) };
  }

  #guildEntry(
    { login: scope, ...server }: GuildServer,
    member: LoginRequestMember | undefined,
  ): McpServerEntry | undefined {
    const options = { connectTimeoutMs: GUILD_CONNECT_MS, fetch: this.#guildFetch };
    if (scope === undefined) return { ...server, ...options };
    if (!this.#logins || !member) return undefined;
    return { ...server, ...options, auth: this.#logins.of({ ...member, url: server.url, scope }).login };
  }

  /** Sends a request as the member. */
  async #check(server: GuildServer, member: LoginRequestMember): Promise<void> {
    const entry = this.#guildEntry(server, member);
    if (!entry) return;
    const client = this.#connect([[member.name, { ...entry, connectTimeoutMs: CONNECT_MS }]]);
    try {
      await client.request(member.name, (sdk) => sdk.listTools());
    } finally {
      await client.close();
    }
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
  /** `yes`, a scope, or empty. */
  login: string;
  hosts: readonly string[];
}

/** Checks the form of a guild admin: a remote server on an allowed host, without environment variables. */
export function parseGuildServer({ url, headers, login, hosts }: ServerForm): GuildServer {
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
  const typed = login.trim();
  return {
    url,
    ...(pairs.length > 0 ? { headers: Object.fromEntries(pairs) } : {}),
    ...(/^(|no)$/i.test(typed) ? {} : { login: /^yes$/i.test(typed) ? '' : typed }),
  };
}
