// Servers that restart, crash or are killed while they are used: sessions come back, nothing is done twice.
import { readFileSync, writeFileSync } from 'node:fs';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import type { McpServerEntry, PocketAgentClient } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Lives, text } from '../fixtures/programs/lives.ts';
import {
  forward,
  type Host,
  listen,
  refuse,
  startLegacyHost,
  startModernHost,
  startOldSseHost,
} from '../fixtures/servers/http-hosts.ts';
import { type Answer, json, listing, plainHost } from '../fixtures/servers/plain-host.ts';
import { eventually, folder, hostProcess, isAlive, open, stdio, testClient, textOfResult } from '../fixtures/world.ts';
import { resultText, scriptedAgent } from '../helpers.ts';

const count = (host: Host, method: string) => host.seen.filter((seen) => seen.method === method).length;

/** Calls a tool and resolves as soon as the server works on it. */
async function inProgress(client: PocketAgentClient, tool: string): Promise<{ outcome: Promise<unknown> }> {
  await client.listTools();
  let outcome: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    outcome = client.callTool(tool, {}, { progress: () => resolve() }).catch((error: unknown) => error);
    outcome.then((early) => reject(new Error(`${tool} ended early: ${early}`)));
  });
  return { outcome };
}

describe('a 2025 server that was restarted on its port', () => {
  test('gets one new session, which all waiting calls share, and the calls are repeated', async () => {
    const first = await startLegacyHost();
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: first.url } } } });
    await client.callTool('echo', { text: 'one' });
    await first.close();
    const second = await open(startLegacyHost({ port: first.port }));
    const calls = Array.from({ length: 8 }, (_, index) => client.callTool('echo', { text: `${index}` }));
    expect((await Promise.all(calls)).map(textOfResult)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    expect(count(second, 'initialize')).toBe(1);
    expect(statuses).toEqual(['it: connected', 'it: lost', 'it: connected']);
  });

  test('has not run calls that it answered with 404, so calls that are not read-only are repeated too', async () => {
    const host = await open(startLegacyHost());
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    await client.listTools();
    host.forgetSessions();
    const calls = Array.from({ length: 8 }, (_, index) => client.callTool('meta', {}, { meta: { call: index } }));
    expect((await Promise.all(calls)).map((result) => JSON.parse(textOfResult(result)).call)).toEqual([
      ...calls.keys(),
    ]);
    expect(count(host, 'initialize')).toBe(2);
    expect(statuses).toEqual(['it: connected', 'it: lost', 'it: connected']);
  });

  const sessionNotFound = (code: number, message: object = {}): Answer => {
    return (response, id) => {
      response.statusCode = 404;
      return json({ error: { code, message: 'Session not found' }, ...message })(response, id);
    };
  };

  test.each<[string, Answer]>([
    ['with 404 and no id, as the TypeScript SDK', sessionNotFound(-32_001, { id: null })],
    ['with 404 and an id of its own, as the Python SDK', sessionNotFound(-32_600, { id: 'server-error' })],
    [
      'with 400 and text, as older Python SDKs',
      (response) => response.writeHead(400).end('Bad Request: No valid session ID provided'),
    ],
    ['with 404 and the id of the call', sessionNotFound(-32_001)],
  ])('and does not know the session %s, gets the call again', async (_how, unknown) => {
    let calls = 0;
    const done = json({ result: { content: [{ type: 'text', text: 'done' }] } });
    const host = await open(
      plainHost({ 'tools/call': (response, id) => (++calls === 1 ? unknown : done)(response, id) }),
    );
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    expect(textOfResult(await client.callTool('it', {}))).toBe('done');
    expect([calls, statuses]).toEqual([2, ['it: connected', 'it: lost', 'it: connected']]);
  });

  test('makes the outcome of a repeated call unknown if that is cut off', async () => {
    const host = await open(startLegacyHost());
    let calls = 0;
    const proxy = await open(
      listen(undefined, (request, response, body) => {
        const isCall = JSON.stringify(body ?? '').includes('tools/call');
        if (isCall && ++calls === 2) return void response.destroy();
        return forward(host.port, { request, response, body });
      }),
    );
    const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: proxy.url } } } });
    await client.listTools();
    host.forgetSessions();
    await expect(client.callTool('meta', {})).rejects.toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
    expect(calls).toBe(2);
    expect(textOfResult(await client.callTool('echo', { text: 'fine' }))).toBe('fine');
  });

  test('gets a new session even if its tools or resources are read first', async () => {
    const first = await startLegacyHost();
    const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: first.url } } } });
    await client.listTools();
    await client.callTool('grow', {});
    await first.close();
    const second = await open(startLegacyHost({ port: first.port }));
    expect((await client.listTools()).length).toBeGreaterThan(0);
    await client.callTool('echo', { text: 'two' });
    expect(count(second, 'initialize')).toBe(1);
  });

  test('gets a new session over the old SSE transport too', async () => {
    const first = await startOldSseHost();
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: first.url, type: 'sse' } } } });
    await client.callTool('echo', { text: 'one' });
    await first.close();
    const second = await open(startOldSseHost({ port: first.port }));
    await eventually(() => expect(statuses).toContain('it: lost'));
    expect(textOfResult(await client.callTool('echo', { text: 'two' }))).toBe('two');
    expect(count(second, 'initialize')).toBe(1);
  });
});

