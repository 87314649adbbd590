// What an agent does in a Worker: tools with zod schemas, and serving MCP. It says what needs Node.
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const calling = () =>
  new ScriptedModel([
    { toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] },
    ({ prompt }) => JSON.stringify(prompt.at(-1).content),
  ]);

function adding(inputSchema) {
  const run = ({ a, b }) => String(a + b);
  return tool({ name: 'add', description: 'Adds two numbers.', inputSchema, capability: 'read', run });
}

const answers = {
  '/zod': () => run({ llmModel: calling(), tools: [adding(z.object({ a: z.number(), b: z.number() }))] }),
  '/json-schema': () => run({ llmModel: calling(), tools: [adding({ type: 'object' })] }),
};

async function run(options) {
  const agent = new PocketAgent(options);
  try {
    return new Response(await agent.run('Go.'));
  } catch (error) {
    return new Response(error.message, { status: 500 });
  } finally {
    await agent.close();
  }
}

export default {
  async fetch(request) {
    const { pathname, hostname } = new URL(request.url);
    const answer = answers[pathname];
    if (answer) return await answer();
    const agent = new PocketAgent({ name: 'Host', llmModel: new ScriptedModel(['Hello from a Worker']) });
    return await agent.asMcpServer({ token: 'secret', allowedHosts: [hostname, '127.0.0.1'] }).fetch(request);
  },
};
