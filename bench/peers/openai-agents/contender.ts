// The OpenAI Agents SDK, without tracing.
import {
  Agent,
  type MCPServer,
  MCPServerStdio,
  MCPServerStreamableHttp,
  run,
  setTracingDisabled,
  type Tool,
  tool,
} from '@openai/agents';
import { z } from 'zod';
import { type BenchAgent, type Contender, type Job, oncePerTool, textOfResult } from '../../contenders/contender.ts';
import { repeatingScript } from '../../contenders/script.ts';
import { scriptModel } from './model.ts';

setTracingDisabled(true);

const parameters = z.object({ a: z.number(), b: z.number() });
const functionTool = oncePerTool<Tool>((entry) =>
  tool({
    name: entry.name,
    description: entry.description,
    parameters,
    execute: async ({ a, b }) => entry.run(a, b),
  }),
);

function makeAgent(job: Job, parts: { tools?: Tool[]; mcpServers?: MCPServer[] }): BenchAgent {
  const agent = new Agent({ name: 'Bench', model: scriptModel(repeatingScript(job)), ...parts });
  return {
    run: async () => (await run(agent, 'go', { maxTurns: 1_000 })).finalOutput ?? '',
    async stream() {
      let seen = 0;
      const result = await run(agent, 'go', { stream: true, maxTurns: 1_000 });
      for await (const _delta of result.toTextStream()) seen++;
      await result.completed;
      return seen;
    },
  };
}

let servers = 0;

export const contender: Contender = {
  inProcess: (job) => makeAgent(job, { tools: job.tools.map(functionTool) }),
  /** There is no in-process transport. The closest is its interface `MCPServer` over the bare client. */
  async throughMcp(job) {
    const { linkedClient } = await import('../../servers/in-process.ts');
    const client = await linkedClient(job.tools);
    const call: MCPServer['callTool'] = async (name, args) => {
      const { content } = await client.callTool({ name, arguments: args ?? {} });
      return content as Awaited<ReturnType<MCPServer['callTool']>>;
    };
    const server: MCPServer = {
      name: `bench-${++servers}`, // servers with the same name share a tool cache
      cacheToolsList: true,
      connect: async () => {},
      close: () => client.close(),
      listTools: async () => (await client.listTools()).tools as Awaited<ReturnType<MCPServer['listTools']>>,
      callTool: call,
      invalidateToolsCache: async () => {},
    };
    return { ...makeAgent(job, { mcpServers: [server] }), close: () => client.close() };
  },
  async connect(endpoint) {
    const server =
      'url' in endpoint
        ? new MCPServerStreamableHttp({ url: endpoint.url, cacheToolsList: true })
        : new MCPServerStdio({ command: endpoint.command, args: endpoint.args, cacheToolsList: true });
    await server.connect();
    await server.listTools();
    return {
      call: async (a, b) => textOfResult({ content: await server.callTool('add', { a, b }) }),
      close: () => server.close(),
    };
  },
};
