// Tool calls of the Mattermost server in process and over HTTP, with a fake Mattermost in another process. The floor is a bare
// MCP server that calls our `fetch` once.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemoryTransport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { makeFetch } from '@pocket-agent/http/fetch';
import { createLog, createMattermostServer, readConfig, startHttp } from '@pocket-agent/mattermost';
import { z } from 'zod';
import type { Effort, Figures } from '../contenders/contender.ts';
import { us } from '../contenders/contenders.ts';
import { startHelper } from '../measuring/helper-process.ts';
import { timed } from '../measuring/timing.ts';
import type { Backend, Command } from '../servers/mattermost.ts';
import { connect, getChannel } from '../servers/mattermost-client.ts';

const TOKEN = 'the-token-of-the-client';
const AT_ONCE = 8;
/** Over HTTP each parallel call starts a chain of this many, because the command to the helper has a cost, too. */
const CALLS_EACH = 8;

interface Served {
  factory: McpServerFactory;
  url: string;
}

/** Both servers and both clients end with this process. */
export async function mattermost(contender: string, effort: Effort): Promise<Figures> {
  const { ready: backend, send } = await startHelper<Backend, Command>('mattermost.ts');
  const { factory, url } = contender === us ? await ours(backend) : await bare(backend);
  const [near, far] = InMemoryTransport.createLinkedPair();
  serveStdio(factory, { transport: far });
  const client = await connect(near);
  const call = () => getChannel(client, backend.channel);
  await call();
  await send('requests');
  await call();
  const requests = Number(await send('requests'));
  const inProcess = await timed(() => Promise.all(Array.from({ length: AT_ONCE }, call)), effort);
  await send({ connect: { url, token: TOKEN } });
  const overHttp = await timed(() => send({ chains: AT_ONCE, callsEach: CALLS_EACH }), effort);
  return {
    mattermostCalls: (AT_ONCE * 1e6) / inProcess.cpu,
    mattermostHttpCalls: (AT_ONCE * CALLS_EACH * 1e6) / overHttp.cpu,
    mattermostHttpRate: (AT_ONCE * CALLS_EACH * 1e6) / overHttp.wall,
    mattermostRequests: requests,
  };
}

async function ours({ url, token }: Backend): Promise<Served> {
  const log = createLog({ level: 'info', format: 'json', write: () => {} });
  const environment = { MATTERMOST_URL: url, MATTERMOST_TOKEN: token };
  const overHttp = { ...environment, MCP_TRANSPORT: 'http', MCP_PORT: '0', MATTERMOST_HTTP_TOKEN: TOKEN };
  const { factory } = createMattermostServer(readConfig(environment), { log });
  return { factory, url: (await startHttp(readConfig(overHttp), { log })).url };
}

async function bare({ url, token }: Backend): Promise<Served> {
  const fetch = makeFetch({ guard: 'none' });
  const inputSchema = z.object({ channel_id: z.string() });
  const headers = { authorization: `Bearer ${token}` };
  const factory = () => {
    const server = new McpServer({ name: 'bare', version: '1.0.0' });
    server.registerTool('get_channel', { inputSchema }, async ({ channel_id }) => {
      const answer = await fetch(`${url}/api/v4/channels/${channel_id}`, { headers });
      return { content: [{ type: 'text', text: await answer.text() }], isError: !answer.ok };
    });
    return server;
  };
  const server = createServer(toNodeHandler(createMcpHandler(factory)));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { factory, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}
