// Mattermost as an MCP server: three ways to give a program only the tools that read and write.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { capabilityOf, PocketAgent, profiles, toolsFor } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
// a fake Mattermost from the tests, so that this example needs no account
import { startFakeMattermost } from '../packages/mattermost/test/fake/fake-mattermost.ts';

const mattermost = await startFakeMattermost();
const channelId = mattermost.channel('town-square').id;

// in your own program: command 'npx', args ['-y', '-p', '@pocket-agent/mattermost', 'mcp-server-mattermost']
const server = {
  command: process.execPath,
  args: ['-C', 'pocket-agent/source', fileURLToPath(import.meta.resolve('../packages/mattermost/src/main.ts'))],
  env: {
    MATTERMOST_URL: mattermost.url,
    MATTERMOST_TOKEN: mattermost.token('alice'),
    MATTERMOST_LOG_LEVEL: 'error',
  },
};

// 1. With the MCP SDK only: connect, choose tools, call one, read the result.
const client = new Client({ name: 'my-agent', version: '1.0.0' });
await client.connect(new StdioClientTransport(server));
const { tools: all } = await client.listTools();
const allowed: readonly unknown[] = profiles.writer; // ['read', 'write']
const writerTools = all.filter((tool) => allowed.includes(tool._meta?.capability));
console.log(`The agent has ${writerTools.length} of ${all.length} tools (profile writer)`);

const message = 'Hello from my agent!';
const posted = await client.callTool({ name: 'post_message', arguments: { channel_id: channelId, message } });
console.log(posted.isError ? 'Failed:' : 'Posted:', posted.structuredContent ?? posted.content);

const failed = await client.callTool({ name: 'get_channel', arguments: { channel_id: 'x'.repeat(26) } });
if (failed.isError) console.log('Failed:', failed.content); // the error says what to do next

// 2. For the loop of another library: the access rules as functions, for any list of MCP tools.
const plainTools = toolsFor('writer', all).map(({ name, description, inputSchema }) => ({
  name,
  description,
  inputSchema,
  execute: (args: Record<string, unknown>) => client.callTool({ name, arguments: args }),
}));
const safeReaders = all.filter(
  (tool) =>
    capabilityOf(tool) === 'read' &&
    tool.annotations?.readOnlyHint === true &&
    tool.annotations.idempotentHint === true,
);
const me = await plainTools.find(({ name }) => name === 'get_me')?.execute({});
console.log(me?.structuredContent, `${safeReaders.length} tools only read`);
await client.close();

// 3. With pocket-agent: the profile is enforced at every call. MATTERMOST_PROFILE does the same in the server.
const model = new ScriptedModel([
  { toolCalls: [{ name: 'get_unread_inbox', arguments: {} }] },
  {
    toolCalls: [
      { name: 'post_message', arguments: { channel_id: channelId, message: 'Looking at the build now.' } },
      { name: 'delete_message', arguments: { post_id: mattermost.post('plan').id } },
    ],
  },
  'I replied to bob. I may not delete anything.',
]);
await using agent = new PocketAgent({
  llmModel: model,
  exposure: 'direct', // by default, tools beyond a tenth of the context window are found with find_tools
  name: 'Helper', // a real model: llmModel: 'anthropic/claude-sonnet-5'
  mcpConfig: { mcpServers: { mattermost: server } },
  access: { profile: 'writer' },
});
console.log(await agent.run('What is new? Reply to open questions, then delete the plan.'));

assert.equal(all.length, 53);
assert.ok(!writerTools.some(({ name }) => name === 'delete_message' || name === 'create_channel'));
assert.deepEqual(
  plainTools.map(({ name }) => name),
  writerTools.map(({ name }) => name),
);
assert.equal(posted.isError, undefined);
assert.match(JSON.stringify(failed.content), /Resource not found/);
assert.match(JSON.stringify(me?.structuredContent), /alice/);
const posts = [...mattermost.world.posts.values()];
assert.deepEqual(
  posts.slice(-2).map((post) => post.message),
  [message, 'Looking at the build now.'],
);
assert.equal(mattermost.post('plan').delete_at, 0);
// Pocket Agent also gets the tools that other clients have to ask for
const offered = model.calls[0]?.tools?.map(({ name }) => name) ?? [];
assert.deepEqual(
  writerTools.filter(({ name }) => !offered.includes(name)),
  [],
);
assert.ok(
  offered.includes('set_status') && !offered.includes('archive_channel') && !offered.includes('delete_message'),
);
await mattermost.close();
