// Servers that send more, faster or more often than they should.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { specTypeSchemas } from '@modelcontextprotocol/client';
import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { type McpServerEntry, PocketAgent, type PocketAgentClientOptions } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { type Host, listen } from '../../fixtures/servers/http-hosts.ts';
import { type Answer, json, plainHost, streamed } from '../../fixtures/servers/plain-host.ts';
import { eventually, open, stdio, testClient } from '../../fixtures/world.ts';
import { silent } from '../../helpers.ts';

const call = { toolCalls: [{ name: 'it', arguments: {} }] };

async function httpClient(answers: Record<string, Answer>, options: PocketAgentClientOptions = {}) {
  const host = await open(plainHost(answers));
  const entry = { url: host.url, waitMs: 60_000 };
  return { host, ...testClient({ ...options, mcpConfig: { mcpServers: { it: entry } } }) };
}

const values = `{"content":[],"structuredContent":{"rows":[${'{},'.repeat(250_000)}{}]}}`;
const nested = `{"content":[],"structuredContent":{"rows":${'['.repeat(1_001)}${']'.repeat(1_001)}}}`;
const TOO_MANY_VALUES = 'that exceeds the limit of 250000 values';
const TOO_DEEP = 'that exceeds the limit of 1000 nested levels';

const asJson =
  (result: string): Answer =>
  (response, id) =>
    response.setHeader('content-type', 'application/json').end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);

/** A line with a single quote, which is not part of the message, comes first. */
const asEvent =
  (result: string): Answer =>
  (response, id) =>
    response
      .setHeader('content-type', 'text/event-stream')
      .end(`: "\\\ndata: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`);

describe('a message that takes too much work to parse ends the connection', () => {
  test.each<[string, Answer, string]>([
    ['values as JSON', asJson(values), TOO_MANY_VALUES],
    ['values as an event', asEvent(values), TOO_MANY_VALUES],
    ['levels as JSON', asJson(nested), TOO_DEEP],
    ['levels as an event', asEvent(nested), TOO_DEEP],
  ])('for the number of its %s', async (_what, answer, fault) => {
    const { client } = await httpClient({ 'tools/call': answer });
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'TOOL_OUTCOME_UNKNOWN',
      cause: { message: `it sent a message ${fault}` },
    });
  });

  test.each([
    ['values', '{"content":[],"structuredContent":{"rows":[@250000@{},@{}]}}', TOO_MANY_VALUES],
    ['levels', '{"content":[],"structuredContent":{"rows":@1001@[@@1001@]@}}', TOO_DEEP],
  ])('for the number of its %s over stdio', async (_what, result, fault) => {
    const mcpServers = { it: stdio('stdio-flood.ts', result) };
    const { client } = testClient({ mcpConfig: { mcpServers } });
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'TOOL_OUTCOME_UNKNOWN',
      cause: { message: `it wrote a message to stdout ${fault}` },
    });
  });

  test('for the number of messages in a batch', async () => {
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"},';
    const batch: Answer = (response) =>
      response.setHeader('content-type', 'application/json').end(`[${ping.repeat(101)}{}]`);
    const { client } = await httpClient({ 'tools/call': batch });
    const message = 'it sent a message that exceeds the limit of 100 parts';
    await expect(client.callTool('it', {})).rejects.toMatchObject({ cause: { message } });
  });
});

test('an HTML page instead of an answer is reported with its status, even if it has many commas', async () => {
  const style = 'a { font-family: Arial, Helvetica, sans-serif }'.repeat(100);
  const page: Answer = (response) =>
    response.writeHead(404, { 'content-type': 'text/html' }).end(`<style>${style}</style><p>No page here</p>`);
  const { client } = await httpClient({ 'tools/call': page });
  const error = await client.callTool('it', {}).catch((thrown: Error) => thrown);
  expect(inspect(error)).toContain('404');
  expect(inspect(error)).not.toContain('parts');
});

test('a long string that looks like many JSON values is accepted', async () => {
  const text = '[{},"\\'.repeat(100_000);
  const { client } = await httpClient({ 'tools/call': json({ result: { content: [{ type: 'text', text }] } }) });
  expect(await client.callTool('it', {})).toMatchObject({ content: [{ text }] });
});

test('a result of more than 10,000 blocks is refused before the blocks are checked', async () => {
  const content = Array.from({ length: 10_001 }, () => ({ type: 'text' }));
  const { client } = await httpClient({ 'tools/call': json({ result: { content } }) });
  await expect(client.callTool('it', {})).rejects.toThrow('content exceeds the limit of 10000 blocks');
});

