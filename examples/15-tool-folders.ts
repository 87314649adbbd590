// Tools as folders: manifest.yaml describes the tools, tool.ts implements them. Used by an agent, and served to any MCP host.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loadToolFolder, problemText } from '@pocket-agent/tool-folder';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const tools = loadToolFolder(`${import.meta.dirname}/tools`);
for (const { name, humanName, problems } of await tools.load()) {
  console.log(`${name}: ${humanName}`, ...problems.map(problemText));
}

const model = new ScriptedModel([
  { toolCalls: [{ name: 'multiply', arguments: { multiplicand: 6, multiplier: 7 } }] },
  '6 times 7 is 42.',
  'I have no tools now, but I remember: 42.',
]);
await using agent = new PocketAgent({ llmModel: model, name: 'Helper', tools: [tools] });
console.log(await agent.run('What is 6 times 7?'));

await tools.activate([]); // no tool is offered from here on; the conversation continues
console.log(await agent.run('And what was it again?'));
assert.deepEqual(
  model.calls.map(({ tools: offered = [] }) => offered.length),
  [1, 1, 0],
);

await tools.activate(['Multiplication']);
const server = await tools.asMcpServer().listen();
const client = new Client({ name: 'another-host', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
const { content } = await client.callTool({ name: 'multiply', arguments: { multiplicand: 21 } });
console.log(content);
assert.deepEqual(content, [{ type: 'text', text: '42' }]); // the manifest sets the default multiplier 2
await client.close();
await server.close();
