// An MCP server with a tool that asks the person, a resource and a prompt.
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export function pizzeria(): McpServer {
  const server = new McpServer({ name: 'pizzeria', version: '1.0.0' });
  const answer = z.object({ size: z.enum(['small', 'large']) });
  server.registerTool('order', { description: 'Orders a pizza' }, (context) => {
    const given = acceptedContent(context.mcpReq.inputResponses, 'size', answer);
    if (given) return { content: [{ type: 'text', text: `One ${given.size} pizza.` }] };
    if (context.mcpReq.inputResponses?.size) return { content: [{ type: 'text', text: 'No pizza then.' }] };
    const ask = inputRequired.elicit({ message: 'Which size?', requestedSchema: answer });
    return inputRequired({ inputRequests: { size: ask } });
  });
  server.registerResource('menu', 'pizza://menu', { description: 'The menu' }, () => ({
    contents: [{ uri: 'pizza://menu', text: 'Margherita' }],
  }));
  const argsSchema = z.object({ kind: z.string() });
  server.registerPrompt('praise', { description: 'Praises a pizza', argsSchema }, ({ kind }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Praise the ${kind}.` } }],
  }));
  return server;
}
