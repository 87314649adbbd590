// A client of the Mattermost server, for the measuring process and its helper process.
import { Client, type Transport } from '@modelcontextprotocol/client';

export async function connect(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(transport);
  return client;
}

export async function getChannel(client: Client, channel: { channel_id: string }): Promise<void> {
  const { isError } = await client.callTool({ name: 'get_channel', arguments: channel });
  if (isError) throw new Error('The tool call failed.');
}