describe('a stdio server killed -9 in the middle of a call', () => {
  test.each(['slow_read', 'slow_put'])(
    'is started again, and %s is repeated, because it is harmless to repeat',
    async (tool) => {
      const path = folder();
      const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts', path) } } });
      const pid = Number(textOfResult(await client.callTool('pid', {})));
      const { outcome } = await inProgress(client, tool);
      process.kill(pid, 'SIGKILL');
      expect(textOfResult(await outcome)).toBe(`call 2 of ${tool}`);
      expect(new Lives(path).count(tool)).toBe(2);
      expect(statuses).toEqual(['it: connected', 'it: lost', 'it: connected']);
      expect(isAlive(pid)).toBe(false);
    },
  );

  test('makes the outcome of any other call unknown, and works again for the next call', async () => {
    const path = folder();
    const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts', path) } } });
    const pid = Number(textOfResult(await client.callTool('pid', {})));
    const { outcome } = await inProgress(client, 'slow_write');
    process.kill(pid, 'SIGKILL');
    expect(await outcome).toMatchObject({
      code: 'TOOL_OUTCOME_UNKNOWN',
      message: expect.stringContaining('It may or may not have taken effect'),
    });
    expect(new Lives(path).count('slow_write')).toBe(1);
    expect(textOfResult(await client.callTool('slow_write', {}))).toBe('call 2 of slow_write');
  });

  test('is started once for many calls', async () => {
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts') } } });
    process.kill(Number(textOfResult(await client.callTool('pid', {}))), 'SIGKILL');
    const pids = await Promise.all(Array.from({ length: 6 }, () => client.callTool('pid', {})));
    expect(new Set(pids.map(textOfResult)).size).toBe(1);
    expect(statuses).toEqual(['it: connected', 'it: lost', 'it: connected']);
  });
});

