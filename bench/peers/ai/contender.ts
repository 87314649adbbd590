// The AI SDK: ToolLoopAgent, and its MCP client.
import { createMCPClient, type MCPTransport } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { isStepCount, ToolLoopAgent, type ToolSet, tool } from 'ai';
import { z } from 'zod';
import { aiSdkModel } from '../../ai-sdk-model.ts';
import type { BenchTool, Contender, Job, Running } from '../../contender.ts';
import { linked, textOfResult } from '../../mcp-server.ts';
import { endlessScript } from '../../script.ts';

const inputSchema = z.object({ a: z.number(), b: z.number() });
const made = new WeakMap<BenchTool, ToolSet[string]>();

function own(entry: BenchTool): ToolSet[string] {
  const { description, run } = entry;
  const known = made.get(entry) ?? tool({ description, inputSchema, execute: ({ a, b }) => run(a, b) });
  made.set(entry, known);
  return known;
}

function running(job: Job, tools: ToolSet): Running {
  const agent = new ToolLoopAgent({ model: aiSdkModel(endlessScript(job)), tools, stopWhen: isStepCount(1_000) });
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
  inProcess: (job) => running(job, Object.fromEntries(job.tools.map((entry) => [entry.name, own(entry)]))),
  async throughMcp(job) {
    const client = await createMCPClient({ transport: (await linked(job.tools)) as MCPTransport });
    return { ...running(job, (await client.tools()) as ToolSet), close: () => client.close() };
  },
  async connect(endpoint) {
    const transport = 'url' in endpoint ? { type: 'http' as const, url: endpoint.url } : new StdioTransport(endpoint);
    const client = await createMCPClient({ transport });
    const { add } = await client.tools();
    return {
      call: async (a, b) => textOfResult(await add?.execute({ a, b }, { toolCallId: '1', messages: [], context: {} })),
      close: () => client.close(),
    };
  },
};
