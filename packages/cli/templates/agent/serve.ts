// Serves the agent over MCP and HTTP until SIGTERM or Ctrl-C.
import { once } from 'node:events';
import { openConversations } from '@pocket-agent/store';
import { createAgent } from './agent.ts';
import { openModel } from './model.ts';
import { numberFrom, runProgram, secretFrom } from './program.ts';

await runProgram(async () => {
  const { ALLOWED_HOSTS, DATABASE_URL, HOST: host = '127.0.0.1' } = process.env;
  const token = secretFrom('AGENT_TOKEN');
  const port = numberFrom('PORT', 3000);
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);

  const model = openModel();
  await using agent = createAgent(model);
  await using conversations = await openConversations(DATABASE_URL || ':memory:');
  const server = await agent.asMcpServer({ conversations }).listen({
    host,
    port,
    token,
    ...(ALLOWED_HOSTS ? { allowedHosts: ALLOWED_HOSTS.split(',') } : {}),
  });
  console.log(`Listening on ${server.url}`);

  await stopped;
  await server.close();
  await model.router?.close();
});
