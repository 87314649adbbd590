// The MCP server of the measurements over stdio and HTTP, on SDK v2, in both protocol eras: `bench-server.ts <stdio|http>`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { add } from '../contender.ts';
import { mcpServer } from '../mcp-server.ts';

if (process.argv[2] === 'stdio') serveStdio(() => mcpServer([add]));
else {
  // it ends with whoever started it
  process.stdin.resume().once('end', () => process.exit());
  const server = createServer(toNodeHandler(createMcpHandler(() => mcpServer([add]))));
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  });
}
