// A fake Mattermost, and a client that calls its MCP server over HTTP.
import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { makeFetch } from '@pocket-agent/http/fetch';
import { startFakeMattermost } from '../../packages/mattermost/test/fake/fake-mattermost.ts';
import { serveBeside } from '../measuring/helper-process.ts';
import { connect, getChannel } from './mattermost-client.ts';

export interface Backend {
  url: string;
  token: string;
  /** The argument of the tool. */
  channel: { channel_id: string };
}

export type Order = { connect: { url: string; token: string } } | { lines: number; callsEach: number } | 'requests';

const fake = await startFakeMattermost();
const channel = { channel_id: fake.channel('off-topic').id };
let client: Client | undefined;

const start: Backend = { url: fake.url, token: fake.token('alice'), channel };
serveBeside(start, async (order: Order) => {
  // the number of requests since the last question
  if (order === 'requests') return fake.requests.splice(0).length;
  if ('connect' in order) {
    const { url, token } = order.connect;
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const fetch = makeFetch({ guard: 'none' });
    client = await connect(new StreamableHTTPClientTransport(new URL(url), { fetch, requestInit }));
    return undefined;
  }
  const calling = client;
  if (!calling) throw new Error('No server to call was given.');
  const line = async () => {
    for (let count = 0; count < order.callsEach; count++) await getChannel(calling, channel);
  };
  await Promise.all(Array.from({ length: order.lines }, line));
  return undefined;
});
