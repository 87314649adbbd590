// A server to be killed: `effects-server.ts <folder> [port]`. Each call of a tool adds a line to the file `effects`, before
// it is answered. Without a port it speaks stdio. Its process adds itself to the file `pids`.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [folder = '.', port] = process.argv.slice(2);

function effectsServer(): McpServer {
  const server = new McpServer({ name: 'effects', version: '1.0.0' });
  const inputSchema = z.object({ id: z.number() });
  for (const [name, readOnlyHint] of Object.entries({ add: false, look: true })) {
    server.registerTool(name, { inputSchema, annotations: { readOnlyHint } }, async ({ id }) => {
      appendFileSync(join(folder, 'effects'), `${name} ${id}\n`);
      await setTimeout(id % 5);
      return { content: [{ type: 'text', text: String(id) }] };
    });
  }
  return server;
}

if (port === undefined) {
  serveStdio(effectsServer);
  appendFileSync(join(folder, 'pids'), `${process.pid}\n`);
} else {
  const handle = toNodeHandler(createMcpHandler(effectsServer));
  createServer((request, response) => void handle(request, response)).listen(Number(port), '127.0.0.1', () => {
    console.log('listening');
  });
}
