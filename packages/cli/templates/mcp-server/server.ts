// The MCP server: serves the folders in tools/ on stdin and stdout, or with --http over HTTP.
import { once } from 'node:events';
import { join } from 'node:path';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { numberFrom, runProgram, secretFrom } from './program.ts';

await runProgram(async () => {
  const tools = loadToolFolder(join(import.meta.dirname, 'tools'), { strict: true });
  const served = tools.asMcpServer({ serverInfo: { name: 'my-project', version: '0.1.0' } });
  if (!process.argv.includes('--http')) return served.serveStdio();

  const { ALLOWED_HOSTS, HOST: host = '127.0.0.1' } = process.env;
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const server = await served.listen({
    host,
    port: numberFrom('PORT', 3000),
    token: secretFrom('MCP_TOKEN'),
    ...(ALLOWED_HOSTS ? { allowedHosts: ALLOWED_HOSTS.split(',') } : {}),
  });
  console.log(`Listening on ${server.url}`);
  await stopped;
  await server.close();
  await tools.close();
});
