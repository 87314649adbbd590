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
import type { AttachedGateway } from './state/gateways.ts';
import { Workspace } from './state/workspace.ts';

/** What the studio shows, and where. */
export interface StudioOptions {
  /** Agents by the name that the page shows. Chats work on forks of them, so their own history stays as it is. */
  agents: Readonly<Record<string, PocketAgent<unknown>>>;
  /** Where conversations are saved, from `openConversations()` of `@pocket-agent/store`. Default: in memory. */
  conversations?: Conversations;
  /** Runs of other processes, such as workers, from `openRuns()` of `@pocket-agent/runs`: to see them and answer their questions. */
  runs?: Runs;
  /** Routers by the name that the page shows, to see their deployments: calls, cooldowns, and who waits. */
  routers?: Readonly<Record<string, Router>>;
  /** Gateways that run elsewhere: to see their calls and answer their questions. */
  gateways?: readonly AttachedGateway[];
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
  /** What the page must know. Default: a new random one. */
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
  gateways: listOf('a list of { url, token }', isGateway),
  runs: nullable('what openRuns() returns', (value) => hasMethods(value, 'questions', 'answer')),
  host: nullableString,
  port: nullable('a number', (value) => typeof value === 'number'),
  token: nullable('a string that is not empty', nonEmptyRule.accepts),
});

/** Serves the page on this machine. Open `url` of what it returns. */
export async function openStudio(options: StudioOptions): Promise<Studio> {
  studioOptions.check(options);
  const { host = '127.0.0.1', port = 0, token = randomBytes(24).toString('base64url') } = options;
  const agents = new Map(Object.entries(options.agents ?? {}));
  if (agents.size === 0) throw configError('openStudio needs an agent: openStudio({ agents: { support: agent } }).');
  for (const [name, agent] of agents)
    if (!(agent instanceof PocketAgent)) throw configError(`agents.${name} of openStudio must be a PocketAgent.`);
  const page = await readPage();
  const workspace = new Workspace({
    agents,
    conversations: options.conversations,
    runs: options.runs,
    gateways: options.gateways ?? [],
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

function isGateway(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { url, token } = value;
  return typeof url === 'string' && URL.canParse(url) && /^https?:/.test(url) && nonEmptyString(token) !== undefined;
}
