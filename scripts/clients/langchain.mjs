// The MCP client of LangChain: lists the tools of a server and calls one. `langchain.mjs <url> <token>`
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const [url, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const client = new MultiServerMCPClient({ mcpServers: { team: { transport: 'http', url, headers } } });
const tools = await client.getTools();
const result = await tools.find(({ name }) => name.endsWith('notes__add'))?.invoke({ text: 'milk' });
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), result }));
await client.close();
