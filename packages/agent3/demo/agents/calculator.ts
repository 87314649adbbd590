// A PocketAgent with a tool, served over A2A; callers need a token.
import '@pocket-agent/a2a';
import { PocketAgent, tool } from 'pocket-agent';
import { untilStopped } from './until-stopped.ts';

const agent = new PocketAgent({
  agentConfig: { llmModel: 'demo', name: 'Abacus', roleDescription: 'Adds up numbers and does arithmetic' },
  tools: [
    tool({
      name: 'add',
      description: 'Adds two numbers',
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      run: ({ a, b }) => `The sum is ${Number(a) + Number(b)}.`,
    }),
  ],
});
const server = agent.asA2aServer();
const { url } = await server.listen({ token: process.env.DEMO_TOKEN ?? '' });
untilStopped(`${url}/`, async () => {
  await server.close();
  await agent.close();
});
