// The AI SDK with one MCP client per server.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { generateText, isStepCount } from 'ai';
import type { Subject } from '../../behaviour/subject.ts';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';

export const subject: Subject = {
  async open({ servers, name }) {
    const clients = await Promise.all(
      Object.values(servers).map((endpoint) =>
        createMCPClient({
          transport: 'url' in endpoint ? { type: 'http', url: endpoint.url } : new StdioTransport(endpoint),
          capabilities: { elicitation: {} },
        }),
      ),
    );
    for (const client of clients)
      client.onElicitationRequest(ElicitationRequestSchema, async () => ({ action: 'accept', content: { name } }));
    return {
      async run(script, abortSignal) {
        const tools = Object.assign({}, ...(await Promise.all(clients.map((client) => client.tools()))));
        const model = aiSdkModel(script);
        return generateText({
          model,
          tools,
          prompt: 'go',
          stopWhen: isStepCount(10),
          maxRetries: 0,
          ...(abortSignal ? { abortSignal } : {}),
        });
      },
      close: () => Promise.all(clients.map((client) => client.close())),
    };
  },
};
