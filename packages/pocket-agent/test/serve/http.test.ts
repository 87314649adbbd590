// An agent served over HTTP, as its clients meet it: every kind of client, both eras, guards, sessions, the end.
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type AgentServerOptions, type HttpServerOptions, PocketAgent, type PocketAgentOptions } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { add, scriptedAgent, silent } from '../helpers.ts';
import { type ClientKind, clientKinds, connect, conversationIn, type Talker, textOf } from './clients.ts';

type Script = ConstructorParameters<typeof ScriptedModel>[0];
type Prompt = ScriptedModel['calls'][number]['prompt'];

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Answers with all that users have said in the conversation, so that the answer shows who hears whom. */
const recall = ({ prompt }: { prompt: Prompt }) =>
  prompt
    .flatMap((message) => (message.role === 'user' ? message.content : []))
    .map((part) => (part.type === 'text' ? part.text : part.type))
    .join(' + ');

const recalls = (count: number): Script => Array.from({ length: count }, () => recall);

async function serve(
  script: Script,
  options: AgentServerOptions & HttpServerOptions & { agent?: Partial<PocketAgentOptions> } = {},
) {
  const { conversation, maxConversations, maxRuns, agent: agentOptions, ...http } = options;
  const { agent, model } = scriptedAgent(script, agentOptions);
  return { ...(await serveAgent(agent, { conversation, maxConversations, maxRuns }, http)), model };
}

async function serveAgent(agent: PocketAgent<unknown>, options: Undefinable<AgentServerOptions>, http = {}) {
  const { conversation, maxConversations, maxMemoryBytes, maxRuns } = options;
  const server = agent.asMcpServer({
    ...(maxRuns ? { maxRuns } : {}),
    ...(conversation ? { conversation } : {}),
    ...(maxConversations ? { maxConversations } : {}),
    ...(maxMemoryBytes ? { maxMemoryBytes } : {}),
  });
  const listening = await server.listen(http);
  cleanUps.push(
    () => agent.close(),
    () => server.close(),
  );
  return { agent, server, listening, url: listening.url };
}

type Undefinable<Type> = { [Key in keyof Type]?: Type[Key] | undefined };

async function client(kind: ClientKind, url: string, token?: string): Promise<Talker> {
  const talker = await connect(kind, token ? { url, token } : { url });
  cleanUps.push(() => talker.close());
  return talker;
}

/** A model that never answers, with promises for its call and its abort. */
function endlessModel() {
  const asked = Promise.withResolvers<AbortSignal>();
  const script: Script = [
    ({ abortSignal }) => {
      if (abortSignal) asked.resolve(abortSignal);
      return { text: 'too late', delayMs: 60_000 };
    },
  ];
  const stopped = asked.promise.then(async (signal) => {
    if (!signal.aborted) await once(signal, 'abort');
  });
  return { script, asked: asked.promise, stopped };
}

test('closing the connection of a call stops the model, and the session stays usable', async () => {
  const { script, asked, stopped } = endlessModel();
  const { url } = await serve([...script, recall]);
  const leaving = new AbortController();
  const transport = new HttpTransportV1(new URL(url), {
    fetch: (target, init) => {
      const isLeft = String(init?.body).includes('think');
      return fetch(target, isLeft ? { ...init, signal: leaving.signal } : init);
    },
  });
  const caller = new ClientV1({ name: 'tests', version: '1' });
  await caller.connect(transport as TransportV1);
  cleanUps.push(() => caller.close());
  const say = (message: string) => caller.callTool({ name: 'Tester-message', arguments: { message } });
  const said = say('think').catch(() => 'left');
  await asked;
  leaving.abort();
  await stopped;
  const { content } = await say('and now?');
  expect(content).toEqual([{ type: 'text', text: 'think + and now?' }]);
  await caller.close();
  expect(await said).toBe('left');
});

