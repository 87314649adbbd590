// The MCP server: serves the folders in tools/ on stdin and stdout, or with --http over HTTP.
import { once } from 'node:events';
import { join } from 'node:path';
import { loadToolFolder } from '@pocket-agent/tool-folder';

const tools = loadToolFolder(join(import.meta.dirname, 'tools'), { strict: true });
const served = tools.asMcpServer({ serverInfo: { name: 'my-project', version: '0.1.0' } });
if (process.argv.includes('--http')) await serveHttp();
else await served.serveStdio();

async function serveHttp(): Promise<void> {
  const { ALLOWED_HOSTS, HOST: host = '127.0.0.1', MCP_TOKEN: token, PORT = '3000' } = process.env;
  if (!token) {
    console.error('Set MCP_TOKEN to a secret that clients must send.');
    process.exit(2);
  }
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const server = await served.listen({
    host,
    port: Number(PORT),
    token,
    ...(ALLOWED_HOSTS ? { allowedHosts: ALLOWED_HOSTS.split(',') } : {}),
  });
  console.log(`Listening on ${server.url}`);
  await stopped;
  await server.close();
  await tools.close();
}
