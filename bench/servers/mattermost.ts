// A fake Mattermost, and a client that calls its MCP server over HTTP.
import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { makeFetch } from '@pocket-agent/http/fetch';
import { startFakeMattermost } from '../../packages/mattermost/test/fake/fake-mattermost.ts';
import { serveAsHelper } from '../measuring/helper-process.ts';
import { connect, getChannel } from './mattermost-client.ts';

export interface Backend {
  url: string;
  token: string;
  /** The argument of the tool. */
  channel: { channel_id: string };
}

export type Command = { connect: { url: string; token: string } } | { chains: number; callsEach: number } | 'requests';

const fake = await startFakeMattermost();
const channel = { channel_id: fake.channel('off-topic').id };
let client: Client | undefined;

const ready: Backend = { url: fake.url, token: fake.token('alice'), channel };
serveAsHelper(ready, async (command: Command) => {
  // the number of requests since the last time
  if (command === 'requests') return fake.requests.splice(0).length;
  if ('connect' in command) {
    const { url, token } = command.connect;
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const fetch = makeFetch({ guard: 'none' });
    client = await connect(new StreamableHTTPClientTransport(new URL(url), { fetch, requestInit }));
    return undefined;
  }
  const connected = client;
  if (!connected) throw new Error('Send the command "connect" first.');
  const chain = async () => {
    for (let count = 0; count < command.callsEach; count++) await getChannel(connected, channel);
  };
  await Promise.all(Array.from({ length: command.chains }, chain));
  return undefined;
});