describe.each(clientKinds)('with %s', (kind) => {
  test('an agent is one tool, and the result is its answer', async () => {
    const { url, model } = await serve(['Hello there.']);
    const talker = await client(kind, url);
    expect(await talker.toolNames()).toEqual(['Tester-message']);
    expect(textOf(await talker.say('Hi'))).toBe('Hello there.');
    model.assertDone();
  });

  test('two clients have separate conversations', async () => {
    const { url } = await serve(recalls(2));
    const [first, second] = [await client(kind, url), await client(kind, url)];
    await first.say('my secret', { contextId: 'first' });
    expect(textOf(await second.say('what do you know?', { contextId: 'second' }))).toBe('what do you know?');
  });

  test('a client continues its conversation', async () => {
    const { url, agent } = await serve(recalls(2));
    const talker = await client(kind, url);
    await talker.say('one', { contextId: 'mine' });
    expect(textOf(await talker.say('two', { contextId: 'mine' }))).toBe('one + two');
    expect(agent.messages).toEqual([]);
  });

  test('one client keeps the conversations of two users apart by context_id', async () => {
    const { url } = await serve(recalls(3));
    const talker = await client(kind, url);
    await talker.say('from Ann', { contextId: 'ann' });
    expect(textOf(await talker.say('from Bob', { contextId: 'bob' }))).toBe('from Bob');
    expect(textOf(await talker.say('again', { contextId: 'ann' }))).toBe('from Ann + again');
  });

  test('a shared conversation is that of the agent itself', async () => {
    const { url, agent } = await serve(recalls(2), { conversation: 'shared' });
    const [first, second] = [await client(kind, url), await client(kind, url)];
    await first.say('one');
    expect(textOf(await second.say('two'))).toBe('one + two');
    expect(agent.messages).toHaveLength(4);
  });

  test('the steps of the agent are reported as progress', async () => {
    const script: Script = [{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'Three.'];
    const { url } = await serve(script, { agent: { tools: [add] } });
    const talker = await client(kind, url);
    const progress: (string | undefined)[] = [];
    await talker.say('1 + 2?', { onProgress: (message) => progress.push(message) });
    // the SDKs lose progress that arrives together with the result
    expect(progress.slice(0, 2)).toEqual(['Tester calls add', 'Tester: add done']);
  });

  test('a client that cancels stops the model', async () => {
    const { script, asked, stopped } = endlessModel();
    const { url } = await serve(script);
    const talker = await client(kind, url);
    const controller = new AbortController();
    const said = talker.say('think', { signal: controller.signal });
    await asked;
    controller.abort(new Error('never mind'));
    await expect(said).rejects.toThrow();
    await stopped;
  });

  test('a client that disconnects stops the model', async () => {
    const { script, asked, stopped } = endlessModel();
    const { url } = await serve(script);
    const talker = await connect(kind, { url });
    const said = talker.say('think').catch(() => 'left');
    await asked;
    await talker.close();
    expect(await said).toBe('left');
    await stopped;
  });

  test('an agent that fails answers with an error that names its code', async () => {
    const { url } = await serve([{ error: new Error('the model is on strike') }], {
      agent: { limits: { modelRetries: 0 } },
    });
    const talker = await client(kind, url);
    const answer = await talker.say('work');
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toBe('The agent failed (MODEL_FAILED); its log says why.');
  });

  test('only clients with the token get in', async () => {
    const { url } = await serve(['Welcome.'], { token: 'right' });
    expect(textOf(await (await client(kind, url, 'right')).say('Hi'))).toBe('Welcome.');
    if (kind === 'PocketAgentClient') {
      expect(await (await client(kind, url, 'wrong')).toolNames()).toEqual([]);
    } else {
      await expect(connect(kind, { url, token: 'wrong' })).rejects.toThrow();
      await expect(connect(kind, { url })).rejects.toThrow();
    }
  });
});

describe('answers', () => {
  class Answering extends PocketAgent<unknown> {
    static answer: unknown;
    override async run(): Promise<unknown> {
      return Answering.answer;
    }
  }

  test.each([
    ['a text', 'plain', { content: [{ type: 'text', text: 'plain' }] }],
    ['an object', { a: 1 }, { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } }],
    ['nothing', undefined, { content: [{ type: 'text', text: 'No result returned' }] }],
    [
      'a tool result',
      { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }], isError: true },
      { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }], isError: true },
    ],
  ])('run() may return %s', async (_what, answer, result) => {
    Answering.answer = answer;
    const agent = new Answering({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Tester' }, logger: silent });
    const { url } = await serveAgent(agent, {});
    expect(await (await client('SDK v2 in 2025', url)).say('go')).toMatchObject(result);
  });

  test('run() may not return a list', async () => {
    Answering.answer = [1];
    const agent = new Answering({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Tester' }, logger: silent });
    const { url } = await serveAgent(agent, {});
    expect(await (await client('SDK v2 in 2026', url)).say('go')).toMatchObject({ isError: true });
  });

  test('every client has its own sub-agents, which report progress with their path', async () => {
    const { agent: helper } = scriptedAgent(
      [
        { toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] },
        'Three, says the helper.',
        { text: 'for another client' },
      ],
      { agentConfig: { name: 'Helper' }, tools: [add] },
    );
    const ask = { toolCalls: [{ name: 'Helper-message', arguments: { message: 'count' } }] };
    const { url } = await serve([ask, 'It is three.', ask, 'Done.'], { agent: { subAgents: [helper] } });
    const progress: (string | undefined)[] = [];
    const first = await client('PocketAgentClient', url);
    const answer = await first.say('1 + 2?', { contextId: 'first', onProgress: (message) => progress.push(message) });
    expect(textOf(answer)).toBe('It is three.');
    expect(progress).toContain('Tester → Helper calls add');
    await (await client('SDK v1', url)).say('and me?');
    expect(helper.messages).toEqual([]);
  });
});

describe('the HTTP endpoint', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  };

  /** A raw request, because fetch sets Host itself. */
  async function send(url: string, headers: Record<string, string> = {}, { method = 'POST', body = '' } = {}) {
    const sent = request(url, {
      method,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    });
    sent.end(method === 'POST' ? body || JSON.stringify(initialize) : undefined);
    const [response] = await once(sent, 'response');
    response.resume();
    return { status: response.statusCode, headers: response.headers, end: () => sent.destroy() };
  }

  const sessionOf = (headers: IncomingHttpHeaders) => ({
    'mcp-session-id': String(headers['mcp-session-id']),
    'mcp-protocol-version': '2025-11-25',
  });

  test('listens only on this machine by default', async () => {
    const { url } = await serve([]);
    expect(new URL(url).hostname).toBe('127.0.0.1');
    expect(await send(url)).toMatchObject({ status: 200 });
    expect(await send(url, { host: 'localhost' })).toMatchObject({ status: 200 });
  });

  test('refuses an unknown Host, Origin and path', async () => {
    const { url } = await serve([]);
    expect(await send(url, { host: 'evil.example.com' })).toMatchObject({ status: 403 });
    expect(await send(url, { origin: 'http://evil.example.com' })).toMatchObject({ status: 403 });
    expect(await send(url, { origin: 'http://localhost:5173' })).toMatchObject({ status: 200 });
    expect(await send(new URL('/other', url).href)).toMatchObject({ status: 404 });
  });

  test('accepts other hosts, origins and paths that are configured', async () => {
    const { url } = await serve([], {
      path: '/agent',
      allowedHosts: ['agent.example.com'],
      allowedOrigins: ['example.com'],
    });
    expect(new URL(url).pathname).toBe('/agent');
    expect(await send(url, { host: 'agent.example.com', origin: 'https://example.com' })).toMatchObject({
      status: 200,
    });
    expect(await send(url)).toMatchObject({ status: 403 });
  });

  test('answers 401 without the token and says what to send', async () => {
    const { url } = await serve([], { token: 'right' });
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic cmlnaHQ=' }]) {
      const refused = await send(url, { ...headers } as Record<string, string>);
      expect(refused.status).toBe(401);
      expect(refused.headers['www-authenticate']).toMatch(/^Bearer/);
    }
    expect(await send(url, { authorization: 'Bearer right' })).toMatchObject({ status: 200 });
  });

  test('a missing key is known before the server listens', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', '');
    cleanUps.push(async () => vi.unstubAllEnvs());
    await using agent = new PocketAgent({ llmModel: 'anthropic/claude-sonnet-5', logger: silent });
    const text = 'Model "anthropic/claude-sonnet-5" needs a key: set ANTHROPIC_API_KEY';
    await expect(agent.asMcpServer().listen()).rejects.toThrow(text);
    await expect(agent.asMcpServer().serveStdio()).rejects.toThrow(text);
  });

  test('does not begin to listen if its agent is closed while the model is loaded', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'key');
    cleanUps.push(async () => vi.unstubAllEnvs());
    const agent = new PocketAgent({ name: 'Poet', llmModel: 'anthropic/claude-sonnet-5', logger: silent });
    const server = agent.asMcpServer();
    cleanUps.push(() => server.close());
    const listening = expect(server.listen()).rejects.toThrow('The server of Poet was closed');
    await agent.close();
    await listening;
  });

  test('refuses an empty token as a configuration error', async () => {
    const { agent } = scriptedAgent([]);
    const server = agent.asMcpServer();
    await expect(server.listen({ token: '' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const unset = { token: process.env.POCKET_AGENT_NOT_SET } as { token: string };
    await expect(server.listen(unset)).rejects.toThrow('The "token" of the server is undefined; set it');
  });

  test('refuses limits that are not numbers, or not greater than 0', async () => {
    const { agent } = scriptedAgent([]);
    for (const wrong of [Number.NaN, 0, '5']) {
      for (const key of ['maxConversations', 'maxRuns', 'maxRunsPerCaller']) {
        expect(() => agent.asMcpServer({ [key]: wrong })).toThrow(`${key} must be a whole number greater than 0`);
      }
      for (const key of ['sessionIdleMs', 'maxSessions', 'maxRequestBodySize']) {
        await expect(agent.asMcpServer().listen({ [key]: wrong })).rejects.toThrow(
          new RegExp(`${key} must be a .*number`),
        );
      }
    }
  });

  test('keeps idle sessions if sessionIdleMs is Infinity, without a timer that never rests', async () => {
    const intervals = vi.spyOn(globalThis, 'setInterval');
    await serve([], { sessionIdleMs: Number.POSITIVE_INFINITY });
    const times = intervals.mock.calls.map(([, ms]) => ms);
    intervals.mockRestore();
    expect(times).toContain(2 ** 31 - 1);
  });

  test('refuses an undefined token instead of opening the server', async () => {
    const { agent } = scriptedAgent([]);
    const server = agent.asMcpServer();
    for (const tokens of [undefined, null]) {
      const refused = expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: `The "tokens" of the server is ${tokens}; set it, or leave the option out.`,
      });
      await expect(server.listen({ tokens } as never)).rejects.toEqual(refused);
    }
  });

  test('rejects listen() if the port is taken', async () => {
    const { url, server } = await serve([]);
    await expect(server.listen({ port: Number(new URL(url).port) })).rejects.toThrow('EADDRINUSE');
  });

  test('warns when it listens on other addresses without a token', async () => {
    const warnings: string[] = [];
    const logger = { ...silent, warn: (message: string) => void warnings.push(message) };
    await serve([], { host: '0.0.0.0', token: 'right', agent: { logger } });
    await serve([], { host: '0.0.0.0', tokens: { right: 'reader' }, agent: { logger } });
    expect(warnings).toEqual([]);
    for (const name of ['desk', undefined])
      await serve([], { host: '0.0.0.0', agent: { logger, agentConfig: { llmModel: 'demo', name } } });
    expect(warnings).toEqual([
      'Without a token, everyone who can reach 0.0.0.0 may use desk.',
      'Without a token, everyone who can reach 0.0.0.0 may use an agent without a name.',
    ]);
  });

  test('DELETE ends a session, and a request without one is refused', async () => {
    const { url } = await serve([]);
    const opened = await send(url);
    const session = sessionOf(opened.headers);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    expect(await send(url, session, { body })).toMatchObject({ status: 200 });
    expect(await send(url, session, { method: 'DELETE' })).toMatchObject({ status: 200 });
    expect(await send(url, session, { body })).toMatchObject({ status: 404 });
    expect(await send(url, {}, { body })).toMatchObject({ status: 400 });
  });

  test('gives a client that lost its event stream a new one', async () => {
    const { url } = await serve([]);
    const opened = await send(url);
    const session = sessionOf(opened.headers);
    const stream = await send(url, session, { method: 'GET' });
    expect(stream.status).toBe(200);
    expect(await send(url, session, { method: 'GET' })).toMatchObject({ status: 409 });
    stream.end();
    await expect.poll(async () => (await send(url, session, { method: 'GET' })).status, { interval: 20 }).toBe(200);
  });

  test('limits the number of sessions: the one idle longest is closed', async () => {
    const { url } = await serve([], { maxSessions: 2 });
    const list = { body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }) };
    const flood = await Promise.all(Array.from({ length: 10 }, () => send(url)));
    const alive = [];
    for (const { status, headers } of flood) {
      if (status === 200 && (await send(url, sessionOf(headers), list)).status === 200) alive.push(sessionOf(headers));
    }
    const [first = {}, second = {}, ...more] = alive;
    expect(more).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 20)); // time has to pass between two uses to tell them apart
    expect(await send(url, first, list)).toMatchObject({ status: 200 });
    const third = await send(url);
    expect(third.status).toBe(200);
    expect(await send(url, second, list)).toMatchObject({ status: 404 });
    expect(await send(url, first, list)).toMatchObject({ status: 200 });
    // who listens is not idle
    for (const session of [first, sessionOf(third.headers)]) {
      expect(await send(url, session, { method: 'GET' })).toMatchObject({ status: 200 });
    }
    expect(await send(url)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(await send(url, first, list)).toMatchObject({ status: 200 });
  });

  test('ends an unused session; one that works or listens stays open', async () => {
    const { script, asked, stopped } = endlessModel();
    const sessionIdleMs = 100 * Number(process.env.TEST_PATIENCE ?? 1);
    const { url } = await serve(script, { sessionIdleMs });
    const busy = await client('SDK v1', url);
    const said = busy.say('think').catch(() => 'ended');
    await asked;
    const opened = await send(url);
    const idle = sessionOf(opened.headers);
    const ask = async () => (await send(url, { ...idle, accept: 'nothing' }, { method: 'GET' })).status;
    // asking uses the session, so it must be left alone for longer than it may be idle
    await expect.poll(ask, { interval: 4.5 * sessionIdleMs }).toBe(404);
    expect(await busy.toolNames()).toEqual(['Tester-message']);
    await busy.close();
    await stopped;
    await said;
  });
});

