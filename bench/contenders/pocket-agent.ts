// Pocket Agent.
import { PocketAgent, PocketAgentClient, type PocketAgentOptions, tool } from 'pocket-agent';
import { z } from 'zod';
import { aiSdkModel } from './ai-sdk-model.ts';
import { type Contender, type Job, keptFor, type Running, textOfResult } from './contender.ts';
import { endlessScript } from './script.ts';

const numbers = z.object({ a: z.number(), b: z.number() });
const own = keptFor((entry) =>
  tool({
    name: entry.name,
    description: entry.description,
    inputSchema: numbers,
    run: ({ a, b }) => entry.run(a, b),
  }),
);

function running(job: Job, options: Pick<PocketAgentOptions, 'tools' | 'mcpConfig'>): Running {
  const agent = new PocketAgent({
    agentConfig: { llmModel: aiSdkModel(endlessScript(job)), name: 'Bench' },
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
  inProcess: (job) => running(job, { tools: job.tools.map(own) }),
  async throughMcp(job) {
    const { mcpServer } = await import('../servers/in-process.ts');
    return running(job, { mcpConfig: () => mcpServer(job.tools) });
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
