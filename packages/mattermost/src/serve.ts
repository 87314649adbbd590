// Runs the server on the configured transport until its client goes away or the process is told to stop.
import { once } from 'node:events';
import { localhostAllowedHostnames, localhostAllowedOrigins } from '@modelcontextprotocol/server';
import { type Authorize, serveHttp, serveStdio } from '@pocket-agent/http/mcp';
import type { MattermostConfig } from './config.ts';
import { createLog, type Log } from './log.ts';
import { createMattermostServer, type MattermostServer } from './server.ts';

export interface RunningServer {
  url: string;
  close(): Promise<void>;
}

export interface ServeOptions {
  log?: Log;
}

export async function serve(config: MattermostConfig): Promise<void> {
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  if (config.transport === 'stdio') {
    const server = createMattermostServer(config, { log });
    const { factory, onMessage } = server.onStdio();
    await serveStdio(factory, { onMessage, onError: errorLogger(log), close: () => server.close() });
    return;
  }
  const running = await startHttp(config, { log });
  log.info('listening', { url: running.url });
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT'), once(process, 'SIGHUP')]);
  log.info('stopping');
  await running.close();
}

export async function startHttp(config: MattermostConfig, { log }: ServeOptions = {}): Promise<RunningServer> {
  const server = createMattermostServer(config, log ? { log } : {});
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
  } catch (error) {
    server.close();
    throw error;
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
