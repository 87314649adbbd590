// What servers ask of us and tell us, in both protocol eras: elicitation, sampling, roots, log lines, any message.
import type { ElicitResult } from '@modelcontextprotocol/client';
import {
  type McpServerEntry,
  PocketAgent,
  type PocketAgentClient,
  type PocketAgentClientOptions,
  type ServerLog,
} from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startLegacyHost, startModernHost } from '../fixtures/servers/http-hosts.ts';
import { modernServer } from '../fixtures/servers/modern-tools.ts';
import { type AtEnd, eventually, open, stdio, testClient, textOfResult } from '../fixtures/world.ts';
import { silent } from '../helpers.ts';

type Place = [string, (atEnd?: AtEnd) => Promise<McpServerEntry>];

const places: Place[] = [
  ['2025 over HTTP (SDK v1)', async (atEnd) => ({ url: (await open(startLegacyHost(), atEnd)).url })],
  ['2025 over stdio (SDK v1)', async () => stdio('stdio-legacy.ts')],
  ['2025 in process', async () => ({ server: modernServer() })],
  ['2026 over HTTP', async (atEnd) => ({ url: (await open(startModernHost(), atEnd)).url })],
  ['2026 over stdio', async () => stdio('stdio-server.ts')],
  ['2026 in process', async () => ({ server: () => modernServer() })],
];

describe.each(places)('a server of %s', (_name, place) => {
  describe('with handlers for all its requests', () => {
    let client: PocketAgentClient;
    let answer: ElicitResult;
    const asked: unknown[] = [];
    const logs: ServerLog[] = [];
    const messages: string[] = [];
    const releases: (() => Promise<void>)[] = [];
    const wanted = ['elicitation/create', 'sampling/createMessage', 'roots/list', 'notifications/message'];
    const heard = () => messages.filter((message) => wanted.includes(message.slice('it: '.length)));

    beforeAll(async () => {
      const atEnd: AtEnd = (release) => void releases.unshift(release);
      const mcpConfig = { mcpServers: { it: await place(atEnd) } };
      const handlers: PocketAgentClientOptions = {
        elicitationHandler: (params, { server }) => {
          asked.push(['elicitation', params.message, server]);
          return answer;
        },
        samplingHandler: (params, { server, signal }) => {
          asked.push(['sampling', params.systemPrompt, params.maxTokens, server, signal.aborted]);
          return { model: 'mine', role: 'assistant', content: { type: 'text', text: 'Roses are red' } };
        },
        roots: [{ uri: 'file:///work', name: 'work' }],
        logHandler: (log) => logs.push(log),
        messageHandler: ({ method }, { server }) => messages.push(`${server}: ${method}`),
      };
      ({ client } = testClient({ mcpConfig, ...handlers }, atEnd));
    });
    beforeEach(() => {
      asked.length = 0;
      messages.length = 0;
    });
    afterAll(async () => {
      for (const release of releases) await release();
    });

    test('gets an answer from the user', async () => {
      answer = { action: 'accept', content: { name: 'Ada' } };
      expect(textOfResult(await client.callTool('ask', {}))).toBe('hello Ada');
      expect(asked).toEqual([['elicitation', 'Your name?', 'it']]);
      expect(heard()).toEqual(['it: elicitation/create']);
    });

    test('is told when the user declines', async () => {
      answer = { action: 'decline' };
      expect(textOfResult(await client.callTool('ask', {}))).toBe('no name given');
      expect(heard()).toEqual(['it: elicitation/create']);
    });

    test('gets an answer from a model', async () => {
      expect(textOfResult(await client.callTool('sample', {}))).toContain('Roses are red');
      expect(asked).toEqual([['sampling', 'Be brief', 50, 'it', false]]);
      expect(heard()).toEqual(['it: sampling/createMessage']);
    });

    test('gets the roots', async () => {
      expect(textOfResult(await client.callTool('roots', {}))).toBe('file:///work');
      expect(heard()).toEqual(['it: roots/list']);
    });

    test('sends logs, which are received', async () => {
      expect(textOfResult(await client.callTool('log', {}))).toBe('logged');
      await eventually(() => expect(logs).toHaveLength(1));
      expect(logs).toMatchObject([{ server: 'it', level: 'warning', data: 'the disk is nearly full', logger: 'disk' }]);
      expect(heard()).toEqual(['it: notifications/message']);
    });
  });

  test('asks a question whose signal is aborted when its call is cancelled', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { client } = testClient({
      mcpConfig: { mcpServers: { it: await place() } },
      elicitationHandler: (_params, { signal }) => {
        asked.resolve(signal);
        return new Promise(() => {});
      },
    });
    const controller = new AbortController();
    const call = client.callTool('ask', {}, { signal: controller.signal });
    const outcome = expect(call).rejects.toThrow('enough');
    const signal = await asked.promise;
    expect(signal.aborted).toBe(false);
    controller.abort(new Error('enough'));
    await outcome;
    expect(signal.aborted).toBe(true);
  });

  test('gets an error if there is no handler for its question', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { it: await place() } } });
    for (const tool of ['ask', 'sample', 'roots']) {
      const outcome = await client.callTool(tool, {}).catch((error: Error) => ({ isError: true, error }));
      expect(outcome.isError, tool).toBe(true);
    }
    expect(textOfResult(await client.callTool('echo', { text: 'still fine' }))).toBe('still fine');
  });
});

