// A server of either era with a few tools that take no arguments: of 2025 on SDK v1, of 2026 on SDK v2.
import { McpServer as McpServerOf2025 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';

/** What each tool answers. */
export type Tools = Record<string, () => string | Promise<string>>;

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

export function serverOf2025(tools: Tools): McpServerOf2025 {
  const server = new McpServerOf2025({ name: 'tools', version: '1.0.0' });
  for (const [name, answer] of Object.entries(tools)) server.registerTool(name, {}, async () => text(await answer()));
  return server;
}

export function serverOf2026(tools: Tools): McpServer {
  const server = new McpServer({ name: 'tools', version: '1.0.0' });
  for (const [name, answer] of Object.entries(tools)) server.registerTool(name, {}, async () => text(await answer()));
  return server;
}
