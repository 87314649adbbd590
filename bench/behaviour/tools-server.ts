// A server with a few tools without arguments: 2025 on SDK v1, 2026 on SDK v2.
import { McpServer as McpServerOf2025 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';

/** The answer of each tool. */
export type Tools = Record<string, () => string | Promise<string>>;

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

/** The methods that the servers of both SDKs have in common. */
interface ToolRegistry {
  registerTool(name: string, config: object, run: () => Promise<ReturnType<typeof text>>): unknown;
}

const serverInfo = { name: 'tools', version: '1.0.0' };

export function serverOf2025(tools: Tools): McpServerOf2025 {
  return withTools(tools, new McpServerOf2025(serverInfo));
}

export function serverOf2026(tools: Tools): McpServer {
  return withTools(tools, new McpServer(serverInfo));
}

function withTools<Server extends ToolRegistry>(tools: Tools, server: Server): Server {
  for (const [name, answer] of Object.entries(tools))
    server.registerTool(name, { description: `Tool to ${name.replaceAll('_', ' ')}` }, async () =>
      text(await answer()),
    );
  return server;
}
