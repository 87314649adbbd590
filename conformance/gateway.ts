// The server under test behind a gateway: client → gateway → the server with the fixtures.
import { Gateway, openGatewayState } from '../packages/gateway/src/index.ts';
import { startServer } from './server.ts';
import { startTokenProxy } from './token-proxy.ts';

/** Serves the fixtures through a gateway on a free port. */
export async function startGateway(): Promise<{ url: string; close(): Promise<void> }> {
  const server = await startServer();
  const state = await openGatewayState(':memory:');
  // the suite calls tools and prompts by their original names
  const mcpServers = { fixtures: { url: server.url } };
  const gateway = new Gateway({ mcpServers, names: 'plain', access: { confirm: 'never' }, state });
  const { url } = await gateway.listen();
  const proxy = await startTokenProxy(url, await state.addCaller('suite', { profile: 'admin' }));
  return {
    url: proxy.url,
    async close() {
      proxy.close();
      await gateway.close();
      await state.close();
      await server.close();
    },
  };
}
