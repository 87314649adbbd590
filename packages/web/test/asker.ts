// An agent with an MCP server whose tool asks the user for a day before it books.
import { McpServer } from '@modelcontextprotocol/server';
import type { PocketAgentOptions } from 'pocket-agent';

const requestedSchema = { type: 'object' as const, properties: { day: { type: 'string' as const } } };

function makeServer(): McpServer {
  const server = new McpServer({ name: 'asker', version: '1' }, { capabilities: {} });
  server.registerTool('book', { description: 'Books', annotations: { readOnlyHint: true } }, async () => {
    const answer = await server.server.elicitInput({ mode: 'form', message: 'Which day?', requestedSchema });
    const text = answer.action === 'accept' ? `Booked for ${answer.content?.day}` : `not booked: ${answer.action}`;
    return { content: [{ type: 'text', text }] };
  });
  return server;
}

export const bookingScript = [{ toolCalls: [{ name: 'book' }] }, 'Done.'];
export const booking: Partial<PocketAgentOptions> = { mcpServers: { asker: { server: makeServer } } };
export { requestedSchema };
