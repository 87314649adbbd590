// An agent whose tools are other agents. Each keeps its own history; abort, deadline and events pass through.
import assert from 'node:assert/strict';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const square = tool({
  name: 'square',
  description: 'Returns the square of a number',
  inputSchema: z.object({ n: z.number() }),
  run: ({ n }) => n * n,
});

const math = new PocketAgent({
  llmModel: new ScriptedModel([{ toolCalls: [{ name: 'square', arguments: { n: 12 } }] }, 'It is 144.']),
  name: 'Math',
  roleDescription: 'Does arithmetic',
  tools: [square],
});

await using boss = new PocketAgent({
  llmModel: new ScriptedModel([
    { toolCalls: [{ name: 'Math-message', arguments: { message: 'What is 12 squared?' } }] },
    'Math says it is 144.',
  ]),
  name: 'Boss',
  subAgents: [math],
});

const paths = new Set<string>();
for await (const { type, data, meta } of boss.stream('12 squared?', { timeoutMs: 10_000 })) {
  paths.add(meta.path.join(' > '));
  if (type === 'tool_call') console.log(`${meta.path.join(' > ')} calls ${data.name}`);
  if (type === 'run_finished') console.log(`${meta.agentName} answers: ${data.answer}`);
}

assert.deepEqual([...paths], ['Boss', 'Boss > Math']);
assert.equal(math.messages.length, 4);
