// Tool calls of the Mattermost server before its fake; the floor is a bare MCP server that does one fetch.
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { connect } from '../../packages/mattermost/test/connect.ts';
import type { Effort, Figures } from '../contender.ts';
import { us } from '../contenders.ts';
import { timed } from '../timing.ts';

export async function mattermost(contender: string, effort: Effort): Promise<Figures> {
  const connection = await connect();
  const teams = await connection.call('list_teams');
  const mine = await connection.call('list_my_channels', { team_id: teams.data?.teams?.[0]?.id });
  const id: unknown = mine.data?.channels?.[0]?.id;
  if (typeof id !== 'string') throw new Error(`No channel in ${mine.text.slice(0, 200)}.`);
  const bare = await bareServer(connection.fake.url, connection.fake.token('alice'));
  const client = contender === us ? connection.client : bare;
  const call = async () => {
    const { isError } = await client.callTool({ name: 'get_channel', arguments: { channel_id: id } });
    if (isError) throw new Error('The tool call failed.');
  };
  await call();
  connection.fake.requests.length = 0;
  await call();
  const requests = connection.fake.requests.length;
  const { wall } = await timed(() => Promise.all(Array.from({ length: 8 }, call)), effort);
  await bare.close();
  await connection.close();
  return { mattermostCalls: 8e6 / wall, mattermostRequests: requests };
}

async function bareServer(url: string, token: string): Promise<Client> {
  const inputSchema = z.object({ channel_id: z.string() });
  const make = () => {
    const server = new McpServer({ name: 'bare', version: '1.0.0' });
    server.registerTool('get_channel', { inputSchema }, async ({ channel_id }) => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}/api/v4/channels/${channel_id}`, { headers });
      return { content: [{ type: 'text', text: await answer.text() }], isError: !answer.ok };
    });
    return server;
  };
  const [near, far] = InMemoryTransport.createLinkedPair();
  serveStdio(make, { transport: far });
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(near);
  return client;
}
