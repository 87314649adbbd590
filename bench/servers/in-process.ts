// Serves the tools of a job with the MCP SDK v2, and connects a client in the same process.
import { Client, InMemoryTransport, type Transport } from '@modelcontextprotocol/client';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type BenchTool, negotiated } from '../contenders/contender.ts';

const numbers = z.object({ a: z.number(), b: z.number() });

export function mcpServer(tools: readonly BenchTool[]): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  for (const { name, description, run } of tools) {
    const annotations = { readOnlyHint: true };
    server.registerTool(name, { description, inputSchema: numbers, annotations }, async ({ a, b }) => {
      negotiated.revision ??= server.server.getNegotiatedProtocolVersion();
      return { content: [{ type: 'text', text: await run(a, b) }] };
    });
  }
  return server;
}

/** Serves the tools over HTTP, without a network. */
export function mcpHandler(tools: readonly BenchTool[]): (request: Request) => Promise<Response> {
  const handler = createMcpHandler(() => mcpServer(tools));
  return (request) => {
    // a server that lives for one request does not negotiate
    negotiated.revision ??= request.headers.get('mcp-protocol-version') ?? undefined;
    return handler.fetch(request);
  };
}

/** The client end of a connection to a server in this process. */
export async function linked(tools: readonly BenchTool[]): Promise<Transport> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await mcpServer(tools).connect(far);
  return near;
}

export async function linkedClient(tools: readonly BenchTool[]): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(await linked(tools));
  return client;
}
