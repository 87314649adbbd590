// Calls the agent that the Next app serves at the URL given as the argument.
import assert from 'node:assert/strict';
import { PocketAgentClient } from 'pocket-agent';

const [url = ''] = process.argv.slice(2);
const headers = { authorization: 'Bearer secret' };
const client = new PocketAgentClient({ mcpConfig: { mcpServers: { host: { url, headers } } } });
const { content } = await client.callTool('Host-message', { message: 'Hello' });
assert.equal(content[0].text, 'answered from Next');
await client.close();
console.log('an agent in a route handler: ok');
