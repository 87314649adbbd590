// Whose question it is when a server asks something while several runs call it through one client.
import { AsyncLocalStorage } from 'node:async_hooks';
import { McpServer } from '@modelcontextprotocol/server';
import {
  type McpServerEntry,
  PocketAgent,
  PocketAgentClient,
  type PocketAgentOptions,
  type RunOptions,
} from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { startModernHost } from '../fixtures/servers/http-hosts.ts';
import { modernServer } from '../fixtures/servers/modern-tools.ts';
import { lateServer, open, stdio, testClient } from '../fixtures/world.ts';
import { silent } from '../helpers.ts';

type Elicit = NonNullable<RunOptions['elicit']>;
type Turn = Exclude<ConstructorParameters<typeof ScriptedModel>[0][number], string>;

/** Calls the tool that the message names, and answers with what the tool said. */
const turn: Turn = ({ prompt }) => {
  const last = prompt.at(-1);
  if (last?.role === 'tool') return JSON.stringify(last.content);
  const [part] = last?.role === 'user' ? last.content : [];
  return { toolCalls: [{ name: part?.type === 'text' ? part.text : '' }] };
};

function agentWith(options: Partial<PocketAgentOptions>, turns = 4): PocketAgent {
  const llmModel = new ScriptedModel(Array.from({ length: turns }, () => turn));
  return new PocketAgent({ agentConfig: { llmModel, name: 'Asker' }, logger: silent, ...options });
}

const named = (name: string): Awaited<ReturnType<Elicit>> => ({ action: 'accept', content: { name } });

/** Code that runs in it belongs to no call, like that of a message from another process. */
const outside = AsyncLocalStorage.snapshot();

/** Of the 2025 era; asks for a name in the middle of a call of `ask`, and after that of `later` was told to stop. */
function asking(whereabouts: (ask: () => Promise<string>) => Promise<string> = (ask) => ask()): McpServer {
  const server = new McpServer({ name: 'asking', version: '1' });
  const name = { type: 'string' as const };
  const ask = () =>
    whereabouts(async () => {
      const requestedSchema = { type: 'object' as const, properties: { name } };
      const { action, content } = await server.server.elicitInput({ message: 'Your name?', requestedSchema });
      return `${action} ${content?.name ?? ''}`.trim();
    });
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
  server.registerTool('ask', { inputSchema: z.object({}) }, async () => text(await ask()));
  server.registerTool('later', { inputSchema: z.object({}) }, async (_args, { mcpReq: { signal } }) => {
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
    laterCalled.resolve();
    await stopped;
    heardLater.push(await ask());
    return text('');
  });
  server.registerTool('wait', { inputSchema: z.object({}) }, async () => {
    await expect.poll(() => heardLater).not.toEqual([]);
    return text('waited');
  });
  return server;
}
const heardLater: string[] = [];
let laterCalled = Promise.withResolvers<void>();
beforeEach(() => {
  heardLater.length = 0;
  laterCalled = Promise.withResolvers();
});

const exact: [where: string, tool: string, () => Promise<McpServerEntry>][] = [
  ['2025 in process', 'ask', async () => ({ server: asking() })],
  ['2026 over HTTP', 'ask', async () => ({ url: (await open(startModernHost())).url })],
  ['2026 over HTTP', 'ask_for_person', async () => ({ url: (await open(startModernHost())).url })],
  ['2026 over stdio', 'ask', async () => stdio('stdio-server.ts')],
  ['2026 over stdio', 'ask_for_person', async () => stdio('stdio-server.ts')],
  ['2026 over stdio that started late', 'ask_for_person', async () => lateServer()],
  ['2026 in process', 'ask', async () => ({ server: () => modernServer() })],
];

