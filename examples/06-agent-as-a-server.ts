// Serves an agent over MCP and HTTP. Another agent uses it as a tool.
import assert from 'node:assert/strict';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

await using poet = new PocketAgent({
  llmModel: new ScriptedModel(['Roses are red.']),
  name: 'Poet',
  roleDescription: 'Writes short poems',
});
const server = await poet.asMcpServer().listen({ token: 'shared-secret' });
console.log(`Poet listens on ${server.url}`);

await using editor = new PocketAgent({
  llmModel: new ScriptedModel([
    { toolCalls: [{ name: 'Poet-message', arguments: { message: 'A line about roses, please.' } }] },
    'Here it is: Roses are red.',
  ]),
  name: 'Editor',
  mcpConfig: { mcpServers: { poet: { url: server.url, headers: { Authorization: 'Bearer shared-secret' } } } },
});

const answer = await editor.run('Get me a line about roses.');
console.log(answer);
await server.close();

assert.match(JSON.stringify(editor.messages), /Roses are red/);
assert.equal((await fetch(server.url).catch(() => undefined))?.status, undefined);
