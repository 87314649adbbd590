// The MCP client of the AI SDK: lists the tools of a server and calls one. `ai.mjs <url> <token>`
import { createMCPClient } from '@ai-sdk/mcp';

const [url, token] = process.argv.slice(2);
const client = await createMCPClient({
  transport: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
});
const tools = await client.tools();
const result = await tools.notes__add?.execute({ text: 'milk' }, { toolCallId: 'one', messages: [] });
console.log(JSON.stringify({ tools: Object.keys(tools), result: result?.content?.[0]?.text }));
await client.close();
