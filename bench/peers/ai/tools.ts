// The tools of a job for the AI SDK, in process and through its MCP client.
import type { MCPTransport } from '@ai-sdk/mcp';
import { type ToolSet, tool } from 'ai';
import { z } from 'zod';
import { type BenchAgent, type Contender, type Job, oncePerTool } from '../../contenders/contender.ts';

const inputSchema = z.object({ a: z.number(), b: z.number() });
const functionTool = oncePerTool<ToolSet[string]>((entry) =>
  tool({ description: entry.description, inputSchema, execute: ({ a, b }) => entry.run(a, b) }),
);

/** A contender with tools in process and through MCP. */
export function withTools(
  makeAgent: (job: Job, tools: ToolSet) => BenchAgent,
): Required<Pick<Contender, 'inProcess' | 'throughMcp'>> {
  return {
    inProcess: (job) => makeAgent(job, ownTools(job)),
    async throughMcp(job) {
      const { tools, close } = await mcpTools(job);
      return { ...makeAgent(job, tools), close };
    },
  };
}

function ownTools({ tools }: Job): ToolSet {
  return Object.fromEntries(tools.map((entry) => [entry.name, functionTool(entry)]));
}

async function mcpTools({ tools }: Job): Promise<{ tools: ToolSet; close(): Promise<void> }> {
  const [{ createMCPClient }, { linked }] = await Promise.all([
    import('@ai-sdk/mcp'),
    import('../../servers/in-process.ts'),
  ]);
  const client = await createMCPClient({ transport: (await linked(tools)) as MCPTransport });
  return { tools: (await client.tools()) as ToolSet, close: () => client.close() };
}