test.each(exact)('each run is asked only about its own call (server %s, called by %s)', async (_, tool, place) => {
  await using base = agentWith({ mcpConfig: { mcpServers: { it: await place() } } });
  const asked: string[] = [];
  const bothAsked = Promise.withResolvers<void>();
  const run = (name: string) =>
    base.fork().run(tool, {
      elicit: async () => {
        if (asked.push(name) === 2) bothAsked.resolve();
        await bothAsked.promise;
        return named(name);
      },
    });
  const answers = await Promise.all([run('Ada'), run('Bob')]);
  expect(answers).toEqual([expect.stringContaining('Ada'), expect.stringContaining('Bob')]);
  expect(asked.toSorted()).toEqual(['Ada', 'Bob']);
});

test('a question that belongs to no known call is not answered while several runs call the server, and this is logged', async () => {
  const warnings: string[] = [];
  const bothCall = Promise.withResolvers<void>();
  let calls = 0;
  const server = asking(async (ask) => {
    if (++calls === 2) bothCall.resolve();
    if (calls <= 2) await bothCall.promise;
    return outside(ask);
  });
  await using base = agentWith(
    { mcpConfig: { mcpServers: { it: { server } } }, logger: { ...silent, warn: (text) => warnings.push(text) } },
    6,
  );
  const run = (name: string) => base.fork().run('ask', { elicit: () => named(name) });
  const answers = await Promise.all([run('Ada'), run('Bob')]);
  expect(answers).toEqual([expect.stringContaining('cancel'), expect.stringContaining('cancel')]);
  expect(warnings).toEqual([
    expect.stringContaining('MCP server "it" asked something and got no answer: the question names no call'),
  ]);
  expect(await run('Ada')).toContain('accept Ada');
});

test.each([
  ['runs that answer by themselves, no handler is called', true, ['cancel', 'cancel'], 0],
  ['runs that all leave it to the handler of the agent, that is asked', false, ['accept Eve', 'accept Eve'], 2],
])('when the call of a question is unknown: %s', async (_who, areOwn, expected, times) => {
  const bothCall = Promise.withResolvers<void>();
  let calls = 0;
  const server = asking(async (ask) => {
    if (++calls === 2) bothCall.resolve();
    await bothCall.promise;
    return outside(ask);
  });
  const elicitationHandler = vi.fn(() => named('Eve'));
  await using base = agentWith({ mcpConfig: { mcpServers: { it: { server } } }, elicitationHandler });
  const run = (name: string) => base.fork().run('ask', areOwn ? { elicit: () => named(name) } : {});
  const answers = await Promise.all([run('Ada'), run('Bob')]);
  expect(answers).toEqual(expected.map((text) => expect.stringContaining(text)));
  expect(elicitationHandler).toHaveBeenCalledTimes(times);
});

test.each([
  ['on the way of its call', undefined],
  ['on a way of its own', (ask: () => Promise<string>) => outside(ask)],
])('a question about a cancelled call is not put to another run (%s)', async (_how, whereabouts) => {
  const asked: string[] = [];
  await using base = agentWith({ mcpConfig: { mcpServers: { it: { server: asking(whereabouts) } } } });
  const elicit = (name: string) => () => {
    asked.push(name);
    return named(name);
  };
  const controller = new AbortController();
  const given = base.fork().run('later', { elicit: elicit('Ada'), signal: controller.signal });
  const other = base.fork().run('wait', { elicit: elicit('Bob') });
  await laterCalled.promise;
  controller.abort();
  await expect(given).rejects.toThrow();
  expect(await other).toContain('waited');
  expect([heardLater, asked]).toEqual([['cancel'], []]);
});

test('a question about a call that timed out is not answered, not even by the handler of the agent', async () => {
  const elicitationHandler = vi.fn(() => named('Eve'));
  const givenUp = Promise.withResolvers<void>();
  const server = asking(async (ask) => {
    await givenUp.promise;
    return outside(ask);
  });
  await using base = agentWith({ mcpConfig: { mcpServers: { it: { server, timeoutMs: 200 } } }, elicitationHandler });
  expect(await base.fork().run('later', { elicit: () => named('Ada') })).toContain('was idle for');
  givenUp.resolve();
  await expect.poll(() => heardLater).toEqual(['cancel']);
  expect(elicitationHandler).not.toHaveBeenCalled();
});

