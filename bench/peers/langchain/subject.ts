// LangChain with its MCP adapters, told to go on without servers that fail, to come back to those that were lost, and to
// send the trace context with calls over HTTP (it refuses headers for child processes).
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { createAgent } from 'langchain';
import type { Subject } from '../../behaviour/subject.ts';
import { ScriptModel } from './model.ts';

export const subject: Subject = {
  async open({ servers, traceparent }) {
    const again = { enabled: true, maxAttempts: 3, delayMs: 200 };
    const client = new MultiServerMCPClient({
      onConnectionError: 'ignore',
      onProgress: () => {},
      beforeToolCall: ({ serverName }) => ('url' in (servers[serverName] ?? {}) ? { headers: { traceparent } } : {}),
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
        const agent = createAgent({ model: new ScriptModel(script), tools: await client.getTools() });
        return agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, signal ? { signal } : {});
      },
      close: () => client.close(),
    };
  },
};