describe('a call of 2026 whose server has asked something', () => {
  /** A client whose user answers; `before` happens first. */
  const answering = (entry: McpServerEntry, before: () => unknown = () => {}) => {
    const asked: string[] = [];
    const world = testClient({
      mcpConfig: { mcpServers: { it: entry } },
      elicitationHandler: async ({ message }) => {
        asked.push(message);
        await before();
        return { action: 'accept', content: { name: 'Ada' } };
      },
    });
    return { ...world, asked };
  };

  const gone: Answer = (response) => refuse(response, 404, 'Session not found');

  /** Its one tool `ask` wants a name; the request that brings the first one is not let through. */
  const forgetful = (annotations: object, instead: Answer = gone) => {
    const person = z.object({ name: z.string() });
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'asking', version: '1' });
      server.registerTool(
        'ask',
        { inputSchema: z.object({}), annotations },
        (_args, { mcpReq: { inputResponses } }) => {
          const given = acceptedContent(inputResponses, 'who', person);
          const who = inputRequired.elicit({ message: 'Your name?', requestedSchema: person });
          return given ? text(`hello ${given.name}`) : inputRequired({ inputRequests: { who } });
        },
      );
      return server;
    });
    const node = toNodeHandler(handler);
    let answers = 0;
    return listen(undefined, (request, response, body) => {
      const isAnswer = JSON.stringify(body ?? '').includes('"inputResponses"');
      if (isAnswer && ++answers === 1) return instead(response, (body as { id: number }).id);
      return node(request, response, body);
    });
  };

  test("is not repeated when the user's answer is refused: part of it has run", async () => {
    const { client, asked } = answering({ url: (await open(forgetful({}))).url });
    await expect(client.callTool('ask', {})).rejects.toMatchObject({
      code: 'TOOL_OUTCOME_UNKNOWN',
      message: expect.stringContaining('It may or may not have taken effect'),
    });
    expect(asked).toEqual(['Your name?']);
    expect(textOfResult(await client.callTool('ask', {}))).toBe('hello Ada');
  });

  test.each(['readOnlyHint', 'idempotentHint'])('is repeated if %s says that it is harmless', async (hint) => {
    const { client, asked } = answering({ url: (await open(forgetful({ [hint]: true }))).url });
    expect(textOfResult(await client.callTool('ask', {}))).toBe('hello Ada');
    expect(asked).toHaveLength(2);
  });

  test.each(['ask', 'ask_for_person'])('is not repeated when the server has stopped listening (%s)', async (tool) => {
    const host = await startModernHost();
    const { client, asked } = answering({ url: host.url }, () => host.close());
    await expect(client.callTool(tool, {})).rejects.toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
    expect(asked).toHaveLength(1);
  });

  test('is not repeated by a child that was started again', async () => {
    const { client, asked, statuses } = answering(stdio('stdio-server.ts'), async () => {
      process.kill(pid, 'SIGKILL');
      await eventually(() => expect(statuses).toContain('it: lost'));
    });
    const pid = Number(textOfResult(await client.callTool('pid', {})));
    await expect(client.callTool('ask', {})).rejects.toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
    expect(asked).toHaveLength(1);
  });

  test('is not repeated with other headers', async () => {
    const mismatch = json({ error: { code: -32_020, message: 'a header is missing' } });
    const { client, asked } = answering({ url: (await open(forgetful({}, mismatch))).url });
    await expect(client.callTool('ask', {})).rejects.toThrow('a header is missing');
    expect(asked).toHaveLength(1);
  });
});

