// The MCP server of the benchmark, on SDK v2: `bench-server.ts <stdio|2025|2026>`. 2026 speaks both eras, as current servers
// do; 2025 keeps sessions and answers with streams, as most existing servers do.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { add } from '../contenders/contender.ts';
import { mcpServer } from './in-process.ts';

const sessions = new Map<string, NodeStreamableHTTPServerTransport>();

async function withSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const known = sessions.get(String(request.headers['mcp-session-id']));
  const transport =
    known ??
    new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
  if (!known) await mcpServer([add]).connect(transport);
  await transport.handleRequest(request, response);
}

const [mode = 'stdio'] = process.argv.slice(2);
if (mode === 'stdio') serveStdio(() => mcpServer([add]));
else {
  // end with the parent
  process.stdin.resume().once('end', () => process.exit());
  const inBothEras = toNodeHandler(createMcpHandler(() => mcpServer([add])));
  const server = createServer(mode === '2025' ? (...exchange) => void withSession(...exchange) : inBothEras);
  server.keepAliveTimeout = 600_000; // connections must stay open during the turns of other contenders
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${mode}`);
  });
}