test.each(places)("sampling by a server of %s is answered by the agent's own model when allowed", async (_n, place) => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'sample' }] },
    (options) => `${options.prompt.map((message) => message.role).join('+')} at most ${options.maxOutputTokens}`,
    'done',
  ]);
  const agent = new PocketAgent({
    agentConfig: { llmModel: model, systemPrompt: 'The agent has its own prompt' },
    mcpConfig: { mcpServers: { it: await place() } },
    samplingHandler: 'agent-model',
    logger: silent,
  });
  expect(await agent.run('go')).toBe('done');
  model.assertDone();
  const [sampled] = model.calls.slice(1);
  expect(sampled?.prompt[0]).toMatchObject({ role: 'system', content: 'Be brief' });
  expect(JSON.stringify(agent.messages)).toContain('system+user at most 50');
  await agent.close();
});

test('roots may be a function, which is called for each request', async () => {
  let calls = 0;
  const { client } = testClient({
    mcpConfig: () => modernServer(),
    roots: async () => [{ uri: `file:///project/${++calls}` }],
  });
  expect(textOfResult(await client.callTool('roots', {}))).toBe('file:///project/1');
  expect(textOfResult(await client.callTool('roots', {}))).toBe('file:///project/2');
});

test('log messages go to the logger by default, by level, and become events', async () => {
  const warnings: string[] = [];
  const hooks = recordEvents();
  const agent = new PocketAgent({
    agentConfig: { llmModel: new ScriptedModel([{ toolCalls: [{ name: 'log' }] }, 'done']) },
    mcpConfig: () => modernServer(),
    logger: { ...silent, warn: (message) => warnings.push(message) },
    hooks,
  });
  await agent.run('go');
  expect(warnings).toEqual(['[local] the disk is nearly full']);
  const logs = hooks.events.flatMap((event) => (event.type === 'server_log' ? [event.data] : []));
  expect(logs).toEqual([
    expect.objectContaining({ server: 'local', level: 'warning', data: 'the disk is nearly full', logger: 'disk' }),
  ]);
  await agent.close();
});

test.each([
  [
    'throw',
    () => {
      throw new Error('no ears');
    },
  ],
  ['reject', () => Promise.reject(new Error('no ears'))],
])('errors of handlers that %s are logged, and have no other effect', async (_how, broken) => {
  const { client, lines } = testClient({
    mcpConfig: { mcpServers: { it: { server: () => modernServer() } } },
    progressHandler: broken,
    messageHandler: broken,
    logHandler: broken,
    onServerStatus: broken,
    elicitationHandler: () => ({ action: 'accept', content: { name: 'Ada' } }),
  });
  expect(textOfResult(await client.callTool('ask', {}))).toBe('hello Ada');
  expect(textOfResult(await client.callTool('log', {}))).toBe('logged');
  await client.callTool('progress', { everyMs: 1, count: 1 }, { progress: broken });
  for (const listener of [
    'progressHandler',
    'messageHandler',
    'logHandler',
    'onServerStatus',
    'The progress of a call',
  ]) {
    await eventually(() => expect(lines).toContain(`${listener} failed: no ears`));
  }
});