test('the size of a list of tools is limited over all its pages', async () => {
  let pages = 0;
  const page: Answer = (response, id) => {
    const from = 5_000 * pages++;
    const tools = Array.from({ length: 5_000 }, (_, index) => ({
      name: `t${from + index}`,
      inputSchema: { type: 'object' },
    }));
    json({ result: { tools, nextCursor: `${pages}` } })(response, id);
  };
  const { client, reasons } = await httpClient({ 'tools/list': page });
  expect(await client.listTools()).toEqual([]);
  expect(reasons.at(-1)).toBe(
    'The list of tools of MCP server "it" exceeds the limit of 20000 tools or 20000000 characters.',
  );
  expect(pages).toBeLessThan(8);
});

describe('the schemas in a list of tools', () => {
  const toolOf = (properties: unknown) => ({ name: 'it', inputSchema: { type: 'object' as const, properties } });

  test('arrive as the server sent them', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', enum: ['x', null] }, properties: { properties: {} } },
      required: ['a'],
      additionalProperties: false,
    };
    const bare = { type: 'object' };
    const tools = [
      { name: 'both', inputSchema: schema, outputSchema: schema },
      { name: 'bare', inputSchema: bare },
    ];
    const { client } = await httpClient({ 'tools/list': json({ result: { tools } }) });
    const [both, other] = await client.listTools();
    const texts = [both?.inputSchema, both?.outputSchema, other?.inputSchema].map((each) => JSON.stringify(each));
    expect(texts).toEqual([schema, schema, bare].map((each) => JSON.stringify(each)));
  });

  test('are refused if their properties are not an object', async () => {
    const tools = [toolOf(['a'])];
    const { client, reasons } = await httpClient({ 'tools/list': json({ result: { tools } }) });
    expect(await client.listTools()).toEqual([]);
    expect(reasons.at(-1)).toContain('tools.0.inputSchema.properties');
  });

  test('are not checked value by value, which would block the event loop', async () => {
    const properties = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`p${index}`, { a: {} }]));
    const list = { tools: [toolOf(properties)] };
    const text = JSON.stringify(list);
    const checking = cpuMs(() => specTypeSchemas.ListToolsResult['~standard'].validate(list));
    const warmedUp = await httpClient({}); // loads modules
    await warmedUp.client.listTools();
    const { client } = await httpClient({ 'tools/list': asJson(text) });
    const turn = await longestTurn(() => client.listTools());
    expect(turn).toBeLessThan(checking);
  });
});

function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** The most CPU time in milliseconds that one turn of the event loop takes. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  const done = work();
  let isOver = false;
  done.finally(() => {
    isOver = true;
  });
  let before = process.threadCpuUsage();
  while (!isOver) {
    await setImmediate();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  }
  await done;
  return longest;
}

describe('messages that arrive together', () => {
  const log = { method: 'notifications/message', params: { level: 'info', data: 'x' } };
  const together = streamed({ content: [] }, ...Array.from({ length: 20 }, () => log));

  test.each<[string, () => Promise<Host | McpServerEntry>]>([
    ['over HTTP', () => open(plainHost({ 'tools/call': together }))],
    ['over stdio', async () => stdio('stdio-flood.ts', 'logs')],
  ])('%s let other work run in between', async (_how, start) => {
    const started = await start();
    const heardInTurn: number[] = [];
    let turn = 0;
    const logHandler = () => {
      heardInTurn.push(turn);
      const until = performance.now() + 11;
      while (performance.now() < until); // a handler that takes its time
    };
    const entry = 'seen' in started ? { url: started.url } : started;
    const { client } = testClient({ mcpConfig: { mcpServers: { it: entry } }, logHandler });
    await client.listTools();
    const called = client.callTool('it', {});
    let isOver = false;
    called.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      turn++;
      await setImmediate();
    }
    expect(heardInTurn).toHaveLength(20);
    expect(new Set(heardInTurn).size).toBeGreaterThanOrEqual(5);
  });
});

describe('requests of a server that does not read our answers end the connection', () => {
  const message = 'it sent requests without reading our answers to the last 250';

  test('over stdio', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-flood.ts', 'pings') } } });
    await expect(client.callTool('it', {})).rejects.toMatchObject({ cause: { message } });
  });

  test('over HTTP', async () => {
    const pings: Answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      for (let id = 1; id < 300; id++) response.write(`data: {"jsonrpc":"2.0","id":${id},"method":"ping"}\n\n`);
    };
    const host = await open(
      listen(undefined, (_request, response, body) => answerOrHang(body, response, { 'tools/call': pings })),
    );
    const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url, waitMs: 60_000 } } } });
    await expect(client.callTool('it', {})).rejects.toMatchObject({ cause: { message } });
  });
});

