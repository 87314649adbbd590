// A tool call on its way: abort, timeouts, progress, and the `_meta` that travels with it.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { PocketAgent, type ToolProgress } from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { type Observed, observer } from '../fixtures/programs/observer.ts';
import { startLegacyHost, startModernHost } from '../fixtures/servers/http-hosts.ts';
import { modernServer } from '../fixtures/servers/modern-tools.ts';
import { eventually, open, stdio, testClient, textOfResult } from '../fixtures/world.ts';
import { silent } from '../helpers.ts';

type Place = [string, (observed: Observed) => Promise<object>];

const places: Place[] = [
  ['a 2025 server in process', async (observed) => ({ server: modernServer(observed) })],
  ['a 2026 server in process', async (observed) => ({ server: () => modernServer(observed) })],
  ['a 2025 server over HTTP', async (observed) => ({ url: (await open(startLegacyHost({ observed }))).url })],
  ['a 2026 server over HTTP', async (observed) => ({ url: (await open(startModernHost({ observed }))).url })],
];

async function observedClient(place: Place[1], options: object = {}) {
  const observed = observer();
  const entry = { ...(await place(observed)), ...options } as { command: string };
  const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: entry } } });
  return { client, observed, statuses };
}

describe.each(places)('%s', (_name, place) => {
  test('sees its signal aborted when the call is aborted, and the connection stays open', async () => {
    const { client, observed, statuses } = await observedClient(place);
    const controller = new AbortController();
    const outcome = client.callTool('wait', {}, { signal: controller.signal }).catch((error: unknown) => error);
    await eventually(() => expect(observed.started).toEqual(['wait']));
    controller.abort(new Error('changed my mind'));
    expect(await outcome).toEqual(new Error('changed my mind'));
    await eventually(() => expect(observed.cancelled).toEqual(['wait']));
    expect(textOfResult(await client.callTool('echo', { text: 'fine' }))).toBe('fine');
    expect(statuses).toEqual(['it: connected']);
  });

  test('sees its signal aborted when the call is idle for too long', async () => {
    const { client, observed } = await observedClient(place, { timeoutMs: 300 });
    await expect(client.callTool('wait', {})).rejects.toMatchObject({
      code: 'TOOL_TIMEOUT',
      message: 'Tool "wait" of "it" was idle for 300 ms and was cancelled.',
    });
    await eventually(() => expect(observed.cancelled).toEqual(['wait']));
    // on a busy machine an answer may take longer than 300 ms
    await eventually(async () => expect(textOfResult(await client.callTool('echo', { text: 'fine' }))).toBe('fine'));
  });
});

test('an agent that is aborted cancels the call of its tool', async () => {
  const observed = observer();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'wait' }] }]);
  const agent = new PocketAgent({
    agentConfig: { llmModel: model },
    mcpConfig: () => modernServer(observed),
    logger: silent,
  });
  const controller = new AbortController();
  const run = agent.run('wait', { signal: controller.signal }).catch((error: unknown) => error);
  await eventually(() => expect(observed.started).toEqual(['wait']));
  controller.abort();
  expect(await run).toMatchObject({ code: 'ABORTED' });
  await eventually(() => expect(observed.cancelled).toEqual(['wait']));
  await agent.close();
});

