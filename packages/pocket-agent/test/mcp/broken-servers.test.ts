// Servers that break the rules, and calls that break off: each ends, says why, and leaves nothing behind.
import type { ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { forward, listen, refuse, startOldSseHost, startUntoldHost } from '../fixtures/servers/http-hosts.ts';
import { modernServer } from '../fixtures/servers/modern-tools.ts';
import { type Answer, json, listing, plainHost, streamed } from '../fixtures/servers/plain-host.ts';
import { eventually, open, testClient, textOfResult } from '../fixtures/world.ts';

afterEach(() => vi.useRealTimers());

const readOnly = listing({ annotations: { readOnlyHint: true } });

async function clientOf(answers: Record<string, Answer>, entry: object = {}) {
  const host = await open(plainHost(answers));
  return { host, ...testClient({ mcpConfig: { mcpServers: { it: { url: host.url, ...entry } } } }) };
}

/** A server over the SSE transport of 2024 that refuses calls, or other requests, as given. */
async function oldClientOf(
  refuseCall: (response: ServerResponse, id: unknown, call: number) => boolean,
  refused = 'tools/call',
) {
  const host = await open(startOldSseHost());
  let calls = 0;
  const proxy = await open(
    listen(undefined, (request, response, body) => {
      const { method, id } = Object(body);
      if (method === refused && refuseCall(response, id, ++calls)) return;
      return forward(host.port, { request, response, body });
    }),
  );
  const made = testClient({ mcpConfig: { mcpServers: { it: { url: proxy.url, type: 'sse' } } } });
  return { ...made, calls: () => calls };
}

describe('a refusal over the old SSE transport', () => {
  const say = (response: ServerResponse, status: number, message: object) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    return true;
  };

  test('with status 404 and an error for the call is an answer: the tool is not run again', async () => {
    const error = { code: -32_000, message: 'paid, but the receipt was not found' };
    const { client, statuses, calls } = await oldClientOf((response, id) => say(response, 404, { id, error }));
    await expect(client.callTool('meta', {})).rejects.toThrow(error.message);
    expect([calls(), statuses]).toEqual([1, ['it: connected']]);
  });

  test.each([
    [404, 'Could not find session'],
    [400, 'No transport found for sessionId'],
  ])('with status %i, because the session is unknown, repeats the call', async (status, text) => {
    const { client, statuses, calls } = await oldClientOf((response, _id, call) => {
      if (call === 1) response.writeHead(status).end(text);
      return call === 1;
    });
    expect(JSON.parse(textOfResult(await client.callTool('meta', {})))).toHaveProperty('progressToken');
    expect([calls(), statuses]).toEqual([2, ['it: connected', 'it: lost', 'it: connected']]);
  });

  test.each([404, 405])('with status %i of the handshake is not blamed on the path', async (status) => {
    const { client } = await oldClientOf((response) => {
      response.writeHead(status).end('unknown tenant');
      return true;
    }, 'initialize');
    await client.listTools();
    const reason = client.status.get('it')?.reason;
    expect(reason).toContain(`it answered ${status} to a request: unknown tenant`);
    expect(reason).not.toContain('path');
  });

  test('with status 401 of the handshake says that a login is needed', async () => {
    const { client } = await oldClientOf((response) => {
      response.writeHead(401).end();
      return true;
    }, 'initialize');
    await client.listTools();
    expect(client.status.get('it')?.reason).toContain('requires a login');
  });

  test('with status 502, as proxies send it, leaves the outcome unknown', async () => {
    const { client } = await oldClientOf((response) => say(response, 502, { id: null, error: {} }));
    await expect(client.callTool('meta', {})).rejects.toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
  });
});

