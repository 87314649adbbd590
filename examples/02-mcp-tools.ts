// Three kinds of tools: an MCP server in a child process, an MCP server in this process, and a plain function.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { McpServer } from '@modelcontextprotocol/server';
import { PocketAgent, tool } from 'pocket-agent';
import { z } from 'zod';

function weatherServer(): McpServer {
  const server = new McpServer({ name: 'weather', version: '1.0.0' });
  server.registerTool(
    'get_weather',
    {
      description: 'Returns the weather of a city today',
      inputSchema: z.object({ city: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ city }) => ({ content: [{ type: 'text', text: `It is sunny and 21 °C in ${city}.` }] }),
  );
  return server;
}

const rollDice = tool({
  name: 'roll_dice',
  description: 'Rolls dice and returns the sum',
  inputSchema: z.object({ dice: z.number().int().min(1).max(100) }),
  run: ({ dice }) => Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6)).reduce((a, b) => a + b),
});

const builtin = fileURLToPath(import.meta.resolve('../packages/cli/src/builtin-server/main.ts'));

await using agent = new PocketAgent({
  llmModel: process.env.MODEL ?? 'demo',
  name: 'Helper',
  mcpServers: {
    builtin: { command: process.execPath, args: ['-C', 'pocket-agent/source', builtin] },
    weather: { server: weatherServer },
  },
  tools: [rollDice],
});

const answer = await agent.run('What is the weather in London, and what is 12 * 12?');
console.log(answer);

assert.match(answer, /21 °C in London/);
assert.match(answer, /144/);
