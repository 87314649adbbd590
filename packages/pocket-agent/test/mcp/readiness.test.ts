// What a run starts with when servers are slow, away or back again.
import { type AgentEvent, type FunctionTool, type McpServerEntry, tool } from 'pocket-agent';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { refuse, startLegacyHost } from '../fixtures/servers/http-hosts.ts';
import { type Answer, json, plainHost } from '../fixtures/servers/plain-host.ts';
import { eventually, folder, hostProcess, open, stdio, testClient } from '../fixtures/world.ts';
import { resultText, scriptedAgent } from '../helpers.ts';

type Script = Parameters<typeof scriptedAgent>[0];

function agentWith(script: Script, mcpServers: Record<string, McpServerEntry>, tools: FunctionTool[] = []) {
  const lines: string[] = [];
  const statuses: string[] = [];
  const write = (line: string) => void lines.push(line);
  const onEvent = (event: AgentEvent) => {
    if (event.type !== 'server_status') return;
    const { server, status, reason } = event.data;
    statuses.push(`${server}: ${status}${reason ? ` (${reason})` : ''}`);
  };
  const logger = { debug() {}, info: write, warn: write, error: write };
  const world = scriptedAgent(script, {
    mcpConfig: { mcpServers },
    tools,
    exposure: 'direct',
    logger,
    hooks: { onEvent },
  });
  const toolsOf = (call: number) => world.model.calls[call]?.tools?.map(({ name }) => name) ?? [];
  return { ...world, lines, statuses, toolsOf };
}

/** Answers `initialize` when it is told to. */
async function hangingHost() {
  const released = Promise.withResolvers<void>();
  const initialized = json({
    result: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'hanging', version: '1' },
    },
  });
  const initialize: Answer = (response, id) => released.promise.then(() => initialized(response, id));
  const host = await open(plainHost({ initialize, 'tools/call': json({ result: { content: [] } }) }));
  return { url: host.url, release: released.resolve };
}

describe('a server that is back', () => {
  test('is used by the next run, even after a call that failed while it was away', async () => {
    const path = folder();
    const [first, second] = await Promise.all([hostProcess('legacy', path), hostProcess('legacy', path)]);
    const { url, port } = await first.listen();
    const echo = (text: string) => ({ toolCalls: [{ name: 'echo', arguments: { text } }] });
    const { agent, toolsOf } = agentWith([echo('1'), 'ok', echo('2'), 'away', echo('3'), 'ok'], { it: { url } });
    await agent.run('one');
    await first.kill();
    await agent.run('two');
    await second.listen(port);
    await agent.run('three');
    await agent.close();
    expect(toolsOf(4)).toContain('echo');
    expect(resultText(agent, 2)).toBe('3');
  });

  test('is used by the next run even if it was not available at first', async () => {
    const reserved = await startLegacyHost();
    await reserved.close();
    const { agent, toolsOf } = agentWith(['nothing yet', 'ok'], { it: { url: reserved.url } });
    await agent.run('one');
    await open(startLegacyHost({ port: reserved.port }));
    await agent.run('two');
    await agent.close();
    expect([toolsOf(0), toolsOf(1)]).toEqual([[], expect.arrayContaining(['echo'])]);
  });
});

