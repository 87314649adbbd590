// Tool calls of the Mattermost server before its fake, in process and over HTTP; the floor is a bare MCP server that
// does one fetch.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, InMemoryTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { makeFetch } from '@pocket-agent/http/fetch';
import { createLog, createMattermostServer, startHttp } from '@pocket-agent/mattermost';
import { z } from 'zod';
import { configFor } from '../../packages/mattermost/test/connect.ts';
import { type FakeMattermost, startFakeMattermost } from '../../packages/mattermost/test/fake/fake-mattermost.ts';
import type { Effort, Figures } from '../contender.ts';
import { us } from '../contenders.ts';
import { timed } from '../timing.ts';

const TOKEN = 'the-token-of-the-client';
const AT_ONCE = 8;

interface Served {
  factory: McpServerFactory;
  url: string;
}

/** Both servers and both clients end with the process that measures. */
export async function mattermost(contender: string, effort: Effort): Promise<Figures> {
  const fake = await startFakeMattermost();
  const { factory, url } = contender === us ? await ours(fake) : await bare(fake);
  const [near, far] = InMemoryTransport.createLinkedPair();
  serveStdio(factory, { transport: far });
  const inProcess = await connect(near);
  // as lean as a client can be, so that what is measured is the server
  const fetch = makeFetch({ guard: 'none' });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  const overHttp = await connect(new StreamableHTTPClientTransport(new URL(url), { fetch, requestInit }));

  const channel = { channel_id: fake.channel('off-topic').id };
  const call = async (client: Client) => {
    const { isError } = await client.callTool({ name: 'get_channel', arguments: channel });
    if (isError) throw new Error('The tool call failed.');
  };
  await call(inProcess);
  fake.requests.length = 0;
  await call(inProcess);
  const requests = fake.requests.length;
  const perSecond = async (client: Client) => {
    const { cpu } = await timed(() => Promise.all(Array.from({ length: AT_ONCE }, () => call(client))), effort);
    return (AT_ONCE * 1e6) / cpu;
  };
  return {
    mattermostCalls: await perSecond(inProcess),
    mattermostHttpCalls: await perSecond(overHttp),
    mattermostRequests: requests,
  };
}

async function connect(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(transport);
  return client;
}

async function ours(fake: FakeMattermost): Promise<Served> {
  const log = createLog({ level: 'info', format: 'json', write: () => {} });
  const environment = { MCP_TRANSPORT: 'http', MCP_PORT: '0', MATTERMOST_HTTP_TOKEN: TOKEN };
  const { url } = await startHttp(configFor(fake, { environment }), { log });
  return { factory: createMattermostServer(configFor(fake), { log }).factory, url };
}

async function bare(fake: FakeMattermost): Promise<Served> {
  const inputSchema = z.object({ channel_id: z.string() });
  const headers = { authorization: `Bearer ${fake.token('alice')}` };
  const factory = () => {
    const server = new McpServer({ name: 'bare', version: '1.0.0' });
    server.registerTool('get_channel', { inputSchema }, async ({ channel_id }) => {
      const answer = await fetch(`${fake.url}/api/v4/channels/${channel_id}`, { headers });
      return { content: [{ type: 'text', text: await answer.text() }], isError: !answer.ok };
    });
    return server;
  };
  const server = createServer(toNodeHandler(createMcpHandler(factory)));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { factory, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}
