// The studio: a page on this machine to chat with agents, answer their questions and see what they do.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { requestGuard, startListening } from '@pocket-agent/http/mcp';
import {
  configError,
  errorText,
  hasMethods,
  isRecord,
  listOf,
  nonEmptyRule,
  nonEmptyString,
  nullable,
  nullableString,
  OptionSet,
  objectRule,
  stderrLogger,
} from '@pocket-agent/kit';
import type { Runs } from '@pocket-agent/runs';
import type { Conversations } from '@pocket-agent/store';
import { PocketAgent, type Router } from 'pocket-agent';
import { makeApi } from './server/api.ts';
import { readPage } from './server/page.ts';
import type { AttachedProgram } from './state/attached-programs.ts';
import type { AttachedGateway } from './state/gateways.ts';
import type { WatchedConversation, Watcher } from './state/watched-chat.ts';
import { Workspace } from './state/workspace.ts';

/** What the studio shows, and where. */
export interface StudioOptions {
  /** Agents by the name that the page shows. Chats work on forks of them, so their own history stays as it is. */
  agents: Readonly<Record<string, PocketAgent<unknown>>>;
  /** Where conversations are saved, from `openConversations()` of `@pocket-agent/store`. Default: in memory. */
  conversations?: Conversations;
  /** Runs of other processes, such as workers, from `openRuns()` of `@pocket-agent/runs`: to see them and answer their questions. */
  runs?: Runs;
  /** Routers by the name that the page shows, to see their deployments: calls, cooldowns, waiting calls. */
  routers?: Readonly<Record<string, Router>>;
  /** Gateways that run elsewhere: to see their calls and answer their questions. */
  gateways?: readonly AttachedGateway[];
  /** Workers, bots and other programs with an address for studios: their conversations, runs and questions are shown too. */
  attached?: readonly AttachedProgram[];
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
  /** The token that requests of the page must send. Default: a new random one. */
  token?: string;
}

/** A studio that is being served. */
export interface Studio {
  /** The address to open, with the token in its fragment, which browsers do not send. */
  readonly url: string;
  /** Stops running agents and the server. The agents stay open. */
  close(): Promise<void>;
}

const studioOptions = new OptionSet<StudioOptions>('openStudio', {
  agents: objectRule,
  conversations: nullable('what openConversations() returns', (value) => hasMethods(value, 'forOwner')),
  routers: { expected: 'an object of routers by name', accepts: isRouters },
  gateways: listOf('a list of { url, token }', isPlace),
  attached: listOf('a list of { url, token }', isPlace),
  runs: nullable('what openRuns() returns', (value) => hasMethods(value, 'questions', 'answer')),
  host: nullableString,
  port: nullable('a number', (value) => typeof value === 'number'),
  token: nullable('a string that is not empty', nonEmptyRule.accepts),
});

/** An address of a program to which studios can be attached. It is a studio itself: a browser may open it too. */
export interface StudioAddress extends Studio {
  /** Shows a conversation of this program. */
  watch(conversation: WatchedConversation): Watcher;
}

/** What a studio sees of a program. */
export interface StudioAddressOptions extends Pick<StudioOptions, 'runs' | 'token'> {
  /** A port of this machine, such as `4100`, or `host:port`, with an IPv6 host in brackets: `[::1]:4100`. */
  address: string;
}

const addressOptions = new OptionSet<StudioAddressOptions>('openStudioAddress', {
  address: { expected: 'a port or host:port', accepts: (value) => readAddress(value) !== undefined },
  runs: studioOptions.rules.runs,
  token: studioOptions.rules.token,
});

/** Serves the page on this machine. Open `url` of what it returns. */
export async function openStudio(options: StudioOptions): Promise<Studio> {
  studioOptions.check(options);
  const agents = Object.entries(options.agents ?? {});
  if (agents.length === 0) throw configError('openStudio needs an agent: openStudio({ agents: { support: agent } }).');
  for (const [name, agent] of agents)
    if (!(agent instanceof PocketAgent)) throw configError(`agents.${name} of openStudio must be a PocketAgent.`);
  const { url, close } = await serve(options);
  return { url, close };
}

/** Lets studios see what this program does, and answer its questions: `pocket-agent studio --attach URL`. */
export async function openStudioAddress(options: StudioAddressOptions): Promise<StudioAddress> {
  addressOptions.check(options);
  const { address, ...others } = options;
  const { workspace, url, close } = await serve({ agents: {}, ...readAddress(address), ...others });
  return { url, close, watch: (conversation) => workspace.watch(conversation) };
}

async function serve(options: StudioOptions): Promise<Studio & { workspace: Workspace }> {
  const { host = '127.0.0.1', port = 0, token = randomBytes(24).toString('base64url') } = options;
  const page = await readPage();
  const workspace = new Workspace({
    agents: new Map(Object.entries(options.agents)),
    conversations: options.conversations,
    runs: options.runs,
    gateways: options.gateways ?? [],
    attached: options.attached ?? [],
    routers: new Map(Object.entries(options.routers ?? {})),
    logger: stderrLogger(),
  });
  const api = makeApi(workspace, token);
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const guard = requestGuard({ ownHosts: [shownHost] });
  const answer = (request: Request): Response | Promise<Response> => {
    const refused = guard(request);
    if (refused) return refused;
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/api/')) return api.fetch(request);
    const file = request.method === 'GET' ? page.get(pathname) : undefined;
    return file?.() ?? new Response('There is nothing here.', { status: 404 });
  };
  const server = createServer(getRequestListener(answer));
  await startListening(server, host, port).catch((error) => {
    throw configError(errorText(error), error);
  });
  workspace.start();
  return {
    workspace,
    url: `http://${shownHost}:${(server.address() as AddressInfo).port}/#token=${token}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await workspace.close();
      await closed;
    },
  };
}

function isRouters(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((each) => hasMethods(each, 'status'));
}

function isPlace(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { url, token } = value;
  return typeof url === 'string' && URL.canParse(url) && /^https?:/.test(url) && nonEmptyString(token) !== undefined;
}

function readAddress(address: unknown): { host?: string; port: number } | undefined {
  const [, ipv6, name, port] = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(String(address)) ?? [];
  const host = ipv6 ?? name;
  if (port === undefined || Number(port) > 65_535) return undefined;
  return { ...(host === undefined ? {} : { host }), port: Number(port) };
}
