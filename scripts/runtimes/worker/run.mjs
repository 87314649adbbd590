// Runs worker.js in the runtime of Cloudflare Workers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Miniflare } from 'miniflare';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const host = new PocketAgent({
  name: 'Host',
  llmModel: new ScriptedModel(['answered over HTTP', 'answered over HTTP']),
});
const served = await host.asMcpServer().listen({ token: 'secret' });

const contents = readFileSync('worker.js', 'utf8');
const worker = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.js', contents }],
  compatibilityDate: '2026-07-01',
  compatibilityFlags: ['nodejs_compat'],
  cf: false,
  bindings: { MCP_URL: served.url },
});
const textOf = async (path, init) => await (await worker.dispatchFetch(`http://localhost${path}`, init)).text();
const call = (method, params) => ({
  method: 'POST',
  headers: {
    authorization: 'Bearer secret',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

try {
  assert.match(await textOf('/zod'), /5/);
  assert.match(await textOf('/zod'), /5/); // another request
  assert.match(await textOf('/json-schema'), /this runtime does not allow code generation.*zod/);
  assert.match(await textOf('/http-server'), /answered over HTTP/);
  assert.match(await textOf('/http-server'), /answered over HTTP/); // another request
  assert.match(await textOf('/stdio-server'), /"local" is a program, and Workers start none/);
  assert.match(await textOf('/sqlite'), /needs Node, Bun or Deno/);
  assert.equal((await worker.dispatchFetch('http://localhost/mcp', { method: 'POST' })).status, 401);
  const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'check', version: '1.0.0' } };
  assert.match(await textOf('/mcp', call('initialize', client)), /"serverInfo"/);
  console.log('zod tools, an MCP server over HTTP, MCP by fetch, and what needs Node: ok');
} finally {
  await worker.dispose();
  await host.close();
}
