// Calls the agents of the Next app at the address in the argument: over MCP, and as a page with `useChat`.
import assert from 'node:assert/strict';
import { PocketAgentClient } from 'pocket-agent';

const [origin = ''] = process.argv.slice(2);
const headers = { authorization: 'Bearer secret' };
const client = new PocketAgentClient({ mcpConfig: { mcpServers: { host: { url: `${origin}/mcp`, headers } } } });
const { content } = await client.callTool('Host-message', { message: 'Hello' });
assert.equal(content[0].text, 'answered from Next');
await client.close();
console.log('an agent in a route handler: ok');

const user = { 'content-type': 'application/json', 'x-user': 'ada' };
const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }];
const asked = await fetch(`${origin}/api/chat`, {
  method: 'POST',
  headers: user,
  body: JSON.stringify({ id: 'chat-1', messages }),
});
const stream = await asked.text();
assert.match(stream, /"type":"text-delta"/);
assert.match(stream, /data: \[DONE\]\s*$/);
const saved = await (await fetch(`${origin}/api/chat/chat-1`, { headers: user })).json();
assert.equal(saved.messages[1].parts.at(-1).text, 'chatted from Next');
assert.equal((await fetch(`${origin}/api/chat/chat-1`)).status, 401);
console.log('a chat in a route handler: ok');
