// What an agent does in a Worker: tools with zod schemas, MCP servers over HTTP, serving MCP, and clear errors for what needs
// Node.
import { openConversations } from '@pocket-agent/store';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const calling = (name, args) =>
  new ScriptedModel([
    { toolCalls: [{ name, arguments: args }] },
    ({ prompt }) => JSON.stringify(prompt.at(-1).content),
  ]);

function adding(inputSchema) {
  const run = ({ a, b }) => String(a + b);
  return tool({ name: 'add', description: 'Adds two numbers.', inputSchema, capability: 'read', run });
}

const addition = () => calling('add', { a: 2, b: 3 });

const answers = {
  '/zod': () => run({ llmModel: addition(), tools: [adding(z.object({ a: z.number(), b: z.number() }))] }),
  '/json-schema': () => run({ llmModel: addition(), tools: [adding({ type: 'object' })] }),
  '/http-server': ({ MCP_URL: url }) =>
    run({
      llmModel: calling('Host-message', { message: 'Hello' }),
      mcpServers: { host: { url, headers: { authorization: 'Bearer secret' } } },
    }),
  '/stdio-server': () => withoutPrograms(),
  '/sqlite': () => openConversations({ file: 'chats.db' }).then(String, (error) => new Response(error.message)),
};

/** Returns the warning that the server is not available. */
async function withoutPrograms() {
  const log = { debug() {}, info() {}, warn: (text) => warnings.push(text), error() {} };
  const warnings = [];
  await run({ llmModel: addition(), mcpServers: { local: { command: 'node' } }, logger: log });
  return new Response(warnings.join('\n'));
}

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
  async fetch(request, env) {
    const { pathname, hostname } = new URL(request.url);
    const answer = answers[pathname];
    if (answer) return await answer(env);
    const agent = new PocketAgent({ name: 'Host', llmModel: new ScriptedModel(['Hello from a Worker']) });
    return await agent.asMcpServer({ token: 'secret', allowedHosts: [hostname, '127.0.0.1'] }).fetch(request);
  },
};
