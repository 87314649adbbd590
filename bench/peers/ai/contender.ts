// The AI SDK: ToolLoopAgent, and its MCP client.
import { isStepCount, ToolLoopAgent, type ToolSet } from 'ai';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';
import { type BenchAgent, type Contender, type Job, textOfResult } from '../../contenders/contender.ts';
import { repeatingScript } from '../../contenders/script.ts';
import { withTools } from './tools.ts';

function makeAgent(job: Job, tools: ToolSet): BenchAgent {
  const agent = new ToolLoopAgent({ model: aiSdkModel(repeatingScript(job)), tools, stopWhen: isStepCount(1_000) });
  return {
    run: async () => (await agent.generate({ prompt: 'go' })).text,
    async stream() {
      let seen = 0;
      for await (const _delta of (await agent.stream({ prompt: 'go' })).textStream) seen++;
      return seen;
    },
  };
}

export const contender: Contender = {
  ...withTools(makeAgent),
  async connect(endpoint) {
    const { createMCPClient } = await import('@ai-sdk/mcp');
    const { Experimental_StdioMCPTransport: StdioTransport } = await import('@ai-sdk/mcp/mcp-stdio');
    const transport = 'url' in endpoint ? { type: 'http' as const, url: endpoint.url } : new StdioTransport(endpoint);
    const client = await createMCPClient({ transport });
    await client.listTools();
    return {
      call: async (a, b) => textOfResult(await client.callTool({ name: 'add', arguments: { a, b } })),
      close: () => client.close(),
    };
  },
};
