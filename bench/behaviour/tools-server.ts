// A server of either era with a few tools that take no arguments: of 2025 on SDK v1, of 2026 on SDK v2.
import { McpServer as McpServerOf2025 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';

/** What each tool answers. */
export type Tools = Record<string, () => string | Promise<string>>;

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

/** What the servers of both SDKs have. */
interface Offering {
  registerTool(name: string, config: object, run: () => Promise<ReturnType<typeof text>>): unknown;
}

const named = { name: 'tools', version: '1.0.0' };

export const serverOf2025 = (tools: Tools) => offer(tools, new McpServerOf2025(named));
export const serverOf2026 = (tools: Tools) => offer(tools, new McpServer(named));

function offer<Server extends Offering>(tools: Tools, server: Server): Server {
  for (const [name, answer] of Object.entries(tools)) server.registerTool(name, {}, async () => text(await answer()));
  return server;
}
