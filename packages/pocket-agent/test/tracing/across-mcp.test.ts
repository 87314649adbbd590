// One trace across processes: from the agent that calls an MCP server to what the server does. No provider: nothing.
import { trace } from '@opentelemetry/api';
import { PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { scriptedAgent, silent } from '../helpers.ts';
import { collect, kindOf } from './collector.ts';

const look = { toolCalls: [{ name: 'look' }] };

/** A tool that answers with the `_meta` it got. */
const meta = tool({ name: 'look', description: 'Looks', run: (_args, context) => JSON.stringify(context.meta) });

async function caller(options: Partial<PocketAgentOptions>) {
  const { agent } = scriptedAgent([look, 'done'], options as object);
  onTestFinished(() => agent.close());
  return agent;
}

function metaSeenBy(agent: PocketAgent): Record<string, unknown> {
  const [, , answer] = agent.messages;
  const { output } = JSON.parse(JSON.stringify(answer)).content[0];
  return JSON.parse(output.type === 'text' ? output.value : output.value[0].text);
}

describe('a call of an MCP server', () => {
  test('has a client span with the names of the conventions, whose context travels in _meta', async () => {
    const collector = collect();
    const agent = await caller({ mcpConfig: await scriptedServer([meta]) });
    await agent.run('go');
    const span = collector.span('tools/call look');
    expect(kindOf(span)).toBe('CLIENT');
    expect(span.attributes).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'look',
      'mcp.protocol.version': expect.stringMatching(/^20\d\d-\d\d-\d\d$/),
    });
    expect(span.parentSpanContext?.spanId).toBe(collector.span('execute_tool').spanContext().spanId);
    const { traceId, spanId } = span.spanContext();
    expect(metaSeenBy(agent).traceparent).toBe(`00-${traceId}-${spanId}-01`);
    const durations = (await collector.metrics()).filter(({ name }) => name === 'mcp.client.operation.duration');
    expect(durations).toMatchObject([
      { unit: 's', count: 1, attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'look' } },
    ]);
  });

  test('over HTTP shows the address, and the server continues the trace', async () => {
    const collector = collect();
    const served = new PocketAgent({ name: 'Clock', llmModel: new ScriptedModel(['Noon.']), logger: silent });
    onTestFinished(() => served.close());
    // outside of the trace, as another process would be
    const http = await served.asMcpServer({ token: 'secret' }).listen({ port: 0 });
    const ask = { toolCalls: [{ name: 'Clock-message', arguments: { message: 'Time?' } }] };
    const { agent } = scriptedAgent([ask, 'It is noon.'], {
      mcpConfig: { mcpServers: { clock: { url: http.url, headers: { authorization: 'Bearer secret' } } } },
    });
    onTestFinished(() => agent.close());
    await agent.run('What time is it?');
    expect(collector.tree()).toEqual([
      'invoke_agent Tester',
      '  chat script',
      '  execute_tool Clock-message',
      '    tools/call Clock-message',
      '      tools/call Clock-message',
      '        invoke_agent Clock',
      '          chat script',
      '  chat script',
    ]);
    const [client, server] = collector
      .spans()
      .filter(({ name }) => name.startsWith('tools/call'))
      .reverse();
    expect(client && kindOf(client)).toBe('CLIENT');
    expect(client?.attributes).toMatchObject({
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(http.url).port),
      'network.transport': 'tcp',
    });
    expect(server && kindOf(server)).toBe('SERVER');
    expect(server?.parentSpanContext?.isRemote).toBe(true);
    expect(server?.attributes).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'Clock-message',
      'jsonrpc.request.id': expect.any(String),
    });
    expect((await collector.metrics()).map(({ name }) => name)).toContain('mcp.server.operation.duration');
  });

  test('that returns an error fails its span, without the words of the tool', async () => {
    const collector = collect();
    const broken = tool({
      name: 'look',
      description: 'Looks',
      run: () => {
        throw new Error('Grace is not here');
      },
    });
    await (await caller({ mcpConfig: await scriptedServer([broken]) })).run('go');
    const { attributes, status } = collector.span('tools/call look');
    expect(attributes['error.type']).toBe('tool_error');
    expect(status).toEqual({ code: 2 });
  });

  test('passes on the traceparent of the caller as it is, without a provider', async () => {
    const agent = await caller({ mcpConfig: await scriptedServer([meta]) });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await agent.run('go', { traceparent });
    expect(metaSeenBy(agent).traceparent).toBe(traceparent);
    const another = await caller({ mcpConfig: await scriptedServer([meta]) });
    await another.run('go');
    expect(metaSeenBy(another)).not.toHaveProperty('traceparent');
  });
});

test('trace context that is not one does no harm to a server', async () => {
  const collector = collect();
  const served = new PocketAgent({ name: 'Clock', llmModel: new ScriptedModel(['Noon.', 'Noon.']), logger: silent });
  onTestFinished(() => served.close());
  const fetch = served.asMcpServer({ allowedHosts: ['localhost'] }).fetch;
  const call = (_meta: object) =>
    fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'Clock-message',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: {
            name: 'Clock-message',
            arguments: { message: 'Time?' },
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': {},
              ..._meta,
            },
          },
        }),
      }),
    );
  const hostile = { traceparent: { toString: 1 }, tracestate: ['x'], baggage: 7 };
  expect((await call(hostile)).status).toBe(200);
  expect((await call({ traceparent: `00-${'f'.repeat(100_000)}-1` })).status).toBe(200);
  const servers = collector.spans().filter((span) => kindOf(span) === 'SERVER');
  expect(servers).toHaveLength(2);
  expect(servers.map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined, undefined]);
  expect(trace.getActiveSpan()).toBeUndefined();
});
