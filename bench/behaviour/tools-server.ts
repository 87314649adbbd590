// An MCP server of both eras whose tools are too large, too weak, or just right.
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Host, listen } from '../../packages/pocket-agent/test/fixtures/http-hosts.ts';

const none = z.object({});
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

export function startToolsServer(): Promise<Host> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'tools', version: '1.0.0' });
    server.registerTool('good', { inputSchema: none }, () => text('all is well'));
    server.registerTool('large', { inputSchema: none }, () => text('x'.repeat(2_000_000)));
    server.registerTool('weak', { inputSchema: none }, () => {
      throw new Error('the disk is full');
    });
    return server;
  });
  const node = toNodeHandler(handler);
  return listen(undefined, (request, response, body) => node(request, response, body));
}
