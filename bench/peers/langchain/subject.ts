// LangChain with its MCP adapters, which ignore failing servers, reconnect to lost ones, send the trace context with HTTP calls
// (they reject headers for child processes), and load tools again after a notification.
import { loadMcpTools, MultiServerMCPClient } from '@langchain/mcp-adapters';
import { createAgent } from 'langchain';
import type { Subject } from '../../behaviour/subject.ts';
import { ScriptModel } from './model.ts';

export const subject: Subject = {
  async open({ servers, traceparent }) {
    const retries = { enabled: true, maxAttempts: 3, delayMs: 200 };
    const hooks = {
      onProgress: () => {},
      beforeToolCall: ({ serverName }: { serverName: string }) =>
        'url' in (servers[serverName] ?? {}) ? { headers: { traceparent } } : {},
    };
    /** By server: the lists after a notification. The client itself keeps the first list of a connection. */
    const changed: Record<string, Awaited<ReturnType<typeof loadMcpTools>>> = {};
    const client = new MultiServerMCPClient({
      ...hooks,
      onConnectionError: 'ignore',
      onToolsListChanged: async ({ server }) => {
        const connection = await client.getClient(server);
        if (connection) changed[server] = await loadMcpTools(server, connection, hooks);
      },
      mcpServers: Object.fromEntries(
        Object.entries(servers).map(([server, endpoint]) => [
          server,
          'url' in endpoint
            ? { transport: 'http' as const, url: endpoint.url, reconnect: retries }
            : { transport: 'stdio' as const, ...endpoint, restart: retries },
        ]),
      ),
    });
    await client.initializeConnections();
    return {
      async run(script, signal) {
        const first = await client.initializeConnections();
        const tools = Object.values({ ...first, ...changed }).flat();
        const agent = createAgent({ model: new ScriptModel(script), tools });
        return agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, signal ? { signal } : {});
      },
      close: () => client.close(),
    };
  },
};