describe('a server that comes back with different tools', () => {
  /** Loses its session with the first call, and lists something else afterwards. */
  const shifty = async (before: object, after: object) => {
    const ran: number[] = [];
    const life = () => count(host, 'initialize');
    const done = json({ result: { content: [{ type: 'text', text: 'done' }] } });
    const host: Host = await open(
      plainHost({
        'tools/list': (response, id) => listing(life() === 1 ? before : after)(response, id),
        'tools/call': (response, id) => {
          if (life() === 1) return refuse(response, 404, 'Session not found');
          ran.push(life());
          return done(response, id);
        },
      }),
    );
    return { ran, host, mcpConfig: { mcpServers: { shifty: { url: host.url } } } };
  };
  const harmless = { annotations: { destructiveHint: false } };
  const dangerous = { annotations: { destructiveHint: true } };
  const twice = [{ toolCalls: [{ name: 'it' }] }, { toolCalls: [{ name: 'it' }] }, 'ok'];
  const changed =
    'The connection to MCP server "shifty" was lost, and "it" was not called over the new one: it has changed; call it again to use the new version.';

  test('does not get a call that was approved for the old tool, and the next call is judged by the new one', async () => {
    const { ran, mcpConfig } = await shifty(harmless, dangerous);
    const { agent } = scriptedAgent(twice, { mcpConfig, access: { profile: 'writer' } });
    await agent.run('x');
    await agent.close();
    expect(ran).toEqual([]);
    expect(resultText(agent, 0)).toContain(changed);
    expect(resultText(agent, 1)).toContain('"it" may not be called here');
  });

  test('gets the next call after the new tool was approved', async () => {
    const { ran, mcpConfig } = await shifty(harmless, dangerous);
    const asked: unknown[] = [];
    const { agent } = scriptedAgent(twice, {
      mcpConfig,
      access: { confirm: 'destructive' },
      approve: ({ annotations }) => {
        asked.push([annotations, ran.length]);
        return 'allow';
      },
    });
    await agent.run('x');
    await agent.close();
    expect(asked).toEqual([[{ destructiveHint: true }, 0]]);
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual([expect.stringContaining(changed), 'done']);
  });

  test('does not get a call of a tool that is gone', async () => {
    const { ran, mcpConfig } = await shifty({}, { name: 'other' });
    const { client } = testClient({ mcpConfig });
    await client.listTools();
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'MCP_REQUEST_FAILED',
      message: expect.stringMatching(/"it" was not called over the new one: it no longer exists\.$/),
    });
    expect(ran).toEqual([]);
  });

  test('gets the call if the tool is unchanged, even if other servers list a tool of that name', async () => {
    const { ran, host, mcpConfig } = await shifty(harmless, harmless);
    const { client } = testClient({ mcpConfig });
    await client.listTools();
    const other = await open(plainHost({ 'tools/list': listing(dangerous) }));
    await testClient({ mcpConfig: { mcpServers: { other: { url: other.url } } } }).client.listTools();
    expect(textOfResult(await client.callTool('it', {}))).toBe('done');
    await client.listTools();
    expect([ran, count(host, 'tools/list')]).toEqual([[2], 2]);
  });

  test('over stdio does not get a call again that crashed it, although the tool was read-only before', async () => {
    const path = folder();
    const mcpConfig = { mcpServers: { it: stdio('stdio-odd.ts', 'turncoat', `${path}/lives`) } };
    const clean = { toolCalls: [{ name: 'clean' }] };
    const { agent } = scriptedAgent([clean, clean, 'ok'], { mcpConfig, access: { profile: 'reader' } });
    await agent.run('x');
    await agent.close();
    expect(resultText(agent, 0)).toContain('it has changed; call it again');
    expect(resultText(agent, 1)).toContain('may not be called here');
    expect(readFileSync(`${path}/lives`, 'utf8')).toBe('crashed\n');
  });

  test('does not get a call that found the connection lost either', async () => {
    const path = folder();
    const mcpConfig = { mcpServers: { it: stdio('stdio-odd.ts', 'turncoat', `${path}/lives`) } };
    const { client, statuses } = testClient({ mcpConfig });
    const pid = Number(textOfResult(await client.callTool('pid', {})));
    writeFileSync(`${path}/lives`, 'crashed\n');
    process.kill(pid, 'SIGKILL');
    await eventually(() => expect(statuses).toContain('it: lost'));
    await expect(client.callTool('clean', {})).rejects.toThrow('it has changed; call it again');
    expect(textOfResult(await client.callTool('clean', {}))).toBe('cleaned');
  });
});

describe.each(['modern', 'legacy', 'sse'] as const)('an HTTP server (%s) killed -9 in the middle of calls', (era) => {
  const type = era === 'sse' ? { type: era } : {};

  test('and started again gets the read-only call once more; the outcome of the other call is unknown', async () => {
    const path = folder();
    const [first, second] = await Promise.all([hostProcess(era, path), hostProcess(era, path)]);
    const { url, port } = await first.listen();
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url, ...type } } } });
    const read = await inProgress(client, 'slow_read');
    const write = await inProgress(client, 'slow_write');
    await first.kill();
    await second.listen(port);
    expect(await write.outcome).toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
    expect(textOfResult(await read.outcome)).toBe('call 2 of slow_read');
    expect(new Lives(path).count('slow_write')).toBe(1);
    expect(statuses).toEqual(['it: connected', 'it: lost', 'it: connected']);
    expect(textOfResult(await client.callTool('echo', { text: 'as before' }))).toBe('as before');
  });
});

test('an HTTP server killed -9 that stays away fails its calls without a hang', async () => {
  const server = await hostProcess('legacy', folder());
  const { url } = await server.listen();
  const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url } } } });
  const read = await inProgress(client, 'slow_read');
  const write = await inProgress(client, 'slow_write');
  await server.kill();
  expect(await write.outcome).toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
  expect(await read.outcome).toMatchObject({
    code: 'MCP_CONNECT_FAILED',
    message: expect.stringMatching(/Could not reach MCP server "it" at http:.*ECONNREFUSED/),
  });
  expect(statuses).toEqual(['it: connected', 'it: lost', 'it: failed']);
});
