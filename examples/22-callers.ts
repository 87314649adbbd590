// One agent for many users: tools, hooks and MCP servers know the user of a run, and each user sees only their own data.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { type HookContext, PocketAgent, type ToolCall, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const notes: Record<string, string[]> = { ann: ['Call Ben.'], ben: [] };

/** A tool of this program receives `caller` and `metadata` of the run. */
const listNotes = tool({
  name: 'list_notes',
  description: 'Lists the notes of the user',
  annotations: { readOnlyHint: true },
  run: (_args, { caller = '' }) => (notes[caller] ?? []).join('\n') || 'There are no notes.',
});

/** An MCP server that identifies users by their tokens. */
const users: Record<string, string> = { 'Bearer token-of-ann': 'Ann', 'Bearer token-of-ben': 'Ben' };
const handler = createMcpHandler(({ requestInfo }) => {
  const server = new McpServer({ name: 'directory', version: '1.0.0' });
  const user = users[requestInfo?.headers.get('authorization') ?? ''] ?? 'unknown';
  server.registerTool('whoami', { description: 'Returns the name of the caller' }, () => ({
    content: [{ type: 'text', text: `You are ${user}.` }],
  }));
  return server;
});
const http = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1');
await new Promise((resolve) => http.once('listening', resolve));

const calls: string[] = [];
const hooks = {
  preToolCall({ caller, metadata }: HookContext, { name }: ToolCall) {
    calls.push(`${caller} (${metadata.role}): ${name}`);
  },
};

const script = { toolCalls: [{ name: 'list_notes' }, { name: 'whoami' }] };
await using agent = new PocketAgent({
  llmModel: new ScriptedModel([script, 'Done.', script, 'Done.']),
  tools: [listNotes],
  hooks,
  mcpServers: {
    directory: {
      url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
      // called for each run; the token of one caller never reaches the connection of another
      headers: ({ metadata }) => ({ Authorization: `Bearer ${metadata.token}` }),
    },
  },
});

/** Stands in for the handler of a request. */
async function ask(user: string, role: string): Promise<string> {
  const chat = agent.fork();
  await chat.run('What is new?', { caller: user, metadata: { token: `token-of-${user}`, role } });
  const results = chat.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  return results
    .map((part) => (part.type === 'tool-result' && part.output.type === 'text' ? part.output.value : ''))
    .join(' ');
}

const [forAnn, forBen] = [await ask('ann', 'manager'), await ask('ben', 'guest')];
console.log(`Ann: ${forAnn}\nBen: ${forBen}`);
assert.equal(forAnn, 'Call Ben. You are Ann.');
assert.equal(forBen, 'There are no notes. You are Ben.');
assert.deepEqual(calls, [
  'ann (manager): list_notes',
  'ann (manager): whoami',
  'ben (guest): list_notes',
  'ben (guest): whoami',
]);

await agent.close();
http.close();
http.closeAllConnections();
