// Runs the server on the configured transport until its client goes away or the process is told to stop.
import { once } from 'node:events';
import { localhostAllowedHostnames, localhostAllowedOrigins } from '@modelcontextprotocol/server';
import { type Authorize, serveHttp, serveStdio } from '@pocket-agent/http/mcp';
import { allows } from '../base/access.ts';
import { errorText, isMattermostError, MattermostError } from '../base/errors.ts';
import { createLog, type Log, type LogFields } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { allTools } from '../tools/all.ts';
import type { ReadyState } from './health.ts';
import { createMattermostServer, type MattermostServer } from './server.ts';

export interface RunningServer {
  url: string;
  close(): Promise<void>;
}

export interface ServeOptions {
  log?: Log;
}

/** For whoever starts it by hand. */
const WAITING = 'Waiting for an MCP client on stdin; --http serves HTTP, --help tells more.\n';

export async function serve(config: MattermostConfig): Promise<void> {
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const server = createMattermostServer(config, { log });
  const facts = {
    profile: config.profile,
    auth_mode: config.authMode,
    tools: allTools.filter(({ capability, isListed }) => isListed && allows(config.profile, capability)).length,
  };
  if (config.transport === 'stdio') {
    log.info('listening', { transport: 'stdio', ...facts });
    if (process.stdin.isTTY) process.stderr.write(WAITING);
    void warnUnlessReady(server, log);
    const { factory, onMessage } = server.onStdio();
    await serveStdio(factory, { onMessage, onError: errorLogger(log), close: () => server.close() });
    return;
  }
  const running = await listenOn(server, config, log);
  log.info('listening', { url: running.url, ...facts });
  void warnUnlessReady(server, log);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT'), once(process, 'SIGHUP')]);
  log.info('stopping');
  await running.close();
}

export function startHttp(config: MattermostConfig, { log }: ServeOptions = {}): Promise<RunningServer> {
  return listenOn(createMattermostServer(config, log ? { log } : {}), config, log);
}

/** Closes the server when nobody can reach it. */
async function listenOn(server: MattermostServer, config: MattermostConfig, log?: Log): Promise<RunningServer> {
  const { gate } = server;
  const { host, port } = config;
  try {
    const http = await serveHttp(server.factory, {
      host,
      port,
      authorize: listening(server),
      routes: async (request) => (await server.routes(request)) ?? gate.routes?.(request),
      ...reachableAs(config),
      ...(log ? { onError: errorLogger(log) } : {}),
    });
    return {
      url: http.url,
      async close() {
        server.close();
        await http.close();
      },
    };
  } catch (cause) {
    server.close();
    // an address that cannot be had, such as a port in use, is a setting to change
    throw new MattermostError('CONFIG_INVALID', errorText(cause), { cause });
  }
}

const WARNINGS: Readonly<Record<Exclude<ReadyState, 'ready'>, [string, LogFields]>> = {
  'token refused': [
    'token_refused',
    { reason: 'Mattermost refuses MATTERMOST_TOKEN: it is wrong, expired or revoked' },
  ],
  'mattermost unreachable': [
    'mattermost_unreachable',
    { reason: 'there is no Mattermost at MATTERMOST_URL, or not yet' },
  ],
};

/** What would fail every call is told at the start, not with the first call. */
async function warnUnlessReady(server: MattermostServer, log: Log): Promise<void> {
  try {
    const state = await server.readiness();
    if (state !== 'ready') log.warning(...WARNINGS[state]);
  } catch (error) {
    if (!isMattermostError(error)) log.warning('not_checked', { error: errorText(error) }); // else it is closing
  }
}

/** Requests to listen for changes are answered here, because each account hears of its own channels only. */
function listening({ gate, listen }: MattermostServer): Authorize {
  return async (request) => {
    const auth = await gate.authorize(request);
    return auth instanceof Response ? auth : ((await listen(request, auth)) ?? auth);
  };
}

/** With OAuth, browsers come by the public address. */
function reachableAs({ host, oauth, allowedHosts, allowedOrigins }: MattermostConfig) {
  const own = oauth ? [new URL(oauth.mcpPublicUrl).hostname] : [];
  if (own.length === 0)
    return { ...(allowedHosts ? { allowedHosts } : {}), ...(allowedOrigins ? { allowedOrigins } : {}) };
  return {
    allowedHosts: [...(allowedHosts ?? [...localhostAllowedHostnames(), host]), ...own],
    allowedOrigins: [...(allowedOrigins ?? localhostAllowedOrigins()), ...own],
  };
}

/** Errors of the transport, which hold no secrets but may hold what a stranger sent. */
function errorLogger(log: Log): (error: Error) => void {
  return (error) => log.warning('transport_error', { error: error.message.slice(0, 300) });
}
