// An MCP server on stdin and stdout: node notes-server.ts
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const notes: string[] = [];

serveStdio(() => {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool(
    'add_note',
    {
      description: 'Keeps a note',
      inputSchema: z.object({ text: z.string() }),
      annotations: { destructiveHint: false },
    },
    ({ text }) => ({ content: [{ type: 'text', text: `Note ${notes.push(text)} is kept.` }] }),
  );
  server.registerTool(
    'list_notes',
    { description: 'Lists the notes', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    () => ({ content: [{ type: 'text', text: notes.join('\n') || 'There are no notes.' }] }),
  );
  return server;
});
console.error('Waiting for an MCP client on stdin.'); // stdout belongs to the protocol
