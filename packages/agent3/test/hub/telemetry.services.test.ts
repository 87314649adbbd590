// The hub of agent3 exports its spans to an OTLP receiver, and a trace continues through it to the agent that it calls.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { receiver } from '../../../pocket-agent/test/fixtures/programs/otlp-receiver.ts';
import { atEnd } from '../fixtures/cleanup.ts';
import { serve } from '../fixtures/local-server.ts';
import { temporaryFolder, toolsOf } from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

const main = ['-C', 'pocket-agent/source', fileURLToPath(new URL('../../src/main.ts', import.meta.url))];

function start(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [...main, ...args], { env, cwd: tmpdir() });
  const kept = { output: '' };
  child.stdout.on('data', (chunk) => {
    kept.output += chunk;
  });
  const ended = once(child, 'close');
  atEnd(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => kept.output, ended };
}

test('a call through the hub continues the trace of its client', async () => {
  const collector = await receiver();
  const env = { XDG_DATA_HOME: await temporaryFolder(), AGENT3_ALLOW_HOSTS: '127.0.0.1', ...collector.env };
  const made = start(['token', 'alice'], env);
  await made.ended;
  const hub = start(['hub', '--port', '0'], env);
  await expect.poll(hub.output).toContain('Agent3 is at');
  const url = /at (\S+)/.exec(hub.output())?.[1] ?? '';
  const { card } = await startSdkAgent();
  const cardUrl = `${await serve((_, response) => void response.end(JSON.stringify(card)))}/`;

  const client = new Client({ name: 'tests', version: '1' });
  const headers = { authorization: `Bearer ${made.output().trim()}` };
  await client.connect(new StreamableHTTPClientTransport(new URL('mcp', url), { requestInit: { headers } }));
  atEnd(() => client.close());
  const { data: agent } = await toolsOf(client).call('agent3_register', { cardUrl });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const request = { name: 'agent3_call', arguments: { agentId: agent.id, message: 'old secret friend' } };
  const result = await client.callTool({ ...request, _meta: { traceparent } });
  expect(JSON.stringify(result)).toContain('you said');
  hub.child.kill('SIGTERM');
  await hub.ended;
  expect(collector.spans()).toContainEqual(expect.objectContaining({ name: 'tools/call agent3_call', kind: 2 }));
  expect(collector.text()).toContain('"traceId":"0af7651916cd43dd8448eb211c80319c"');
  expect(collector.resource()).toMatchObject({ 'service.name': 'agent3' });
  expect(collector.text()).not.toContain('secret');
});
