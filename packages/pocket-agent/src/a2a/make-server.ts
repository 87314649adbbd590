// The door through which an agent becomes an A2A server.
import type { PocketAgent } from '../agent/agent.ts';
import { withSdk } from './sdk.ts';
import type { A2aServer } from './server.ts';
import type { A2aServerOptions } from './server-options.ts';

export async function makeA2aServer(
  agent: PocketAgent<unknown>,
  options: A2aServerOptions,
  open: Set<{ close(): Promise<void> }>,
): Promise<A2aServer> {
  const { A2aServer } = await withSdk(() => import('./server.ts'));
  return new A2aServer(agent, options, open);
}
