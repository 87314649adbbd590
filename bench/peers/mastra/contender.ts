// Mastra: Agent and MCPClient.
import { Agent, type ToolsInput } from '@mastra/core/agent';
import type { MastraModelConfig } from '@mastra/core/llm';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';
import { type BenchAgent, type Contender, oncePerTool, textOfResult } from '../../contenders/contender.ts';
import { repeatingScript, type Script } from '../../contenders/script.ts';

const inputSchema = z.object({ a: z.number(), b: z.number() });
const functionTool = oncePerTool<ToolsInput[string]>((entry) =>
  createTool({
    id: entry.name,
    description: entry.description,
    inputSchema,
    execute: async ({ a, b }) => entry.run(a, b),
  }),
);
let clients = 0;

/** By default Mastra runs only ten calls in parallel. */
const settings = { maxSteps: 1_000, toolCallConcurrency: 16 };

function makeAgent(script: Script, tools: ToolsInput): BenchAgent {
  const agent = new Agent({
    id: 'bench',
    name: 'Bench',
    instructions: '',
    model: aiSdkModel(script) as MastraModelConfig,
    tools,
  });
  return {
    run: async () => (await agent.generate('go', settings)).text,
    async stream() {
      let seen = 0;
      for await (const _delta of (await agent.stream('go', settings)).textStream) seen++;
      return seen;
    },
  };
}

export const contender: Contender = {
  inProcess: (job) =>
    makeAgent(repeatingScript(job), Object.fromEntries(job.tools.map((entry) => [entry.name, functionTool(entry)]))),
  /** There is no in-process transport. The closest is HTTP with a `fetch` that calls the server's handler. */
  async throughMcp(job) {
    const [{ MCPClient }, { mcpHandler }] = await Promise.all([
      import('@mastra/mcp'),
      import('../../servers/in-process.ts'),
    ]);
    const handle = mcpHandler(job.tools);
    const url = new URL('http://127.0.0.1/mcp');
    const client = new MCPClient({
      id: `bench-${++clients}`,
      servers: { bench: { url, fetch: (address, init) => handle(new Request(address, init)) } },
    });
    return { ...makeAgent(repeatingScript(job, 'bench_'), await client.listTools()), close: () => client.disconnect() };
  },
  async connect(endpoint) {
    const { MCPClient } = await import('@mastra/mcp');
    const bench = 'url' in endpoint ? { url: new URL(endpoint.url) } : endpoint;
    const client = new MCPClient({ id: `bench-${++clients}`, servers: { bench } });
    const { bench_add: add } = await client.listTools();
    return {
      call: async (a, b) => textOfResult(await add?.execute?.({ a, b }, { observe: undefined } as never)),
      close: () => client.disconnect(),
    };
  },
};
