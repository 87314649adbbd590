// The function that opens a state.
import type { GatewayState } from './state.ts';

/** Opens the state of a gateway: a SQLite file, `:memory:`, or PostgreSQL or Redis by its URL. */
export async function openGatewayState(location: string): Promise<GatewayState> {
  if (/^rediss?:\/\//.test(location)) {
    const { openRedisState } = await import('./redis-state.ts');
    return openRedisState(location);
  }
  const { openSqlState } = await import('./sql-state.ts');
  return openSqlState(location);
}
