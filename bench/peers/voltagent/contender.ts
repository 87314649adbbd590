// VoltAgent, on the AI SDK 6.
import { Agent, createTool, MCPConfiguration, type Tool } from '@voltagent/core';
import { z } from 'zod';
import { type BenchTool, type Contender, type Job, type Running, textOfResult } from '../../contender.ts';
import { endlessScript } from '../../script.ts';
import { keepingNothing, olderModel } from './model.ts';

const parameters = z.object({ a: z.number(), b: z.number() });
const made = new WeakMap<BenchTool, Tool<typeof parameters>>();

function own(entry: BenchTool): Tool<typeof parameters> {
  const { name, description } = entry;
  const known =
    made.get(entry) ?? createTool({ name, description, parameters, execute: async ({ a, b }) => entry.run(a, b) });
  made.set(entry, known);
  return known;
}

function running(job: Job): Running {
  const model = olderModel(endlessScript(job));
  const agent = new Agent({
    name: 'Bench',
    instructions: '',
    model,
    tools: job.tools.map(own),
    maxSteps: 1_000,
    ...keepingNothing,
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