/** Takes requests and notifications; POSTs with answers of the client hang. */
function answerOrHang(body: unknown, response: ServerResponse, answers: Record<string, Answer>): unknown {
  const { id, method } = (body ?? {}) as { id?: number; method?: string };
  if (!body) return response.writeHead(405).end();
  if (method === undefined) return undefined;
  if (id === undefined) return response.writeHead(202).end();
  const result = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } },
    'tools/list': { tools: [{ name: 'it', inputSchema: { type: 'object' } }] },
  }[method];
  if (result) return json({ result })(response, id);
  return answers[method]?.(response, id) ?? response.writeHead(400).end();
}

/** Its tool `it` does `work` with what a server may ask of its client, and answers with what came of it. */
function asker(work: (context: ServerContext, server: McpServer) => Promise<string>): () => McpServer {
  return () => {
    const server = new McpServer({ name: 'asker', version: '1' }, { capabilities: { logging: {} } });
    server.registerTool('it', {}, async (context) => ({
      content: [{ type: 'text', text: await work(context, server) }],
    }));
    return server;
  };
}

test('at most 100 questions of a server are open at a time', async () => {
  const form = { message: 'Name?', requestedSchema: { type: 'object' as const, properties: {} } };
  const answer = Promise.withResolvers<{ action: 'decline' }>();
  const server = asker(async (_context, { server }) => {
    const asked = Array.from({ length: 101 }, () => server.elicitInput(form));
    const refused = await asked.at(-1)?.catch((error: Error) => error.message);
    answer.resolve({ action: 'decline' });
    const others = await Promise.all(asked.slice(0, 100));
    return `${others.length} answered, then: ${refused}`;
  });
  const { client } = testClient({
    mcpConfig: { mcpServers: { it: { server } } },
    elicitationHandler: () => answer.promise,
  });
  expect(JSON.stringify(await client.callTool('it', {}))).toContain(
    '100 answered, then: This client answers at most 100 requests of a server at a time.',
  );
});

test('sampling requests of a server are limited even if the agent has no budget', async () => {
  const server = asker(async (_context, { server }) => {
    for (let count = 0; ; count++) {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'More!' } }];
      const refused = await server.createMessage({ messages, maxTokens: 10 }).catch((error: Error) => error.message);
      if (typeof refused === 'string') return `${count} times, then: ${refused}`;
    }
  });
  const samples = Array.from({ length: 100 }, () => 'Here.');
  await using agent = new PocketAgent({
    logger: silent,
    agentConfig: { llmModel: new ScriptedModel([call, ...samples, 'Enough.']) },
    mcpConfig: { mcpServers: { it: { server } } },
    samplingHandler: 'agent-model',
  });
  expect(await agent.run('Go.')).toBe('Enough.');
  expect(JSON.stringify(agent.messages)).toContain('100 times, then: A run answers at most 100 sampling requests.');
});

describe('progress that is reported faster than it is read', () => {
  const UPDATES = 3_000;
  const server = asker(async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? '';
    for (let progress = 0; progress < UPDATES; progress++)
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } });
    return 'done';
  });
  const options = () => ({
    logger: silent,
    agentConfig: { llmModel: new ScriptedModel([call, 'Done.']) },
    mcpConfig: { mcpServers: { it: { server } } },
  });

  test('is dropped for a reader that is 1,000 events behind; other events are not', async () => {
    await using agent = new PocketAgent(options());
    const types: string[] = [];
    const over = Promise.withResolvers<void>();
    agent.hooks.onEvent = ({ type }) => void (type === 'run_finished' && over.resolve());
    const stream = agent.stream('Go.');
    await stream.next();
    await over.promise;
    for await (const { type } of stream) types.push(type);
    expect(types.filter((type) => type === 'tool_progress').length).toBeLessThan(1_001);
    expect(types).toEqual(expect.arrayContaining(['tool_call', 'tool_result', 'run_finished']));
  });

  test('is dropped for a listener that is 1,000 events behind', async () => {
    let heard = 0;
    const called = Promise.withResolvers<void>();
    const onEvent = async ({ type }: { type: string }) => {
      if (type === 'tool_result') called.resolve();
      if (type !== 'tool_progress') return;
      heard++;
      await called.promise;
    };
    await using agent = new PocketAgent({ ...options(), hooks: { onEvent } });
    await agent.run('Go.');
    expect(heard).toBeGreaterThan(900);
    expect(heard).toBeLessThan(1_001);
  });
});

test('a server cannot make us reopen its event stream without a pause', async () => {
  const times: number[] = [];
  const host = await open(
    listen(undefined, (request, response, body) => {
      if (request.method !== 'GET') return answerOrHang(body, response, {});
      times.push(performance.now());
      return response.setHeader('content-type', 'text/event-stream').end('retry: 0\ndata:\n\n');
    }),
  );
  const { client } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url, waitMs: 60_000 } } } });
  await client.listTools();
  await eventually(() => expect(times.length).toBeGreaterThan(4));
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  for (const pause of pauses) expect(pause).toBeGreaterThan(90);
});
