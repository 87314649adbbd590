// VoltAgent, on the AI SDK 6.
import { Agent, type AgentOptions, createTool, MCPConfiguration, type Tool } from '@voltagent/core';
import { z } from 'zod';
import { aiSdkModel } from '../../ai-sdk-model.ts';
import type { BenchTool, Contender, Job, Running } from '../../contender.ts';
import { textOfResult } from '../../mcp-server.ts';
import { endlessScript, type Script } from '../../script.ts';

const parameters = z.object({ a: z.number(), b: z.number() });
const made = new WeakMap<BenchTool, Tool<typeof parameters>>();
export const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {}, child: () => silent };

function own(entry: BenchTool): Tool<typeof parameters> {
  const { name, description } = entry;
  const known =
    made.get(entry) ?? createTool({ name, description, parameters, execute: async ({ a, b }) => entry.run(a, b) });
  made.set(entry, known);
  return known;
}

/** Version 3 of the interface is the same as far as it is used here. */
export function olderModel(script: Script): AgentOptions['model'] {
  return { ...aiSdkModel(script), specificationVersion: 'v3' } as unknown as AgentOptions['model'];
}

function running(job: Job): Running {
  const model = olderModel(endlessScript(job));
  const agent = new Agent({
    name: 'Bench',
    instructions: '',
    model,
    tools: job.tools.map(own),
    maxSteps: 1_000,
    memory: false,
    logger: silent,
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
  inProcess: running,
  async connect(endpoint) {
    const bench = 'url' in endpoint ? { type: 'http' as const, ...endpoint } : { type: 'stdio' as const, ...endpoint };
    const configuration = new MCPConfiguration({ servers: { bench } });
    const [add] = await configuration.getTools();
    return {
      call: async (a, b) => textOfResult(await add?.execute?.({ a, b })),
      close: () => configuration.disconnect(),
    };
  },
};