describe('a client of the 2026 era without context_id', () => {
  test('continues a conversation by the id that came with the answer', async () => {
    const { url } = await serve(recalls(4));
    const talker = await client('SDK v2 in 2026', url);
    const first = await talker.say('one');
    expect(first.content[0]?.text).toBe('one');
    const conversationId = conversationIn(first);
    const second = await talker.say('two', { conversationId });
    expect(second.content.map(({ text }) => text)).toEqual(['one + two']);
    expect(textOf(await talker.say('three', { contextId: conversationId }))).toBe('one + two + three');
    expect((await talker.say('other')).content[0]?.text).toBe('other');
  });

  test('gets the id in _meta of every answer', async () => {
    const { url } = await serve(recalls(3));
    const talker = await client('SDK v2 in 2026', url);
    let answer = await talker.say('one');
    const conversationId = conversationIn(answer);
    for (const message of ['two', 'three']) {
      expect(answer._meta?.context_id).toBe(conversationId);
      answer = await talker.say(message, { conversationId: String(answer._meta?.context_id) });
    }
    expect(textOf(answer)).toBe('one + two + three');
  });

  test('gets an error for an unknown conversation', async () => {
    const { url, model } = await serve(recalls(1));
    const answer = await (await client('SDK v2 in 2026', url)).say('two', { conversationId: 'made up' });
    expect(answer).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Leave conversation_id out') }],
    });
    expect(model.calls).toHaveLength(0);
  });

  test('does not reach a conversation of another token', async () => {
    const { url } = await serve(recalls(2), { tokens: { ann: 'reader', bob: 'reader' } });
    const conversationId = conversationIn(await (await client('SDK v2 in 2026', url, 'ann')).say('secret'));
    const answer = await (await client('SDK v2 in 2026', url, 'bob')).say('well?', { conversationId });
    expect(answer.isError).toBe(true);
  });

  test('sees the argument conversation_id; a client with a session does not', async () => {
    const { url } = await serve([]);
    const schemaOf = async (versionNegotiation: object) => {
      const raw = new Client({ name: 'raw', version: '1' }, versionNegotiation);
      await raw.connect(new StreamableHTTPClientTransport(new URL(url)));
      cleanUps.push(() => raw.close());
      return Object.keys((await raw.listTools()).tools[0]?.inputSchema.properties ?? {});
    };
    expect(await schemaOf({ versionNegotiation: { mode: { pin: '2026-07-28' } } })).toEqual([
      'message',
      'conversation_id',
    ]);
    expect(await schemaOf({})).toEqual(['message']);
  });
});

