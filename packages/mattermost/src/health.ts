// Two questions for whoever runs the server: is the process alive, and does it reach Mattermost.
import { MattermostApi } from './client/api.ts';
import type { HttpPool } from './client/http-pool.ts';
import type { MattermostConfig } from './config.ts';
import { isMattermostError } from './errors.ts';
import type { Log } from './log.ts';
import { Memory } from './memory.ts';
import { packageVersion } from './version.ts';

const PING_TIMEOUT_MS = 5000;
/** Anybody may ask, so Mattermost is not asked every time. */
const PING_KEPT_MS = 1000;

interface HealthOptions {
  config: MattermostConfig;
  pool: HttpPool;
  log: Log;
  signal: AbortSignal;
}

export function healthRoutes({
  config,
  pool,
  log,
  signal,
}: HealthOptions): (request: Request) => Promise<Response | undefined> {
  const service = 'mcp-server-mattermost';
  const version = packageVersion();
  const timeoutMs = Math.min(PING_TIMEOUT_MS, config.timeoutMs);
  const api = new MattermostApi({
    config: { ...config, maxRetries: 0, timeoutMs },
    pool,
    token: undefined,
    signal,
    log,
  });
  const pings = new Memory<boolean>({ most: 1, ms: PING_KEPT_MS });
  const ping = async () => {
    try {
      await api.get('/system/ping');
      return true;
    } catch (error) {
      if (isMattermostError(error)) return false;
      throw error;
    }
  };
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    const { pathname } = new URL(request.url);
    if (pathname === '/health') return Response.json({ status: 'healthy', service, version });
    if (pathname !== '/ready') return undefined;
    const isReady = await pings.get('ping', ping);
    const body = { status: isReady ? 'ready' : 'mattermost unreachable', service, version };
    return Response.json(body, { status: isReady ? 200 : 503 });
  };
}