describe('progress', () => {
  test.each([
    ['stdio', async () => stdio('stdio-server.ts')],
    ['2026 HTTP', async () => ({ url: (await open(startModernHost())).url })],
    ['in process', async () => ({ server: () => modernServer() })],
  ])('of a fast tool arrives completely and in order, in 20 calls, over %s', async (_name, entry) => {
    const seen: unknown[] = [];
    const { client } = testClient({
      mcpConfig: { mcpServers: { it: await entry() } },
      progressHandler: (update) => seen.push(`${update.server}/${update.toolCallId}/${update.progress}`),
    });
    for (let round = 0; round < 20; round++) {
      const updates: ToolProgress[] = [];
      await client.callTool(
        'progress',
        { everyMs: 0, count: 3 },
        { toolCallId: `c${round}`, progress: (update) => updates.push(update) },
      );
      expect(updates).toEqual([1, 2, 3].map((part) => ({ progress: part, total: 3, message: `part ${part}` })));
    }
    expect(seen).toHaveLength(60);
    expect(seen.slice(0, 4)).toEqual(['it/c0/1', 'it/c0/2', 'it/c0/3', 'it/c1/1']);
  });

  test('becomes events of the agent', async () => {
    const hooks = recordEvents();
    const script = [{ toolCalls: [{ id: 'c1', name: 'progress', arguments: { everyMs: 0, count: 2 } }] }, 'done'];
    const agent = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel(script) },
      mcpConfig: () => modernServer(),
      hooks,
      logger: silent,
    });
    await agent.run('go');
    const data = hooks.events.flatMap((event) => (event.type === 'tool_progress' ? [event.data] : []));
    expect(data).toEqual([
      { toolCallId: 'c1', toolName: 'progress', progress: 1, total: 2, message: 'part 1' },
      { toolCallId: 'c1', toolName: 'progress', progress: 2, total: 2, message: 'part 2' },
    ]);
    await agent.close();
  });

  test('restarts the idle timeout', async () => {
    const { client } = testClient({
      mcpConfig: { mcpServers: { it: { server: () => modernServer(), timeoutMs: 2_000 } } },
    });
    expect(textOfResult(await client.callTool('progress', { everyMs: 250, count: 10 }))).toBe('all parts done');
  });

  test('does not extend the total timeout', async () => {
    const { client } = testClient({
      mcpConfig: { mcpServers: { it: { server: () => modernServer(), maxTimeoutMs: 500 } } },
    });
    await expect(client.callTool('progress', { everyMs: 50, count: 500 })).rejects.toMatchObject({
      code: 'TOOL_TIMEOUT',
      message: 'Tool "progress" of "it" ran longer than 500 ms and was cancelled.',
    });
  });

  test('calls succeed although the logger throws', async () => {
    const fail = () => {
      throw new Error('the disk is full');
    };
    const logger = { ...silent, info: fail, warn: fail };
    const { client } = testClient({ mcpConfig: () => modernServer(), logger });
    expect(textOfResult(await client.callTool('log', {}))).toBe('logged');
  });

  test('calls succeed although handlers throw, and the errors are logged', async () => {
    const fail = () => {
      throw new Error('my handler is broken');
    };
    const { client, lines } = testClient({
      mcpConfig: () => modernServer(),
      progressHandler: fail,
      logHandler: fail,
      messageHandler: fail,
      onServerStatus: fail,
    });
    expect(textOfResult(await client.callTool('progress', { everyMs: 0, count: 3 }))).toBe('all parts done');
    expect(textOfResult(await client.callTool('log', {}))).toBe('logged');
    expect(lines.filter((line) => line.includes('my handler is broken')).length).toBeGreaterThan(4);
  });
});

