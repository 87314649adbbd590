// An agent served over MCP whose calls are tasks: they go on after a restart of the server. The client is that of the extension.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  type WithTasksOptions,
} from '@modelcontextprotocol/ext-tasks/client';
import type { JsonValue } from '@modelcontextprotocol/ext-tasks/core';
import { type AgentServerOptions, PocketAgent } from 'pocket-agent';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openRuns } from '../../src/index.ts';
import { agentOf, modelOf, newFile, refunds, silent } from '../agents.ts';

const version = '2026-07-28';
const clientInfo = { name: 'tests', version: '1' };
const pin = { versionNegotiation: { mode: { pin: version } } };

async function serve(file: string, make: () => PocketAgent<unknown>, options: AgentServerOptions = {}) {
  const runs = await openRuns({ url: `sqlite:${file}`, agents: { support: make }, logger: silent });
  const agent = make();
  const server = agent.asMcpServer({ durable: { runs, agent: 'support' }, ...options });
  const { url } = await server.listen();
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await server.close();
    await agent.close();
    await runs.close({ graceMs: 0 });
  };
  onTestFinished(close);
  return { url, runs, close };
}

interface Reply {
  result: JsonValue;
  error?: { code: number; message: string };
}

interface SessionOptions extends Pick<WithTasksOptions, 'onInputRequest'> {
  token?: string;
  capabilities?: Record<string, JsonValue>;
}

async function connect(url: string, { token, capabilities = { elicitation: {} }, ...options }: SessionOptions = {}) {
  const authorization = token ? { authorization: `Bearer ${token}` } : {};
  const client = new Client(clientInfo, pin);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: authorization } }));
  let requests = 0;
  const rawDispatch = async (request: JsonValue) => {
    const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': method,
      'mcp-name': params.taskId ?? params.name ?? '',
      ...authorization,
    };
    requests += 1;
    const body = JSON.stringify({ jsonrpc: '2.0', id: requests, ...(request as object) });
    const { result, error } = (await (await fetch(url, { method: 'POST', headers, body })).json()) as Reply;
    return error ? ({ kind: 'error', error } as const) : ({ kind: 'result', result } as const);
  };
  const session = createTaskSessionFromClient(client, {
    endpointId: 'support',
    rawDispatch,
    v2RequestFraming: { protocolVersion: version, clientInfo, clientCapabilities: capabilities },
    ...options,
  });
  onTestFinished(async () => {
    await session.close();
    await client.close();
  });
  return session;
}

const name = 'Support';
const tool = 'Support-message';

test('a call becomes a task, and its answer is the result', async () => {
  const { url, runs } = await serve(newFile(), () => agentOf(['Hello', 'Again'], { name }));
  const session = await connect(url);
  const execution = await session.callTool(tool, { message: 'Hi' });
  expect(execution.kind).toBe('task');
  const result = resultFromTaskOutcome((await execution.settle()).outcome);
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'Hello' }, { type: 'text' }] });
  expect((await runs.list()).runs).toMatchObject([{ agent: 'support', input: 'Hi', status: 'finished' }]);

  const { context_id: id } = result._meta as { context_id: string };
  const next = await session.callTool(tool, { message: 'And?', conversation_id: id });
  const answer = resultFromTaskOutcome((await next.settle()).outcome);
  expect(answer.content).toEqual([{ type: 'text', text: 'Again' }]);
  const stranger = await session.callTool(tool, { message: 'And?', conversation_id: 'other' });
  expect(JSON.stringify((await stranger.settle()).outcome)).toContain('is unknown or expired');
});

test('a server without a key serves the tasks that workers answer', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  const url = `sqlite:${newFile()}`;
  const worker = await openRuns({ url, agents: { support: () => agentOf(['Hello'], { name }) }, logger: silent });
  onTestFinished(() => worker.close());
  const runs = await openRuns({ url, logger: silent });
  onTestFinished(() => runs.close());
  const agent = new PocketAgent({ name, llmModel: 'anthropic/claude-sonnet-5', logger: silent });
  onTestFinished(() => agent.close());
  const server = await agent.asMcpServer({ durable: { runs, agent: 'support' } }).listen();
  const execution = await (await connect(server.url)).callTool(tool, { message: 'Hi' });
  expect(resultFromTaskOutcome((await execution.settle()).outcome)).toMatchObject({
    content: [{ type: 'text', text: 'Hello' }, { type: 'text' }],
  });
});