describe('a server that hangs', () => {
  test('delays a run only for waitMs; its tools join at a later step', async () => {
    const ready = await open(startLegacyHost());
    const hanging = await hangingHost();
    const release = tool({
      name: 'release',
      description: 'Waits for the server',
      run: async () => {
        hanging.release();
        await agent.mcpClient.listTools();
      },
    });
    const { agent, toolsOf, statuses } = agentWith(
      [{ toolCalls: [{ name: 'release' }] }, 'done'],
      { ready: { url: ready.url }, hanging: { url: hanging.url, waitMs: 50 } },
      [release],
    );
    await agent.run('go');
    await agent.close();
    expect(toolsOf(0)).toContain('ready_echo');
    expect(toolsOf(0)).not.toContain('hanging_it');
    expect(toolsOf(1)).toEqual(expect.arrayContaining(['ready_echo', 'hanging_it']));
    expect(statuses.filter((status) => status.startsWith('hanging'))).toEqual([
      'hanging: connecting',
      expect.stringMatching(/^hanging: connecting \(it has not answered within 50 ms/),
      'hanging: connected',
      'hanging: closed',
    ]);
  });

  /** Stops the clock of this process: a run that waits for a timer does not end. */
  const stopClock = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
  };

  /** Awaits a run while time passes quickly. */
  const fastForward = async (run: Promise<string>) => {
    let isOver = false;
    const settled = run.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await new Promise(setImmediate);
      vi.advanceTimersByTime(10);
    }
    return settled;
  };

  test('delays only the first run', async () => {
    const hanging = await hangingHost();
    const { agent } = agentWith(['one', 'two'], { hanging: { url: hanging.url, waitMs: 500 } });
    stopClock();
    expect(await fastForward(agent.run('one'))).toBe('one');
    expect(await agent.run('two')).toBe('two');
    vi.useRealTimers();
    await agent.close();
  });

  test('does not delay later runs when it is retried', async () => {
    const hanging = await hangingHost();
    const entry = { url: hanging.url, waitMs: 500, connectTimeoutMs: 600 };
    const { agent } = agentWith(['one', 'two'], { hanging: entry });
    stopClock();
    expect(await fastForward(agent.run('one'))).toBe('one');
    await eventually(() => expect(agent.mcpClient.status.get('hanging')?.status).toBe('failed'));
    expect(await agent.run('two')).toBe('two');
    vi.useRealTimers();
    await agent.close();
  });

  test('is waited for by a caller that lists the tools of the agent', async () => {
    const hanging = await hangingHost();
    const { agent } = agentWith([], { hanging: { url: hanging.url, waitMs: 1 } });
    const listed = agent.listTools();
    await eventually(() => expect(agent.mcpClient.status.get('hanging')?.reason).toContain('has not answered'));
    hanging.release();
    expect((await listed).map(({ name }) => name)).toEqual(['it']);
    await agent.close();
  });

  test('does not delay a run for longer when a caller that lists its tools is aborted', async () => {
    const hanging = await hangingHost();
    const { agent } = agentWith(['one'], { hanging: { url: hanging.url, waitMs: 500, connectTimeoutMs: 600_000 } });
    const running = agent.run('go');
    await eventually(() => expect(agent.mcpClient.status.has('hanging')).toBe(true));
    const given = new AbortController();
    const listed = agent.listTools(given.signal);
    given.abort();
    await expect(listed).rejects.toBe(given.signal.reason);
    expect(await running).toBe('one');
    await agent.close();
  });

  test('while listing its tools delays a run only for waitMs too', async () => {
    const host = await open(plainHost({ 'tools/list': () => {} }));
    const { agent, lines } = agentWith(['one'], { mute: { url: host.url, waitMs: 50 } });
    expect(await agent.run('go')).toBe('one');
    expect(lines).toEqual([
      expect.stringMatching(/^MCP server "mute" has not (answered|listed its tools) within 50 ms/),
    ]);
    await agent.close();
  });
});

test('a server that prints text instead of MCP messages is reported after waitMs, with the text', async () => {
  const entry = { command: 'sh', args: ['-c', 'echo Listening on port 3000; sleep 60'], waitMs: 2_000 };
  const { agent, lines, statuses } = agentWith(['one'], { noisy: entry });
  await agent.run('go');
  await agent.close();
  const printed = 'It prints text on stdout that is not MCP: "Listening on port 3000"';
  expect(lines).toEqual([expect.stringContaining('MCP server "noisy" has not answered within 2000 ms')]);
  expect(lines[0]).toContain(printed);
  expect(statuses[1]).toContain(printed);
});

test('a server that stays away is logged once, not at every run', async () => {
  const host = await open(plainHost({ initialize: (response) => refuse(response, 500, 'broken') }));
  const { agent, lines } = agentWith(['one', 'two', 'three'], { it: { url: host.url } });
  for (const prompt of ['one', 'two', 'three']) await agent.run(prompt);
  await agent.close();
  expect(lines.filter((line) => line.includes('"it"'))).toHaveLength(1);
});

