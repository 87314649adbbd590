// Pocket Agent.
import { PocketAgent, PocketAgentClient, type PocketAgentOptions, tool } from 'pocket-agent';
import { z } from 'zod';
import { aiSdkModel } from './ai-sdk-model.ts';
import { type BenchAgent, type Contender, type Job, oncePerTool, textOfResult } from './contender.ts';
import { repeatingScript } from './script.ts';

const numbers = z.object({ a: z.number(), b: z.number() });
const functionTool = oncePerTool((entry) =>
  tool({
    name: entry.name,
    description: entry.description,
    inputSchema: numbers,
    run: ({ a, b }) => entry.run(a, b),
  }),
);

function makeAgent(job: Job, options: Pick<PocketAgentOptions, 'tools' | 'mcpConfig'>): BenchAgent {
  const agent = new PocketAgent({
    agentConfig: { llmModel: aiSdkModel(repeatingScript(job)), name: 'Bench' },
    limits: { maxSteps: 1_000 },
    ...options,
  });
  return {
    run() {
      agent.resetMessages();
      return agent.run('go');
    },
    async stream() {
      agent.resetMessages();
      let seen = 0;
      for await (const event of agent.stream('go')) if (event.type === 'text_delta') seen++;
      return seen;
    },
    close: () => agent.close(),
  };
}

export const contender: Contender = {
  inProcess: (job) => makeAgent(job, { tools: job.tools.map(functionTool) }),
  async throughMcp(job) {
    const { mcpServer } = await import('../servers/in-process.ts');
    return makeAgent(job, { mcpConfig: () => mcpServer(job.tools) });
  },
  async connect(endpoint) {
    const client = new PocketAgentClient({ mcpConfig: { mcpServers: { bench: endpoint } } });
    await client.listTools();
    return {
      call: async (a, b) => textOfResult(await client.callTool('add', { a, b })),
      close: () => client.close(),
    };
  },
};
