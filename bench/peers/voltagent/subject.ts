// VoltAgent with its MCP configuration.
import { Agent, MCPConfiguration } from '@voltagent/core';
import type { Subject } from '../../behaviour/subject.ts';
import { keepingNothing, olderModel } from './model.ts';

export const subject: Subject = {
  async open({ servers, name }) {
    const configuration = new MCPConfiguration({
      servers: Object.fromEntries(
        Object.entries(servers).map(([server, endpoint]) => [
          server,
          'url' in endpoint ? { type: 'http' as const, ...endpoint } : { type: 'stdio' as const, ...endpoint },
        ]),
      ),
    });
    for (const client of Object.values(await configuration.getClients()))
      client.elicitation.setHandler(async () => ({ action: 'accept', content: { name } }));
    return {
      async run(script, abortSignal) {
        const agent = new Agent({
          name: 'Subject',
          instructions: '',
          model: olderModel(script),
          tools: await configuration.getTools(),
          maxSteps: 10,
          maxRetries: 0,
          ...keepingNothing,
        });
        return agent.generateText('go', abortSignal ? { abortSignal } : {});
      },
      close: () => configuration.disconnect(),
    };
  },
};
