// LangChain: createAgent, and its MCP adapters over SDK v1.
import type { StructuredToolInterface } from '@langchain/core/tools';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { type BenchAgent, type Contender, type Job, oncePerTool, textOfResult } from '../../contenders/contender.ts';
import { repeatingScript } from '../../contenders/script.ts';
import { ScriptModel } from './model.ts';

const schema = z.object({ a: z.number(), b: z.number() });
const functionTool = oncePerTool<StructuredToolInterface>((entry) =>
  tool(async ({ a, b }) => entry.run(a, b), { name: entry.name, description: entry.description, schema }),
);
const messages = [{ role: 'user', content: 'go' }];
const settings = { recursionLimit: 10_000 };

function makeAgent(job: Job, tools: StructuredToolInterface[]): BenchAgent {
  const agent = createAgent({ model: new ScriptModel(repeatingScript(job)), tools });
  return {
    run: async () => String((await agent.invoke({ messages }, settings)).messages.at(-1)?.content),
    async stream() {
      let seen = 0;
      for await (const [message] of await agent.stream({ messages }, { ...settings, streamMode: 'messages' }))
        if (message.content) seen++;
      return seen;
    },
  };
}

export const contender: Contender = {
  inProcess: (job) => makeAgent(job, job.tools.map(functionTool)),
  async throughMcp(job) {
    const [{ loadMcpTools }, { Client }, { linked }] = await Promise.all([
      import('@langchain/mcp-adapters'),
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('../../servers/in-process.ts'),
    ]);
    const client = new Client({ name: 'bench', version: '1' });
    await client.connect((await linked(job.tools)) as Transport);
    return { ...makeAgent(job, await loadMcpTools('bench', client)), close: () => client.close() };
  },
  async connect(endpoint) {
    const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
    const bench = 'url' in endpoint ? endpoint : { transport: 'stdio' as const, ...endpoint };
    const servers = new MultiServerMCPClient({ bench });
    const client = await servers.getClient('bench');
    if (!client) throw new Error('LangChain did not connect to the server.');
    await client.listTools();
    return {
      call: async (a, b) => textOfResult(await client.callTool({ name: 'add', arguments: { a, b } })),
      close: () => servers.close(),
    };
  },
};
