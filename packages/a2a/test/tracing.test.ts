// One trace from an agent to a remote agent over A2A.
import { remoteAgent } from '@pocket-agent/a2a';
import { tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { scriptedAgent } from '../../pocket-agent/test/helpers.ts';
import { collect } from '../../pocket-agent/test/tracing/collector.ts';
import { World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

const ask = { toolCalls: [{ name: 'Helper-message', arguments: { message: 'hello' } }] };

test('a remote agent continues the trace of the tool call that asked it', async () => {
  const collector = collect();
  const { url } = await world.serve(world.agent(['hi']));
  const { agent } = scriptedAgent([ask, 'done'], { tools: [world.keep(remoteAgent(url) as never)] });
  await world.keep(agent).run('go');
  expect(collector.tree()).toEqual([
    'invoke_agent Tester',
    '  chat script',
    '  execute_tool Helper-message',
    '    invoke_agent Helper',
    '      chat script',
    '  chat script',
  ]);
  expect(collector.span('invoke_agent Helper').parentSpanContext?.isRemote).toBe(true);
});

test('without a tracer, the traceparent of a run is forwarded unchanged from agent to agent to an MCP server', async () => {
  const seen: unknown[] = [];
  const look = tool({ name: 'look', description: 'Looks', run: (_args, { meta }) => `${seen.push(meta.traceparent)}` });
  const mcpConfig = await scriptedServer([look]);
  const { url } = await world.serve(world.agent([{ toolCalls: [{ name: 'look' }] }, 'seen'], { mcpConfig }));
  const { agent } = scriptedAgent([ask, 'done'], { tools: [world.keep(remoteAgent(url) as never)] });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await world.keep(agent).run('go', { traceparent });
  expect(seen).toEqual([traceparent]);
});

test('an invalid traceparent header is ignored', async () => {
  const collector = collect();
  const { url } = await world.serve(world.agent(['hi']));
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  const response = await fetch(new URL('/a2a/jsonrpc', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', traceparent: `00-${'x'.repeat(9_000)}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  });
  expect(await response.text()).toContain('hi');
  expect(collector.span('invoke_agent').parentSpanContext).toBeUndefined();
});