describe('timeouts', () => {
  test('of the client apply to servers without their own', async () => {
    const mcpServers = {
      own: { server: () => modernServer(), timeoutMs: 120 },
      other: { server: () => modernServer() },
    };
    const { client } = testClient({ mcpConfig: { mcpServers }, toolTimeoutMs: 240 });
    await expect(client.callTool('own_wait', {})).rejects.toThrow('for 120 ms');
    await expect(client.callTool('other_wait', {})).rejects.toThrow('for 240 ms');
  });

  test('apply to each call separately, however many are in progress', async () => {
    const { client } = testClient({
      mcpConfig: { mcpServers: { it: { server: () => modernServer(), timeoutMs: 1_000 } } },
    });
    await client.listTools();
    const timeUntilGivenUp = async () => {
      const begun = performance.now();
      await expect(client.callTool('wait', {})).rejects.toThrow('for 1000 ms');
      return performance.now() - begun;
    };
    const first = timeUntilGivenUp();
    await delay(500);
    const second = timeUntilGivenUp();
    expect(textOfResult(await client.callTool('echo', { text: 'fine' }))).toBe('fine');
    expect(await first).toBeGreaterThanOrEqual(1_000);
    expect(await second).toBeGreaterThanOrEqual(1_000);
  });

  test('abort within the run of their own call', async () => {
    const runs = new AsyncLocalStorage<string>();
    const heard: unknown[] = [];
    const server = () => {
      const made = new McpServer({ name: 'it', version: '1' });
      made.registerTool('wait', {}, async ({ mcpReq: { signal } }) => {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(void heard.push(runs.getStore()))),
        );
        return { content: [] };
      });
      return made;
    };
    const { client } = testClient({ mcpConfig: { mcpServers: { it: { server, timeoutMs: 100 } } } });
    await client.listTools();
    const timedOut = (run: string) =>
      runs.run(run, () => expect(client.callTool('wait', {})).rejects.toMatchObject({ code: 'TOOL_TIMEOUT' }));
    const first = timedOut('first');
    await delay(20);
    await Promise.all([first, timedOut('second')]);
    await eventually(() => expect(heard).toEqual(['first', 'second']));
  });

  test('may be Infinity', async () => {
    const none = { timeoutMs: Number.POSITIVE_INFINITY, maxTimeoutMs: Number.POSITIVE_INFINITY };
    const { client } = testClient({ mcpConfig: { mcpServers: { it: { server: () => modernServer(), ...none } } } });
    expect(textOfResult(await client.callTool('progress', { everyMs: 20, count: 3 }))).toBe('all parts done');
  });

  test('do not keep the process alive after the calls have ended', async () => {
    const { client } = testClient({ mcpConfig: () => modernServer() });
    await client.listTools();
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    await client.callTool('echo', { text: 'fine' });
    expect(timers()).toBe(before);
  });

  test('are paused while the server waits for the user', async () => {
    const { client } = testClient({
      mcpConfig: { mcpServers: { it: { server: modernServer(), timeoutMs: 1_000 } } },
      elicitationHandler: async () => {
        await new Promise((resolve) => setTimeout(resolve, 1_800));
        return { action: 'accept', content: { name: 'Slow Joe' } };
      },
    });
    expect(textOfResult(await client.callTool('ask', {}))).toBe('hello Slow Joe');
  });
});

describe('the _meta of a call', () => {
  test.each([
    ['2025', async () => ({ url: (await open(startLegacyHost())).url })],
    ['2026', async () => ({ url: (await open(startModernHost())).url })],
  ])('names the calling agent, with trace context and custom metadata, in the %s era', async (_era, entry) => {
    const script = [{ toolCalls: [{ id: 'call-7', name: 'meta' }] }, 'done'];
    const agent = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel(script), name: 'Helper', agentId: 'agent-1' },
      mcpConfig: { mcpServers: { it: await entry() } },
      toolCallMetadata: { tenant: 'acme' },
      logger: silent,
    });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await agent.run('go', { traceparent });
    const answer = agent.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))[0];
    const meta = JSON.parse(JSON.stringify(answer)).output.value;
    expect(JSON.parse(typeof meta === 'string' ? meta : meta[0].text)).toMatchObject({
      tool_call_id: 'call-7',
      context_id: 'agent-1',
      agent_name: 'Helper',
      is_sub_agent: false,
      tenant: 'acme',
      traceparent,
      progressToken: expect.any(String),
    });
    await agent.close();
  });

  test('of a sub-agent names its parent', async () => {
    const metas: unknown[] = [];
    const child = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel([{ toolCalls: [{ name: 'meta' }] }, 'ok']), name: 'child' },
      mcpConfig: () => modernServer(),
      hooks: {
        onEvent: (event) => {
          if (event.type === 'tool_result') metas.push(event.data.toolResultContent[0]);
        },
      },
      logger: silent,
    });
    const script = [{ toolCalls: [{ name: 'child-message', arguments: { message: 'hi' } }] }, 'done'];
    const parent = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel(script), name: 'parent' },
      subAgents: [child],
      logger: silent,
    });
    await parent.run('go');
    const [first] = metas as { text: string }[];
    expect(JSON.parse(first?.text ?? '')).toMatchObject({ agent_name: 'child', is_sub_agent: true });
    await parent.close();
  });

  test('carries a progress token even without a progress listener', async () => {
    const { client } = testClient({ mcpConfig: () => modernServer() });
    const meta = JSON.parse(textOfResult(await client.callTool('meta', {})));
    expect(meta.progressToken).toEqual(expect.any(String));
  });
});
