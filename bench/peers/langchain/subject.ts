// LangChain with its MCP adapters, configured to ignore failing servers, to reconnect to lost ones, to send the trace context
// with HTTP calls (it rejects headers for child processes), and to load tools again after a notification.
import { loadMcpTools, MultiServerMCPClient } from '@langchain/mcp-adapters';
import { createAgent } from 'langchain';
import type { Subject } from '../../behaviour/subject.ts';
import { ScriptModel } from './model.ts';

export const subject: Subject = {
  async open({ servers, traceparent }) {
    const again = { enabled: true, maxAttempts: 3, delayMs: 200 };
    const hooks = {
      onProgress: () => {},
      beforeToolCall: ({ serverName }: { serverName: string }) =>
        'url' in (servers[serverName] ?? {}) ? { headers: { traceparent } } : {},
    };
    /** By server, because the client keeps the first list of a connection. */
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
            ? { transport: 'http' as const, url: endpoint.url, reconnect: again }
            : { transport: 'stdio' as const, ...endpoint, restart: again },
        ]),
      ),
    });
    await client.initializeConnections();
    return {
      async run(script, signal) {
        const kept = await client.initializeConnections();
        const tools = Object.values({ ...kept, ...changed }).flat();
        const agent = createAgent({ model: new ScriptModel(script), tools });
        return agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, signal ? { signal } : {});
      },
      close: () => client.close(),
    };
  },
};
