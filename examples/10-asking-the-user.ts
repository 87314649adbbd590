// A tool that asks the user a question (MCP elicitation). The server speaks the 2025 and the 2026 protocol.
import assert from 'node:assert/strict';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const answer = z.object({ size: z.enum(['small', 'large']) });

function pizzeria(): McpServer {
  const server = new McpServer({ name: 'pizzeria', version: '1.0.0' });
  server.registerTool(
    'order_pizza',
    { description: 'Orders a pizza', inputSchema: z.object({ kind: z.string() }) },
    ({ kind }, context) => {
      const given = acceptedContent(context.mcpReq.inputResponses, 'size', answer);
      if (given) return { content: [{ type: 'text', text: `Ordered: one ${given.size} ${kind}.` }] };
      const ask = inputRequired.elicit({ message: 'Which size?', requestedSchema: answer });
      return inputRequired({ inputRequests: { size: ask } });
    },
  );
  return server;
}

const asked: string[] = [];
await using agent = new PocketAgent({
  llmModel: new ScriptedModel([
    { toolCalls: [{ name: 'order_pizza', arguments: { kind: 'Margherita' } }] },
    'Your large Margherita is on its way.',
  ]),
  mcpConfig: pizzeria,
  elicitationHandler: ({ message }) => {
    asked.push(message); // a real program asks a person here
    return { action: 'accept', content: { size: 'large' } };
  },
});
console.log(await agent.run('Order a Margherita.'));

assert.deepEqual(asked, ['Which size?']);
assert.match(JSON.stringify(agent.messages), /Ordered: one large Margherita/);
