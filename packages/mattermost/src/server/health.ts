// Health checks for operators: is the process alive, and can calls to Mattermost succeed?

import { VERSION } from '@pocket-agent/kit';
import { AsyncCache } from '../base/cache.ts';
import { isMattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { MattermostApi } from '../client/api.ts';
import type { HttpPool } from '../client/http-pool.ts';
import { isTokenValid } from '../client/socket.ts';
import type { MattermostConfig } from '../config/config.ts';

const PING_TIMEOUT_MS = 5000;
/** Anyone can call /ready, so its result is cached. */
const READINESS_CACHE_MS = 1000;

interface HealthOptions {
  config: MattermostConfig;
  pool: HttpPool;
  log: Log;
  signal: AbortSignal;
}

export type ReadyState = 'ready' | 'mattermost unreachable' | 'token refused';

export function createReadinessCheck({ config, pool, log, signal }: HealthOptions): () => Promise<ReadyState> {
  const timeoutMs = Math.min(PING_TIMEOUT_MS, config.timeoutMs);
  const parts = { config: { ...config, maxRetries: 0, timeoutMs }, pool, signal, log };
  const api = new MattermostApi({ ...parts, token: undefined });
  const ownApi = config.authMode === 'static_token' ? new MattermostApi({ ...parts, token: config.token }) : undefined;
  const check = async (): Promise<ReadyState> => {
    try {
      await api.get('/system/ping');
    } catch (error) {
      if (isMattermostError(error) && !signal.aborted) return 'mattermost unreachable';
      throw error;
    }
    return ownApi === undefined || (await isTokenValid(() => ownApi.get('/users/me'))) ? 'ready' : 'token refused';
  };
  const results = new AsyncCache<ReadyState>({ maxEntries: 1, ttlMs: READINESS_CACHE_MS });
  return () => results.get('state', check);
}

export function healthRoutes(
  readiness: () => Promise<ReadyState>,
): (request: Request) => Promise<Response | undefined> {
  const service = 'mcp-server-mattermost';
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    const { pathname } = new URL(request.url);
    if (pathname === '/health') return Response.json({ status: 'healthy', service, version: VERSION });
    if (pathname !== '/ready') return undefined;
    const status = await readiness();
    return Response.json({ status, service, version: VERSION }, { status: status === 'ready' ? 200 : 503 });
  };
}
