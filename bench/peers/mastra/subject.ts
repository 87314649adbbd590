// Mastra with its MCPClient. Progress, trace context and input requests are turned on, and tools are listed again after a
// notification.
import { Agent } from '@mastra/core/agent';
import type { MastraModelConfig } from '@mastra/core/llm';
import { ToolSearchProcessor } from '@mastra/core/processors';
import { MCPClient } from '@mastra/mcp';
import type { Subject } from '../../behaviour/subject.ts';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';

export const subject: Subject = {
  search: (query, tool) => [[{ tool: 'search_tools', args: { query } }], [{ tool }]],
  async open({ servers, name, traceparent, refused }) {
    const shared = {
      enableProgressTracking: true,
      traceContext: () => ({ traceparent }),
      inputRequests: async () => ({ action: 'accept' as const, content: { name } }),
    };
    const client = new MCPClient({
      id: 'subject',
      servers: Object.fromEntries(
        Object.entries(servers).map(([server, endpoint]) => [
          server,
          'url' in endpoint ? { url: new URL(endpoint.url), ...shared } : { ...endpoint, ...shared },
        ]),
      ),
    });
    const refresh = async () => {
      tools = await client.listTools();
    };
    const subscriptions = await Promise.allSettled(
      Object.keys(servers).map((server) => client.tools.onListChanged(server, refresh)),
    );
    // rejected for a 2025 server or a dead one; then tools are listed before every run
    const isNotified = subscriptions.every(({ status }) => status === 'fulfilled');
    let tools = await client.listTools();
    return {
      async run(script, abortSignal) {
        if (!isNotified) await refresh();
        const agent = new Agent({
          id: 'subject',
          name: 'Subject',
          instructions: '',
          model: aiSdkModel(script) as MastraModelConfig,
          ...(refused ? { inputProcessors: [searchIn(tools, refused)] } : { tools }),
        });
        return agent.generate('go', { maxSteps: 10, ...(abortSignal ? { abortSignal } : {}) });
      },
      close: () => client.disconnect(),
    };
  },
};

function searchIn(tools: Awaited<ReturnType<MCPClient['listTools']>>, refused: string) {
  return new ToolSearchProcessor({
    tools,
    search: { autoLoad: true },
    filter: ({ toolName }) => !toolName.endsWith(refused),
  });
}
