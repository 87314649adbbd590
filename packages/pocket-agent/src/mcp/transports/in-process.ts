// MCP to a server object of the same process.
import { InMemoryTransport, type Transport } from '@modelcontextprotocol/client';
import type { McpServer, McpServerFactory, Server } from '@modelcontextprotocol/server';
import { configError } from '@pocket-agent/kit';

/**
 * An MCP server of this process. A factory, or the result of `asMcpServer()`, can be used by many agents; one server
 * object by one agent.
 */
export type InProcessServer = AnyServer | (() => AnyServer) | { createServer(): AnyServer | Promise<AnyServer> };

type AnyServer = McpServer | Server;

/** Speaks the 2025 era: it costs half as much, and servers may ask questions in the middle of a call. */
export async function inProcessTransport(server: InProcessServer): Promise<Transport> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const make = factoryOf(server);
  const made = await make({ era: 'legacy' });
  if ('isConnected' in made && made.isConnected()) {
    throw configError(
      'This McpServer object is connected to another client. Pass a function that makes a new one: { server: () => new McpServer(…) }.',
    );
  }
  await made.connect(far);
  return near;
}

function factoryOf(server: InProcessServer): McpServerFactory {
  if (typeof server === 'function') return server;
  return 'createServer' in server ? () => server.createServer() : () => server;
}
