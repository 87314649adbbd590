// Runs the server on the configured transport until the client disconnects or the process gets a signal.
import { once } from 'node:events';
import { localhostAllowedHostnames, localhostAllowedOrigins } from '@modelcontextprotocol/server';
import { type Authorize, serveHttp, serveStdio } from '@pocket-agent/http/mcp';
import { errorText } from '@pocket-agent/kit';
import { allows } from '../base/access.ts';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import { createLog, type Log, type LogFields } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { allTools } from '../tools/all.ts';
import type { ReadyState } from './health.ts';
import { createMattermostServer, type MattermostServer } from './server.ts';
import { isListed } from './tool-catalog.ts';

/** The server while it listens over HTTP. */
export interface RunningServer {
  url: string;
  close(): Promise<void>;
}

interface ServeOptions {
  log?: Log;
}

/** Shown when the server is started in a terminal. */
const WAITING = 'Waiting for an MCP client on stdin. Use --http for HTTP, --help for help.\n';

export async function serve(config: MattermostConfig): Promise<void> {
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const server = createMattermostServer(config, { log });
  const facts = {
    profile: config.profile,
    auth_mode: config.authMode,
    tools: allTools.filter((tool) => isListed(tool, config.toolGroups) && allows(config.profile, tool.capability))
      .length,
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

/** Serves MCP over HTTP. */
export function startHttp(config: MattermostConfig, { log }: ServeOptions = {}): Promise<RunningServer> {
  return listenOn(createMattermostServer(config, log ? { log } : {}), config, log);
}

/** Closes the server if it cannot listen. */
async function listenOn(server: MattermostServer, config: MattermostConfig, log?: Log): Promise<RunningServer> {
  const { gate } = server;
  const { host, port } = config;
  try {
    const http = await serveHttp(server.factory, {
      host,
      port,
      authorize: answerListenRequests(server),
      routes: async (request) => (await server.routes(request)) ?? gate.routes?.(request),
      ...allowedNames(config),
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
    // an unavailable address, such as a port in use, is a configuration error
    throw new MattermostError('CONFIG_INVALID', errorText(cause), { cause });
  }
}

const WARNINGS: Readonly<Record<Exclude<ReadyState, 'ready'>, [string, LogFields]>> = {
  'token refused': [
    'token_refused',
    { reason: 'Mattermost rejects MATTERMOST_TOKEN: it is wrong, expired or revoked' },
  ],
  'mattermost unreachable': ['mattermost_unreachable', { reason: 'Mattermost cannot be reached at MATTERMOST_URL' }],
};

/** Warns at startup about problems that would make every call fail. */
async function warnUnlessReady(server: MattermostServer, log: Log): Promise<void> {
  try {
    const state = await server.readiness();
    if (state !== 'ready') log.warning(...WARNINGS[state]);
  } catch (error) {
    if (!isMattermostError(error)) log.warning('not_checked', { error: errorText(error) }); // other errors: the server is closing
  }
}

/** Answers listen requests separately, because each account may only be notified of its own channels. */
function answerListenRequests({ gate, listen }: MattermostServer): Authorize {
  return async (request) => {
    const auth = await gate.authorize(request);
    return auth instanceof Response ? auth : ((await listen(request, auth)) ?? auth);
  };
}

/** With OAuth, browsers use the public URL, so its host is allowed too. */
function allowedNames({ host, oauth, allowedHosts, allowedOrigins }: MattermostConfig) {
  const publicHosts = oauth ? [new URL(oauth.mcpPublicUrl).hostname] : [];
  if (publicHosts.length === 0) return { allowedHosts, allowedOrigins };
  return {
    allowedHosts: [...(allowedHosts ?? [...localhostAllowedHostnames(), host]), ...publicHosts],
    allowedOrigins: [...(allowedOrigins ?? localhostAllowedOrigins()), ...publicHosts],
  };
}

/** Transport errors contain no secrets but may contain data of unauthenticated clients, so they are truncated. */
function errorLogger(log: Log): (error: Error) => void {
  return (error) => log.warning('transport_error', { error: error.message.slice(0, 300) });
}
