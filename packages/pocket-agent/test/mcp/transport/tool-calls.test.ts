// Tool calls on every transport: what is sent to the server, and which answers are accepted.

import { toNodeHandler } from '@modelcontextprotocol/node';
import { type CallToolResult, createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { observer } from '../../fixtures/programs/observer.ts';
import { type Host, listen, refuse, startModernHost } from '../../fixtures/servers/http-hosts.ts';
import { json, listing, plainHost } from '../../fixtures/servers/plain-host.ts';
import { eventually, open, stdio, testClient, textOfResult } from '../../fixtures/world.ts';

/** A server of 2025 with one tool, that answers a call with what it is given. */
function toolHost(tool: object, answer: () => object | undefined): Promise<Host> {
  return plainHost({
    'tools/list': listing(tool),
    'tools/call': (response, id) => {
      const result = answer();
      return result ? json({ result })(response, id) : refuse(response, 500, 'the disk is full');
    },
  });
}

function connectTo({ url }: Host, headers: Record<string, string> = {}) {
  return testClient({ mcpConfig: { mcpServers: { it: { url, headers } } } });
}

const headersOf = (host: Host, method: string) => host.seen.findLast((seen) => seen.method === method)?.headers;

describe('a call over HTTP', () => {
  test('has the headers of every other request, and the name of the tool', async () => {
    const host = await open(startModernHost());
    const { client } = connectTo(host, { 'X-Own': 'mine' });
    await client.callTool('echo', { text: 'hi' });
    const [listing, call] = [headersOf(host, 'tools/list'), headersOf(host, 'tools/call')];
    expect(call).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'echo', 'x-own': 'mine' });
    for (const name of ['accept', 'content-type', 'mcp-protocol-version']) expect(call?.[name]).toBe(listing?.[name]);
  });

  test('has the session id of a 2025 server', async () => {
    const host = await open(toolHost({}, () => ({ content: [{ type: 'text', text: 'plain' }] })));
    const { client } = connectTo(host);
    expect(textOfResult(await client.callTool('it', {}))).toBe('plain');
    expect(headersOf(host, 'tools/call')).toMatchObject({
      'mcp-session-id': 'the-session',
      'mcp-protocol-version': '2025-11-25',
    });
    expect(headersOf(host, 'tools/call')).not.toHaveProperty('mcp-method');
  });

  test('works for a tool whose name is not valid in a header', async () => {
    const host = await open(modernHost(() => ({ Grüße: z.object({}) })));
    const { client } = connectTo(host);
    const [tool] = await client.listTools();
    expect(textOfResult(await client.callTool(tool?.name ?? '', {}))).toBe('{}');
  });

  test('may be answered with a stream or with JSON each time', async () => {
    const host = await open(startModernHost());
    const { client } = connectTo(host);
    const echo = async (text: string) => textOfResult(await client.callTool('echo', { text }));
    expect(await echo('before')).toBe('before');
    const parts: number[] = [];
    const progress = ({ progress }: { progress: number }) => parts.push(progress);
    const done = await client.callTool('progress', { everyMs: 0, count: 3 }, { progress });
    expect([textOfResult(done), ...parts]).toEqual(['all parts done', 1, 2, 3]);
    expect(await echo('after')).toBe('after');
  });

  test('is cut off when the client is closed', async () => {
    const observed = observer();
    const host = await open(startModernHost({ observed }));
    const { client } = connectTo(host);
    await client.listTools();
    const call = client.callTool('wait', {});
    const refused = expect(call).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
    await eventually(() => expect(observed.started).toEqual(['wait']));
    await client.close();
    await refused;
    await eventually(() => expect(observed.cancelled).toEqual(['wait']));
  });

  test('may be answered with its id as a string', async () => {
    const result = { content: [{ type: 'text', text: 'numbered' }] };
    const host = await open(
      plainHost({ 'tools/call': (response, id) => json({ id: String(id), result })(response, id) }),
    );
    expect(textOfResult(await connectTo(host).client.callTool('it', {}))).toBe('numbered');
  });

  test('fails with the message of a server that refuses it', async () => {
    const answers = [{ content: [] }, undefined, { content: [] }];
    const host = await open(toolHost({}, () => answers.shift()));
    const { client } = connectTo(host);
    expect(await client.callTool('it', {})).toEqual({ content: [] });
    await expect(client.callTool('it', {})).rejects.toThrow('the disk is full');
    expect(await client.callTool('it', {})).toEqual({ content: [] });
  });
});

describe.each<[string, Record<string, string>]>([
  ['on the short way', {}],
  ['on the way of the SDK', { accept: 'application/json, text/event-stream' }],
])('the answer of a call %s', (_way, headers) => {
  const structured = { outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] } };

  test.each<[string, object, object, string]>([
    ['is not what the tool announces', structured, { content: [], structuredContent: { sum: 'x' } }, 'output schema'],
    ['lacks what the tool announces', structured, { content: [] }, 'structured content'],
    ['is of an unknown kind', {}, { content: [{ type: 'smell' }] }, 'Invalid result'],
    ['belongs to another request', {}, { task: { taskId: '1' } }, 'Invalid result'],
  ])('that %s is refused', async (_what, tool, answer, reason) => {
    const host = await open(toolHost(tool, () => answer));
    await expect(connectTo(host, headers).client.callTool('it', {})).rejects.toThrow(reason);
  });

  test.each<[string, object, object, CallToolResult]>([
    ['has nothing in it', {}, {}, { content: [] }],
    [
      'is as announced',
      structured,
      { content: [], structuredContent: { sum: 1 } },
      { content: [], structuredContent: { sum: 1 } },
    ],
  ])('that %s is accepted', async (_what, tool, answer, expected) => {
    const host = await open(toolHost(tool, () => answer));
    expect(await connectTo(host, headers).client.callTool('it', {})).toEqual(expected);
  });
});