describe('an answer over HTTP', () => {
  test('whose text mentions a refused connection is still an answer: the tool is not run again', async () => {
    let runs = 0;
    const answer = json({ error: { code: -32_603, message: 'connect ECONNREFUSED 10.0.0.7:5432' } });
    const { client, statuses } = await clientOf({
      'tools/call': (response, id) => {
        runs++;
        return answer(response, id);
      },
    });
    await expect(client.callTool('it', {})).rejects.toThrow('ECONNREFUSED 10.0.0.7');
    expect([runs, statuses]).toEqual([1, ['it: connected']]);
  });

  test.each([
    [400, 'paid, but the session could not be saved'],
    [404, 'paid, but the receipt was not found'],
  ])(
    'with status %i and an error for the call is still an answer: the tool is not run again',
    async (status, message) => {
      let runs = 0;
      const answer = json({ error: { code: -32_000, message } });
      const { client, statuses } = await clientOf({
        'tools/call': (response, id) => {
          runs++;
          response.statusCode = status;
          return answer(response, id);
        },
      });
      await expect(client.callTool('it', {})).rejects.toThrow(message);
      expect([runs, statuses]).toEqual([1, ['it: connected']]);
    },
  );

  test.each<[string, Answer]>([
    ['is only a status', (response) => response.writeHead(202).end()],
    ['is an empty list', (response) => response.setHeader('content-type', 'application/json').end('[]')],
    ['is for another call', json({ id: 99, result: { content: [] } })],
  ])('that %s ends the call, whatever its timeout', async (_what, answer) => {
    const { client } = await clientOf({ 'tools/call': answer }, { timeoutMs: Infinity, maxTimeoutMs: Infinity });
    await expect(client.callTool('it', {})).rejects.toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
  });

  test('that never arrives leaves no connection open after the call is cancelled', async () => {
    let open = 0;
    const never: Answer = (response) => {
      open++;
      response.on('close', () => open--);
    };
    const { client } = await clientOf({ 'tools/call': never }, { timeoutMs: 50 });
    await expect(client.callTool('it', {})).rejects.toMatchObject({ code: 'TOOL_TIMEOUT' });
    await eventually(() => expect(open).toBe(0));
  });

  test('on a stream that the server never ends leaves no connection open', async () => {
    let open = 0;
    const endless: Answer = (response, id) => {
      open++;
      response.on('close', () => open--);
      response.setHeader('content-type', 'text/event-stream');
      response.write(`id: 5\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
    };
    const { client, host, statuses } = await clientOf({ 'tools/call': endless });
    for (let call = 0; call < 3; call++) expect(await client.callTool('it', {})).toEqual({ content: [] });
    await eventually(() => expect(open).toBe(0));
    expect(host.seen.filter(({ headers }) => 'last-event-id' in headers)).toEqual([]);
    expect(statuses).toEqual(['it: connected']);
  });

  test('that is followed by more messages is not requested again', async () => {
    const talkingOn: Answer = (response, id) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
      const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'by the way' } };
      setTimeout(() => response.end(`retry: 1\nid: 5\ndata: ${JSON.stringify(log)}\n\n`), 20);
    };
    const { client, lines, host } = await clientOf({ 'tools/call': talkingOn });
    expect(await client.callTool('it', {})).toEqual({ content: [] });
    await eventually(() => expect(lines).toContain('[it] by the way'));
    await new Promise((resolve) => setTimeout(resolve, 200)); // longer than the server asks to wait
    expect(host.seen.filter(({ headers }) => 'last-event-id' in headers)).toEqual([]);
  });

  test.each([502, 503, 504, 520, 524, 527])(
    'with status %i, as proxies send it, leaves the outcome unknown',
    async (status) => {
      const { client, statuses } = await clientOf({
        'tools/call': (response) => refuse(response, status, 'no answer'),
      });
      await expect(client.callTool('it', {})).rejects.toMatchObject({ code: 'TOOL_OUTCOME_UNKNOWN' });
      expect(statuses).toEqual(['it: connected', 'it: lost']);
    },
  );

  test('that is cut off twice is an error that names the server', async () => {
    const cut: Answer = (response) => response.destroy();
    const { client } = await clientOf({ 'tools/list': readOnly, 'tools/call': cut });
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'MCP_REQUEST_FAILED',
      message: expect.stringMatching(/^The connection to MCP server "it" was lost: fetch failed/),
    });
  });
});

test('the total timeout of a call covers all its attempts', async () => {
  let runs = 0;
  const cutLate: Answer = (response) => void (++runs === 1 && setTimeout(() => response.destroy(), 900));
  const { client } = await clientOf({ 'tools/list': readOnly, 'tools/call': cutLate }, { maxTimeoutMs: 3_000 });
  await client.listTools();
  const begun = performance.now();
  await expect(client.callTool('it', {})).rejects.toThrow('ran longer than 3000 ms');
  expect([runs, performance.now() - begun < 3_800]).toEqual([2, true]);
});

test('a call can be aborted while its tool is looked up', async () => {
  let isMute = false;
  const initialize: Answer = (response) => isMute || refuse(response, 500, 'not yet');
  const { client } = await clientOf({ initialize });
  expect(await client.listTools()).toEqual([]);
  isMute = true;
  await expect(client.callTool('it', {}, { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/);
});

describe('the list of tools', () => {
  test('is the one requested last, even if an older one arrives after it', async () => {
    const lists: (() => void)[] = [];
    let version = 0;
    const list: Answer = (response, id) => {
      const answer = listing({ inputSchema: { type: 'object', title: `v${++version}` } });
      lists.push(() => answer(response, id));
      if (version !== 2) lists.at(-1)?.();
    };
    const changed = { method: 'notifications/tools/list_changed' };
    const { client } = await clientOf({ 'tools/list': list, 'tools/call': streamed({ content: [] }, changed) });
    await client.callTool('it', {});
    const older = client.listTools();
    await eventually(() => expect(version).toBe(2));
    await client.callTool('it', {});
    expect(await client.listTools()).toMatchObject([{ inputSchema: { title: 'v3' } }]);
    lists[1]?.();
    await older;
    expect(await client.getToolInputFormat('it')).toMatchObject({ title: 'v3' });
  });

  test('is read again after its TTL if the server does not announce changes', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const host = await open(startUntoldHost());
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
    const names = async () => {
      return (await client.listTools()).map(({ name }) => name);
    };
    expect(await names()).toEqual(['first']);
    host.grow();
    expect(await names()).toEqual(['first']);
    vi.setSystemTime(Date.now() + 10_001);
    expect(await names()).toEqual(['first', 'grown']);
    host.refuseLists();
    vi.setSystemTime(Date.now() + 10_001);
    expect(await names()).toEqual(['first', 'grown']);
    expect([host.lists(), statuses]).toEqual([3, ['it: connected']]);
  });

  describe('that does not end', () => {
    const page = (response: ServerResponse, id: number, nextCursor: string) =>
      json({ result: { tools: [{ name: `t${nextCursor}`, inputSchema: { type: 'object' } }], nextCursor } })(
        response,
        id,
      );

    test.each<[string, Answer]>([
      ['never begins', () => {}],
      ['always has one more page', (response, id) => setTimeout(() => page(response, id, `${id}`), 100)],
    ])(
      'because it %s fails its server after connectTimeoutMs; the tools of other servers are available',
      async (_what, list) => {
        const host = await open(plainHost({ 'tools/list': list }));
        const mcpServers = { mute: { url: host.url, connectTimeoutMs: 1_500 }, here: { server: modernServer() } };
        const { client, statuses, reasons } = testClient({ mcpConfig: { mcpServers } });
        const [tools] = await Promise.all([client.listTools(), client.listTools()]);
        expect(tools.map(({ name }) => name)).toContain('here_echo');
        expect(statuses.filter((status) => status.startsWith('mute'))).toEqual(['mute: connected', 'mute: failed']);
        expect(reasons.at(-1)).toBe('Listing the tools of MCP server "mute" did not end within 1500 ms.');
        expect(host.seen.filter(({ method }) => method === 'tools/list').length).toBeLessThan(64);
      },
    );

    test('after 64 pages is an error that says so', async () => {
      const { client, reasons } = await clientOf({ 'tools/list': (response, id) => page(response, id, `${id}`) });
      expect(await client.listTools()).toEqual([]);
      expect(reasons.at(-1)).toBe('The list of tools of MCP server "it" exceeds the limit of 64 pages.');
    });
  });

  test('is read again after a failure without delaying a step', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    let answer: Answer = json({ error: { code: -32_603, message: 'not yet' } });
    const { client, statuses } = await clientOf({ 'tools/list': (response, id) => answer(response, id) });
    expect(await client.listTools()).toEqual([]);
    const lists: (() => void)[] = [];
    answer = (response, id) => void lists.push(() => listing({})(response, id));
    vi.setSystemTime(Date.now() + 1_001);
    expect(await client.listTools()).toEqual([]);
    await eventually(() => expect(lists).toHaveLength(1));
    expect(await client.listTools()).toEqual([]);
    const { revision } = client;
    lists[0]?.();
    await eventually(() => expect(client.revision).toBeGreaterThan(revision));
    expect(await client.listTools()).toMatchObject([{ name: 'it' }]);
    expect([lists.length, statuses]).toEqual([1, ['it: connected', 'it: failed', 'it: connected']]);
  });

  test('is read again if it failed after its only caller had stopped waiting', async () => {
    const server = new McpServer({ name: 'slow', version: '1' });
    server.registerTool('it', {}, () => ({ content: [{ type: 'text', text: 'done' }] }));
    const { client, statuses } = testClient({ mcpConfig: server });
    const [tool] = await client.listTools();
    const begun = Promise.withResolvers<void>();
    const failing = Promise.withResolvers<never>();
    server.server.setRequestHandler('tools/list', () => {
      begun.resolve();
      return failing.promise;
    });
    const { revision } = client;
    server.sendToolListChanged();
    await eventually(() => expect(client.revision).toBeGreaterThan(revision));
    const leaving = new AbortController();
    const left = client.listTools(leaving.signal);
    await begun.promise;
    leaving.abort(new Error('no longer wanted'));
    await expect(left).rejects.toThrow('no longer wanted');
    failing.reject(new Error('not now'));
    expect(textOfResult(await client.callTool('it', {}))).toBe('done'); // which is heard after the failure
    server.server.setRequestHandler('tools/list', () => ({ tools: [tool ?? expect.fail('no tool was listed')] }));
    expect(await client.listTools()).toEqual([tool]);
    expect(statuses).toEqual(['local: connected']);
  });

  test('is returned even if onToolRenamed throws', async () => {
    const mcpServers = { a: { server: modernServer() }, b: { server: modernServer() } };
    const { client, lines } = testClient({
      mcpConfig: { mcpServers },
      toolPrefix: 'never',
      onToolRenamed: () => {
        throw new Error('no room in the log');
      },
    });
    expect((await client.listTools()).filter(({ name }) => name.startsWith('echo'))).toHaveLength(2);
    expect(lines.join()).toContain('no room in the log');
  });
});

test('progress without a message is accepted', async () => {
  const server = new McpServer({ name: 'mumbling', version: '1' });
  server.registerTool('it', { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
    await mcpReq.notify({ method: 'notifications/progress' } as never);
    return { content: [{ type: 'text', text: 'done' }] };
  });
  const { client } = testClient({ mcpConfig: server });
  expect(textOfResult(await client.callTool('it', {}))).toBe('done');
});

test('closing a client clears the timers that would keep its last run alive', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { client } = testClient({ mcpConfig: modernServer() });
  await client.callTool('echo', { text: 'a' });
  await client.close();
  expect(vi.getTimerCount()).toBe(0);
});
