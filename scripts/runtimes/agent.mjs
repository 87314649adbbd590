// What an agent does in every runtime: a function tool, an MCP server over stdio, serving and calling MCP over HTTP.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  capability: 'read',
  run: ({ a, b }) => String(a + b),
});

/** A model that calls one tool and answers with its result. */
const calling = (name, args) =>
  new ScriptedModel([
    { toolCalls: [{ name, arguments: args }] },
    ({ prompt }) => JSON.stringify(prompt.at(-1).content),
  ]);

async function answer(options) {
  const agent = new PocketAgent(options);
  try {
    return await agent.run('Go.');
  } finally {
    await agent.close();
  }
}

assert.match(await answer({ llmModel: calling('add', { a: 2, b: 3 }), tools: [add] }), /5/);
console.log('a function tool: ok');

const server = fileURLToPath(new URL('stdio-server.mjs', import.meta.url));
const overStdio = { stdio: { command: process.execPath, args: [...process.execArgv, server] } };
const ask = { message: 'Hello' };
assert.match(await answer({ llmModel: calling('Stdio-message', ask), mcpServers: overStdio }), /answered over stdio/);
console.log('an MCP server over stdio: ok');

const host = new PocketAgent({ name: 'Host', llmModel: new ScriptedModel(['answered over HTTP']) });
const served = host.asMcpServer({ token: 'secret' });
const { url, stop } = await listen(served.fetch);
const headers = { authorization: 'Bearer secret' };
const overHttp = { host: { url, headers } };
assert.match(await answer({ llmModel: calling('Host-message', ask), mcpServers: overHttp }), /answered over HTTP/);
const refused = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
assert.equal(refused.status, 401);
await stop();
await host.close();
console.log('an agent served by fetch, and called over HTTP: ok');

/** Listens with the server of the runtime. */
async function listen(handler) {
  if (globalThis.Bun) {
    const running = globalThis.Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handler });
    return { url: `http://127.0.0.1:${running.port}/mcp`, stop: () => running.stop(true) };
  }
  if (globalThis.Deno) {
    const running = globalThis.Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: () => {} }, handler);
    return { url: `http://127.0.0.1:${running.addr.port}/mcp`, stop: () => running.shutdown() };
  }
  const running = await served.listen();
  return { url: running.url, stop: () => running.close() };
}