describe('the reason for a missing server', () => {
  const reasonOf = async (entry: McpServerEntry) => {
    const { client, reasons, lines, statuses } = testClient({ mcpConfig: { mcpServers: { it: entry } } });
    expect(await client.listTools()).toEqual([]);
    return { reason: reasons.at(-1), lines, statuses };
  };

  test('is the first fault, on one line, of an invalid list of tools', async () => {
    const tools = Array.from({ length: 30 }, (_, index) => ({ name: `t${index}`, inputSchema: { type: 'array' } }));
    const host = await open(plainHost({ 'tools/list': json({ result: { tools } }) }));
    const { reason, lines } = await reasonOf({ url: host.url });
    const fault = 'tools.0.inputSchema.type: Invalid input: expected "object", and 29 more faults';
    expect(reason).toBe(`MCP server "it" did not list its tools: the list is invalid (${fault})`);
    expect(lines.filter((line) => line.includes('"it"'))).toHaveLength(1);
  });

  test('is the error that the server answered, and the server stays connected', async () => {
    const host = await open(plainHost({ 'tools/list': json({ error: { code: -32_603, message: 'no database' } }) }));
    const { reason, statuses } = await reasonOf({ url: host.url });
    expect(reason).toBe('MCP server "it" did not list its tools: no database');
    expect(statuses).toEqual(['it: connected', 'it: failed']);
    expect(host.seen.filter(({ method }) => method === 'initialize')).toHaveLength(1);
  });

  test('says that the list broke off, for a server that is reachable', async () => {
    const host = await open(plainHost({ 'tools/list': (response) => response.destroy() }));
    const { reason } = await reasonOf({ url: host.url });
    expect(reason).toMatch(/^MCP server "it" did not list its tools: fetch failed/);
  });

  test('contains the last output of a program that ended while it was used', async () => {
    const { reason } = await reasonOf(stdio('stdio-odd.ts', 'ends-at-list'));
    expect(reason).toContain('It said: Error: no such database');
  });
});

test('a server that does not implement resources/list is not warned about', async () => {
  const capabilities = { tools: {}, resources: {} };
  const serverInfo = { name: 'bare', version: '1' };
  const host = await open(
    plainHost({
      initialize: json({ result: { protocolVersion: '2025-11-25', capabilities, serverInfo } }),
      'resources/templates/list': json({ error: { code: -32_601, message: 'Method not found' } }),
    }),
  );
  const { client, lines } = testClient({ mcpConfig: { mcpServers: { it: { url: host.url } } } });
  expect(await client.listResourceTemplates()).toEqual([]);
  expect(lines.filter((line) => line.includes('Method not found'))).toEqual([]);
});

describe('a warning about the number and size of tools', () => {
  const toolNamed = (name: string, description = 'x') => tool({ name, description, run: () => 'ok' });
  const warningsOf = async (tools: FunctionTool[], runs = 1) => {
    const { agent, lines } = agentWith(
      Array.from({ length: runs }, () => 'ok'),
      {},
      tools,
    );
    for (let run = 0; run < runs; run++) await agent.fork().run('x');
    return lines;
  };

  test('is logged once if there are more tools than OpenAI accepts', async () => {
    const many = Array.from({ length: 129 }, (_, index) => toolNamed(`t${index}`));
    expect(await warningsOf(many, 2)).toEqual([
      expect.stringMatching(/^Tester sends 129 tools, about \d+,000 tokens.* OpenAI refuses more than 128\./),
    ]);
    expect(await warningsOf(many.slice(1))).toEqual([]);
  });

  test('is logged if a few tools have long descriptions', async () => {
    expect(await warningsOf([toolNamed('long', 'x'.repeat(300_000))])).toEqual([
      expect.stringContaining('1 tools, about 86,000 tokens'),
    ]);
  });
});
