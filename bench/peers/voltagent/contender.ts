// VoltAgent, on the AI SDK 6.
import { Agent, createTool, MCPConfiguration, type Tool } from '@voltagent/core';
import { z } from 'zod';
import { type BenchAgent, type Contender, oncePerTool, textOfResult } from '../../contenders/contender.ts';
import { repeatingScript, type Script } from '../../contenders/script.ts';
import { olderModel, withoutMemory } from './model.ts';

const parameters = z.object({ a: z.number(), b: z.number() });
/** Servers in this process, by URL. */
const handlers = new Map<string, (request: Request) => Promise<Response>>();
const functionTool = oncePerTool<Tool<typeof parameters>>((entry) =>
  createTool({
    name: entry.name,
    description: entry.description,
    parameters,
    execute: async ({ a, b }) => entry.run(a, b),
  }),
);

function makeAgent(script: Script, tools: Tool[]): BenchAgent {
  const agent = new Agent({
    name: 'Bench',
    instructions: '',
    model: olderModel(script),
    tools,
    maxSteps: 1_000,
    ...withoutMemory,
  });
  return {
    run: async () => (await agent.generateText('go')).text,
    async stream() {
      let seen = 0;
      for await (const _delta of (await agent.streamText('go')).textStream) seen++;
      return seen;
    },
  };
}

export const contender: Contender = {
  inProcess: (job) => makeAgent(repeatingScript(job), job.tools.map(functionTool)),
  /** There is no in-process transport, and the HTTP client uses the global `fetch`. */
  async throughMcp(job) {
    const { mcpHandler } = await import('../../servers/in-process.ts');
    const url = `http://bench-${handlers.size}.invalid/mcp`;
    handlers.set(url, mcpHandler(job.tools));
    globalThis.fetch = async (address, init) => {
      const handle = handlers.get(String(address));
      return handle ? handle(new Request(address, init)) : Promise.reject(new TypeError(`${address} is not served`));
    };
    const configuration = new MCPConfiguration({ servers: { bench: { type: 'http', url } } });
    const tools = await configuration.getTools();
    return { ...makeAgent(repeatingScript(job, 'bench_'), tools), close: () => configuration.disconnect() };
  },
  async connect(endpoint) {
    const bench = 'url' in endpoint ? { type: 'http' as const, ...endpoint } : { type: 'stdio' as const, ...endpoint };
    const configuration = new MCPConfiguration({ servers: { bench } });
    const { bench: client } = await configuration.getClients();
    await client.listTools();
    return {
      call: async (a, b) => textOfResult((await client.callTool({ name: 'add', arguments: { a, b } })).content),
      close: () => configuration.disconnect(),
    };
  },
};