describe('one conversation per token', () => {
  test.each(clientKinds)('continues with %s over any connection', async (kind) => {
    const { url } = await serve(recalls(3), { conversation: 'per-token', tokens: { ann: 'reader', bob: 'reader' } });
    expect(textOf(await (await client(kind, url, 'ann')).say('one'))).toBe('one');
    expect(textOf(await (await client(kind, url, 'bob')).say('other'))).toBe('other');
    expect(textOf(await (await client(kind, url, 'ann')).say('two'))).toBe('one + two');
  });

  test('is refused without tokens', async () => {
    const { agent } = scriptedAgent([]);
    cleanUps.push(() => agent.close());
    const server = agent.asMcpServer({ conversation: 'per-token' });
    await expect(server.listen()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('tokens'),
    });
  });
});

test('an unknown value of conversation is refused', () => {
  const { agent } = scriptedAgent([]);
  cleanUps.push(() => agent.close());
  const conversation = 'per-user' as 'shared';
  expect(() => agent.asMcpServer({ conversation })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('per-token') }),
  );
});

describe('the end of conversations and servers', () => {
  /** Tells how many conversations were closed. */
  class Counted extends PocketAgent {
    static closed: string[] = [];
    override async close(): Promise<void> {
      Counted.closed.push(this.agentId);
      await super.close();
    }
  }

  const counted = (script: Script) => {
    Counted.closed = [];
    return new Counted({
      agentConfig: { llmModel: new ScriptedModel(script), name: 'Tester', agentId: 'original' },
      logger: silent,
    });
  };

  test('a conversation ends with its session', async () => {
    const { url } = await serveAgent(counted(recalls(1)), {});
    const talker = await connect('SDK v2 in 2025', { url });
    await talker.say('Hi');
    expect(Counted.closed).toEqual([]);
    await talker.close();
    await expect.poll(() => Counted.closed.length).toBe(1);
    expect(Counted.closed).not.toContain('original');
  });

  test('2026 requests without a context_id leave at most maxConversations behind', async () => {
    const { url } = await serveAgent(counted(recalls(3)), { maxConversations: 1 });
    const talker = await client('SDK v2 in 2026', url);
    for (const message of ['one', 'two', 'three']) await talker.say(message);
    await expect.poll(() => Counted.closed.length).toBe(2);
  });

  test('the most recently used conversations are kept, up to maxConversations', async () => {
    const { url } = await serveAgent(counted(recalls(4)), { maxConversations: 2 });
    const talker = await client('SDK v2 in 2026', url);
    await talker.say('one', { contextId: 'a' });
    await talker.say('one', { contextId: 'b' });
    await talker.say('two', { contextId: 'a' });
    expect(Counted.closed).toHaveLength(0);
    await talker.say('one', { contextId: 'c' });
    expect(Counted.closed).toHaveLength(1);
  });

  test('the oldest conversations are dropped when all together have more than maxMemoryBytes', async () => {
    const { url } = await serveAgent(counted(recalls(6)), { maxMemoryBytes: 100_000 });
    const talkers = [await client('SDK v2 in 2026', url), await client('SDK v2 in 2025', url)] as const;
    const long = 'x'.repeat(20_000); // kept twice: as the message and as its answer
    await talkers[1].say('remember me');
    await talkers[0].say(long, { contextId: 'a' });
    await talkers[0].say(long, { contextId: 'b' });
    expect(Counted.closed).toHaveLength(0);
    await talkers[0].say(long, { contextId: 'c' });
    expect(Counted.closed).toHaveLength(2);
    expect(textOf(await talkers[0].say('well?', { contextId: 'c' }))).toBe(`${long} + well?`);
    expect(textOf(await talkers[1].say('well?'))).toBe('well?');
  });

  test('a context_id of more than 512 characters is refused', async () => {
    const { url } = await serve(recalls(1));
    const talker = await client('SDK v2 in 2026', url);
    const refused = await talker.say('Hi', { contextId: 'x'.repeat(513) });
    expect(textOf(refused)).toBe('The id of a conversation must have at most 512 characters.');
    expect(textOf(await talker.say('Hi', { contextId: 'x'.repeat(512) }))).toBe('Hi');
  });

  test('a client with many conversations does not evict those of another', async () => {
    const tokens = { greedy: 'admin', modest: 'admin' } as const;
    const { url } = await serve(recalls(6), { maxConversations: 3, tokens });
    const modest = await client('SDK v2 in 2026', url, 'modest');
    const greedy = await client('SDK v2 in 2026', url, 'greedy');
    await modest.say('remember me', { contextId: 'a' });
    for (const contextId of ['a', 'b', 'c', 'd']) await greedy.say('me too', { contextId });
    expect(textOf(await modest.say('well?', { contextId: 'a' }))).toBe('remember me + well?');
  });

  test.each(clientKinds)('one of several tokens may use a quarter of the parallel runs, with %s', async (kind) => {
    const { script, asked, stopped } = endlessModel();
    const tokens = { greedy: 'admin', modest: 'admin' } as const;
    const { url } = await serve([...script, 'Hello.', 'Welcome back.'], { maxRuns: 4, tokens });
    const [greedy, modest] = [await client(kind, url, 'greedy'), await client(kind, url, 'modest')];
    const controller = new AbortController();
    const { signal } = controller;
    const busy = greedy.say('think', { contextId: 'a', signal }).catch(() => 'cancelled');
    await asked;
    const refused = await greedy.say('me too', { contextId: 'b' });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toBe(
      'You already have 1 run of Tester, the limit for one caller; try again when one has ended.',
    );
    expect(textOf(await modest.say('Hi', { contextId: 'a' }))).toBe('Hello.');
    controller.abort();
    expect(await busy).toBe('cancelled');
    await stopped;
    const again = async () => textOf(await greedy.say('again', { contextId: 'c' }));
    await expect.poll(again, { interval: 20 }).toBe('Welcome back.');
  });

  test('a running conversation is not evicted', async () => {
    const { script, asked } = endlessModel();
    const { url } = await serveAgent(counted([...script, recall]), { maxConversations: 1 });
    const talker = await client('SDK v2 in 2026', url);
    const controller = new AbortController();
    const said = talker.say('think', { contextId: 'busy', signal: controller.signal }).catch(() => 'cancelled');
    const signal = await asked;
    await talker.say('Hi', { contextId: 'other' });
    expect(signal.aborted).toBe(false);
    controller.abort();
    expect(await said).toBe('cancelled');
  });

  test.each(clientKinds)('close() stops runs for %s, ends conversations and frees the port', async (kind) => {
    const { script, stopped, asked } = endlessModel();
    const agent = counted([...script]);
    const server = agent.asMcpServer();
    const listening = await server.listen();
    const talker = await connect(kind, { url: listening.url });
    const said = talker.say('think', { contextId: 'mine' }).catch(() => 'ended');
    await asked;
    await server.close();
    await stopped;
    expect(Counted.closed).toHaveLength(1);
    expect(Counted.closed).not.toContain('original');
    await expect(fetch(listening.url)).rejects.toThrow();
    await talker.close().catch(() => {});
    await said;
    await agent.close();
  });

  test('the agent stays usable after its server was closed, and can be served again', async () => {
    const { agent, server } = await serve(recalls(2));
    await server.close();
    expect(await agent.run('still there?')).toBe('still there?');
    const { url } = await server.listen();
    expect(textOf(await (await client('SDK v2 in 2026', url)).say('Hi', { contextId: 'x' }))).toBe('Hi');
  });
});

test('clients of both eras are notified of a changed list', async () => {
  const { listening, url } = await serve([]);
  const heard: Promise<void>[] = [];
  for (const versionNegotiation of [{ mode: 'auto' as const }, undefined]) {
    const changed = Promise.withResolvers<void>();
    heard.push(changed.promise);
    const listener = new Client(
      { name: 'listener', version: '1' },
      {
        ...(versionNegotiation ? { versionNegotiation } : {}),
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => changed.resolve() } },
      },
    );
    await listener.connect(new StreamableHTTPClientTransport(new URL(url)));
    cleanUps.push(() => listener.close());
  }
  const repeat = setInterval(() => listening.listChanged('tools'), 20);
  await Promise.all(heard);
  clearInterval(repeat);
});

test('a server that was closed is not closed again with its agent', async () => {
  const { agent } = scriptedAgent([]);
  const [first, second] = [agent.asMcpServer(), agent.asMcpServer()];
  const closed: string[] = [];
  for (const [name, server] of Object.entries({ first, second })) {
    const { close } = server;
    server.close = () => {
      closed.push(name);
      return close.call(server);
    };
  }
  await first.close();
  await agent.close();
  expect(closed).toEqual(['first', 'second']);
});
