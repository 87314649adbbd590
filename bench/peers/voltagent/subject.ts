// VoltAgent with its MCP configuration.
import { Agent, MCPConfiguration } from '@voltagent/core';
import type { Subject } from '../../behaviour/subject.ts';
import { olderModel, withoutMemory } from './model.ts';

export const subject: Subject = {
  search: (query, tool) => [
    [{ tool: 'searchTools', args: { query } }],
    [{ tool: 'callTool', args: { name: `tools_${tool}`, args: {} } }],
  ],
  async open({ servers, name, refused }) {
    const configuration = new MCPConfiguration({
      servers: Object.fromEntries(
        Object.entries(servers).map(([server, endpoint]) => [
          server,
          'url' in endpoint ? { type: 'http' as const, ...endpoint } : { type: 'stdio' as const, ...endpoint },
        ]),
      ),
      ...(refused ? { authorization: { can: ({ toolName }) => toolName !== refused, filterOnDiscovery: true } } : {}),
    });
    for (const client of Object.values(await configuration.getClients()))
      client.elicitation.setHandler(async () => ({ action: 'accept', content: { name } }));
    return {
      async run(script, abortSignal) {
        const tools = await configuration.getTools();
        const agent = new Agent({
          name: 'Subject',
          instructions: '',
          model: olderModel(script),
          ...(refused ? { toolRouting: { pool: tools, topK: 8 } } : { tools }),
          maxSteps: 10,
          maxRetries: 0,
          ...withoutMemory,
        });
        return agent.generateText('go', abortSignal ? { abortSignal } : {});
      },
      close: () => configuration.disconnect(),
    };
  },
};
