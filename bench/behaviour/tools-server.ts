// An MCP server of both eras whose tools are too large, too weak, or just right.
import { setTimeout as pause } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Host, listen } from '../../packages/pocket-agent/test/fixtures/http-hosts.ts';

/** So long one waits for the others. */
const ALONE_MS = 3_000;
const none = z.object({});
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

/** `good` and `weak` answer when three of them are there. */
export function startToolsServer(): Promise<Host> {
  const { promise: areThree, resolve } = Promise.withResolvers<boolean>();
  let begun = 0;
  const together = () => {
    if (++begun === 3) resolve(true);
    return Promise.race([areThree, pause(ALONE_MS, false)]);
  };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'tools', version: '1.0.0' });
    server.registerTool('good', { inputSchema: none }, async () => text((await together()) ? 'all is well' : 'alone'));
    server.registerTool('large', { inputSchema: none }, () => text('x'.repeat(2_000_000)));
    server.registerTool('weak', { inputSchema: none }, async () => {
      await together();
      throw new Error('the disk is full');
    });
    return server;
  });
  const node = toNodeHandler(handler);
  return listen(undefined, (request, response, body) => node(request, response, body));
}