describe('the answer of a call in the 2026 era', () => {
  const text = [{ type: 'text' as const, text: 'plain' }];
  const signed = { 'io.modelcontextprotocol/serverInfo': { name: 'modern', version: '1' } };
  const callAt = async (result: object) => {
    const list = { tools: [{ name: 'it', inputSchema: { type: 'object' } }] };
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    const lasting = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public', _meta: signed };
    const host = plainHost({
      'server/discover': json({ result: { ...discovered, ...lasting } }),
      'tools/list': json({ result: { ...list, ...lasting } }),
      'tools/call': json({ result }),
    });
    return connectTo(await open(host)).client.callTool('it', {});
  };

  test.each<[string, object, CallToolResult]>([
    ['is text', { content: text }, { content: text }],
    ['is text, signed by its server', { content: text, _meta: signed }, { content: text, _meta: signed }],
    [
      'holds more than text',
      { content: text, structuredContent: { sum: 1 } },
      { content: text, structuredContent: { sum: 1 } },
    ],
  ])('that %s is accepted', async (_what, result, expected) => {
    expect(await callAt({ ...result, resultType: 'complete' })).toEqual(expected);
  });

  test.each<[string, object, string]>([
    ['does not say whether it is complete', { content: text }, 'missing required resultType'],
    ['is of an unknown type', { content: text, resultType: 'half' }, "Unsupported result type 'half'"],
    ['asks nothing', { resultType: 'input_required' }, 'neither inputRequests nor requestState'],
    ['holds no content', { resultType: 'complete' }, 'Invalid result'],
  ])('that %s is refused', async (_what, result, reason) => {
    await expect(callAt(result)).rejects.toThrow(reason);
  });
});

describe('arguments that must be sent as headers too', () => {
  const plain = z.object({ region: z.string() });
  const mirrored = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) });

  test('are sent as headers', async () => {
    const host = await open(modernHost(() => ({ it: mirrored })));
    expect(textOfResult(await connectTo(host).client.callTool('it', { region: 'north' }))).toBe('{"region":"north"}');
    expect(headersOf(host, 'tools/call')).toMatchObject({ 'mcp-param-region': 'north' });
    expect(host.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  test('are sent even if the server has begun to require them without announcing it', async () => {
    let schema: typeof plain = plain;
    const host = await open(modernHost(() => ({ it: schema })));
    const { client } = connectTo(host);
    await client.callTool('it', { region: 'south' });
    expect(headersOf(host, 'tools/call')).not.toHaveProperty('mcp-param-region');
    schema = mirrored;
    expect(textOfResult(await client.callTool('it', { region: 'north' }))).toBe('{"region":"north"}');
    expect(headersOf(host, 'tools/call')).toMatchObject({ 'mcp-param-region': 'north' });
  });
});

describe('a server in process', () => {
  test('that a function makes may ask something in the middle of a call', async () => {
    const server = () => {
      const made = new McpServer({ name: 'asking', version: '1' });
      made.registerTool('it', { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
        const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
        const { content } = await mcpReq.elicitInput({ message: 'Your name?', requestedSchema });
        return { content: [{ type: 'text', text: `hello ${content?.name}` }] };
      });
      return made;
    };
    const { client } = testClient({
      mcpConfig: server,
      elicitationHandler: () => ({ action: 'accept', content: { name: 'Ada' } }),
    });
    expect(textOfResult(await client.callTool('it', {}))).toBe('hello Ada');
  });
});

describe('a line of a child', () => {
  test('may arrive in many pieces, cut anywhere', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-server.ts') } } });
    const text = '€uro\r\n'.repeat(60_000);
    expect(textOfResult(await client.callTool('echo', { text }))).toBe(text);
  });

  test('that never ends does not fill the memory', async () => {
    const { client, lines } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-odd.ts', 'endless') } } });
    expect(await client.listTools()).toEqual([]);
    expect(lines.join()).toContain('limit of 10 MB');
  });

  test('that is an invalid answer ends the call immediately', async () => {
    const mcpServers = { it: stdio('stdio-odd.ts', 'sloppy', '"content":') };
    const { client } = testClient({ mcpConfig: { mcpServers } });
    await expect(client.callTool('echo', { text: 'a' })).rejects.toThrow('invalid JSON-RPC');
  });

  test('that is an invalid list of tools makes the server unavailable immediately', async () => {
    const mcpServers = { it: stdio('stdio-odd.ts', 'sloppy', '"tools":[') };
    const { client, reasons } = testClient({ mcpConfig: { mcpServers } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons.join()).toContain('invalid JSON-RPC');
  });
});

/** A 2026 server whose tools answer with their arguments, looked up for every request. */
async function modernHost(tools: () => Record<string, z.ZodObject>): Promise<Host> {
  const handler = toNodeHandler(
    createMcpHandler(
      () => {
        const server = new McpServer({ name: 'modern', version: '1' });
        for (const [name, inputSchema] of Object.entries(tools()))
          server.registerTool(name, { inputSchema }, (args) => ({
            content: [{ type: 'text', text: JSON.stringify(args) }],
          }));
        return server;
      },
      { legacy: 'reject' },
    ),
  );
  return listen(undefined, (request, response, body) => handler(request, response, body));
}