test('a question that is never answered ends with its call, and later calls time out as usual', async () => {
  const ended: string[] = [];
  const server = new McpServer({ name: 'impatient', version: '1' });
  const requestedSchema = { type: 'object' as const, properties: {} };
  server.registerTool('it', { inputSchema: z.object({}) }, () => {
    for (let count = 0; count < 60; count++)
      server.server.elicitInput({ message: 'Well?', requestedSchema }).catch(({ message }) => ended.push(message));
    return { content: [] };
  });
  server.registerTool('silent', { inputSchema: z.object({}) }, () => new Promise(() => {}));
  const { client } = testClient({
    mcpConfig: { mcpServers: { it: { server, timeoutMs: 200, maxTimeoutMs: Number.POSITIVE_INFINITY } } },
    elicitationHandler: () => new Promise(() => {}),
  });
  for (let call = 1; call <= 2; call++) {
    await client.callTool('it', {});
    await expect.poll(() => ended).toHaveLength(60 * call);
  }
  expect(new Set(ended)).toEqual(new Set([expect.stringContaining('The question was aborted')]));
  await expect(client.callTool('silent', {})).rejects.toMatchObject({ code: 'TOOL_TIMEOUT' });
});

test('a call that was cancelled more than a minute ago does not prevent questions to other runs, whatever its timeout', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const mcpConfig = { mcpServers: { it: { server: asking((ask) => outside(ask)) } } };
  const endless = { toolTimeoutMs: Number.POSITIVE_INFINITY, maxToolTimeoutMs: Number.POSITIVE_INFINITY };
  await using base = agentWith({ mcpConfig, ...endless }, 5);
  const controller = new AbortController();
  const given = base.fork().run('later', { elicit: () => named('Ada'), signal: controller.signal });
  await laterCalled.promise;
  controller.abort();
  await expect(given).rejects.toThrow();
  const run = () => base.fork().run('ask', { elicit: () => named('Bob') });
  expect(await run()).toContain('cancel');
  vi.advanceTimersByTime(60_001);
  expect(await run()).toContain('accept Bob');
});

test('a sub-agent that shares the client of its parent can be asked', async () => {
  const sub = agentWith({ mcpConfig: { mcpServers: { it: { server: asking() } } } });
  const llmModel = new ScriptedModel([
    { toolCalls: [{ name: 'Asker-message', arguments: { message: 'ask' } }] },
    ({ prompt }) => JSON.stringify(prompt.at(-1)),
  ]);
  await using parent = new PocketAgent({
    agentConfig: { llmModel },
    mcpClient: sub.mcpClient,
    subAgents: [sub],
    logger: silent,
  });
  expect(await parent.run('go', { elicit: () => named('Ada') })).toContain('accept Ada');
});

test('a run is asked before the handler of a client that the program made', async () => {
  const mcpConfig = { mcpServers: { it: { server: asking() } } };
  await using client = new PocketAgentClient({ mcpConfig, elicitationHandler: () => named('Bob'), logger: silent });
  await using agent = agentWith({ mcpClient: client });
  expect(await agent.run('ask')).toContain('accept Bob');
  expect(await agent.run('ask', { elicit: () => named('Ada') })).toContain('accept Ada');
});

test('a run can be asked over a connection that was opened without a handler for questions', async () => {
  await using agent = agentWith({ mcpConfig: { mcpServers: { it: { server: asking() } } } });
  await agent.listTools();
  expect(await agent.run('ask')).toContain('cancel');
  expect(await agent.run('ask', { elicit: () => named('Ada') })).toContain('accept Ada');
});