test('a task goes on after the server was replaced, and its client approves the call', async () => {
  const file = newFile();
  const effects: unknown[] = [];
  const make = () => refunds({ name }, effects);
  const first = await serve(file, make);
  const before = await connect(first.url);
  const begun = await before.callTool(tool, { message: 'Refund order 17' });
  if (begun.kind !== 'task') throw new Error('a task was expected');
  const reference = begun.serializeReference();
  await begun.detach();
  await expect.poll(() => first.runs.questions()).toHaveLength(1);
  await first.close();

  const second = await serve(file, make);
  const asked: unknown[] = [];
  const after = await connect(second.url, {
    onInputRequest: (async (request: unknown) => {
      asked.push(request);
      return { action: 'accept', content: { approve: true } };
    }) as WithTasksOptions['onInputRequest'],
  });
  const execution = await after.resumeTask(reference);
  const result = resultFromTaskOutcome((await execution.settle()).outcome);
  expect(result).toMatchObject({ content: [{ text: 'Order 17 is refunded.' }, {}] });
  expect(JSON.stringify(asked)).toContain('refund');
  expect([asked.length, effects]).toEqual([1, [{ order: 17 }]]);
});

test('only its caller finds a task, answers it, and cancels it', async () => {
  const tokens = { 'token-of-ann-123': 'admin', 'token-of-bob-123': 'admin' } as const;
  const { url, runs } = await serve(newFile(), () => refunds({ name }), { tokens });
  const ann = await connect(url, { token: 'token-of-ann-123' });
  const bob = await connect(url, { token: 'token-of-bob-123' });
  const begun = await ann.callTool(tool, { message: 'Refund' });
  if (begun.kind !== 'task') throw new Error('a task was expected');
  const { taskId } = begun.handle;
  await begun.detach();
  await expect.poll(() => runs.questions()).toHaveLength(1);
  await expect(bob.task(taskId).snapshot()).rejects.toThrow('is unknown');
  await expect(bob.cancelTask(taskId)).rejects.toThrow('is unknown');
  expect(await ann.task(taskId).snapshot()).toMatchObject({ status: 'input_required' });
  await ann.cancelTask(taskId);
  expect(await ann.task(taskId).snapshot()).toMatchObject({ status: 'cancelled' });
  expect((await runs.list()).runs).toMatchObject([{ status: 'cancelled', caller: expect.any(String) }]);
});

test('a client that cannot ask a person reads that the task waits, and the answer comes from elsewhere', async () => {
  const { url, runs } = await serve(newFile(), () => refunds({ name }));
  const session = await connect(url, { capabilities: {} });
  const begun = await session.callTool(tool, { message: 'Refund' });
  if (begun.kind !== 'task') throw new Error('a task was expected');
  await expect.poll(() => runs.questions()).toHaveLength(1);
  const { taskId } = begun.handle;
  expect(await session.task(taskId).snapshot()).toMatchObject({
    status: 'working',
    statusMessage: 'The task waits for a person to answer a question.',
  });
  const [question] = await runs.questions();
  await runs.answer(question?.id ?? '', 'deny', { by: 'Ann' });
  const result = resultFromTaskOutcome((await begun.settle()).outcome);
  expect(result).toMatchObject({ content: [{ text: 'Order 17 is refunded.' }, {}] });
});

test('a run that fails is an error result, and too many open tasks are refused', async () => {
  const { url } = await serve(newFile(), () => refunds({ name }), { maxRuns: 1 });
  const session = await connect(url);
  const open = await session.callTool(tool, { message: 'Refund' });
  if (open.kind !== 'task') throw new Error('a task was expected');
  const refused = await session.callTool(tool, { message: 'Refund' });
  expect(JSON.stringify((await refused.settle()).outcome)).toContain(
    'You have 1 open tasks of Support, which is the limit.',
  );
  await session.cancelTask(open.handle.taskId);

  const failing = await serve(newFile(), () => agentOf([], { name }));
  const other = await connect(failing.url);
  const failed = await other.callTool(tool, { message: 'Hi' });
  expect(resultFromTaskOutcome((await failed.settle()).outcome)).toMatchObject({ isError: true });
});

test('an agent with typed answers is served as tasks too, and clients without tasks as before', async () => {
  const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
  const make = () =>
    new PocketAgent<unknown>({ llmModel: modelOf(['{"n":7}', '{"n":7}']), logger: silent, name, output });
  const { url } = await serve(newFile(), make);
  const session = await connect(url);
  const execution = await session.callTool(tool, { message: 'Hi' });
  expect(resultFromTaskOutcome((await execution.settle()).outcome)).toMatchObject({ structuredContent: { n: 7 } });

  const client = new Client(clientInfo, pin);
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const result = await client.callTool({ name: tool, arguments: { message: 'Hi' } });
  expect(result.structuredContent).toEqual({ n: 7 });
  await expect(client.callTool({ name: tool, arguments: {} })).rejects.toThrow('message');
});

test('options that contradict each other are refused', async () => {
  const runs = await openRuns({ url: `sqlite:${newFile()}`, logger: silent });
  onTestFinished(() => runs.close());
  const durable = { runs, agent: 'support' };
  const agent = agentOf([]);
  expect(() => agent.asMcpServer({ durable, conversation: 'shared' })).toThrow('leave conversation: "shared" out');
  expect(() => agent.asMcpServer({ durable, createAgent: () => agent })).toThrow('"durable" or "createAgent"');
  expect(() => agent.asMcpServer({ durable: { runs } as never })).toThrow('durable');
});
