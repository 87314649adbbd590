// Serves the agent over MCP and HTTP until the process is told to stop.
import { once } from 'node:events';
import { openConversations } from '@pocket-agent/store';
import { createAgent } from './agent.ts';
import { openModel } from './model.ts';

const { AGENT_TOKEN: token, ALLOWED_HOSTS, DATABASE_URL, HOST: host = '127.0.0.1', PORT = '3000' } = process.env;
if (!token) {
  console.error('Set AGENT_TOKEN to a secret that clients must send.');
  process.exit(2);
}
const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);

const model = openModel();
await using agent = createAgent(model);
await using conversations = await openConversations(DATABASE_URL || ':memory:');
const server = await agent.asMcpServer({ conversations }).listen({
  host,
  port: Number(PORT),
  token,
  ...(ALLOWED_HOSTS ? { allowedHosts: ALLOWED_HOSTS.split(',') } : {}),
});
console.log(`Listening on ${server.url}`);

await stopped;
await server.close();
await model.router?.close();
