// Each caller has its own connection to a server: tokens of one caller never reach the connection of another.
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import {
  fileOAuth,
  type McpServerEntry,
  PocketAgent,
  PocketAgentClient,
  type PocketAgentOptions,
  tool,
} from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startProtectedHost } from '../fixtures/servers/authorization-server.ts';
import { folder, open } from '../fixtures/world.ts';
import { silent } from '../helpers.ts';
import { type PersonalHost, startPersonalHost } from './personal-host.ts';

type HttpEntry = Extract<McpServerEntry, { url: string }>;

const callTool = (name: string) => ({ toolCalls: [{ name, arguments: {} }] });

/** A model that calls `whoami` and repeats the result, as often as it is asked. */
function parrot(toolName = 'whoami'): ScriptedModel {
  const model = new ScriptedModel([]);
  let calls = 0;
  model.doGenerate = async (options) => {
    model.calls.push(options);
    const last = options.prompt.at(-1);
    const part = last?.role === 'tool' ? last.content[0] : undefined;
    const output = part?.type === 'tool-result' ? part.output : undefined;
    const script = output
      ? [{ text: output.type === 'text' ? output.value : JSON.stringify(output) }]
      : [{ toolCalls: [{ name: toolName, id: `call-${++calls}` }] }];
    return new ScriptedModel(script).doGenerate(options);
  };
  return model;
}

function agentWith(entry: HttpEntry, options: Partial<PocketAgentOptions> = {}): PocketAgent {
  const agent = new PocketAgent({ llmModel: parrot(), logger: silent, mcpServers: { it: entry }, ...options });
  onTestFinished(() => agent.close());
  return agent;
}

/** An entry whose headers have the token in the metadata of the run. */
const byMetadata = (host: PersonalHost, more: Partial<HttpEntry> = {}): HttpEntry => ({
  url: host.url,
  headers: ({ metadata }) => ({ Authorization: `Bearer ${metadata.token}` }),
  ...more,
});

describe.each(['2025', '2026'] as const)('a server of the %s era', (era) => {
  test('is called by each caller with the token of the caller, over a connection of the caller', async () => {
    const host = await open(startPersonalHost(era));
    const agent = agentWith(byMetadata(host));
    const tokens = { ann: host.issue('ann'), ben: host.issue('ben') };
    for (const caller of ['ann', 'ben', 'ann', 'ben'] as const)
      expect(await agent.run('Who am I?', { caller, metadata: { token: tokens[caller] } })).toBe(caller);
    expect(host.violations).toEqual([]);
    expect(host.refused).toEqual([]);
    if (era === '2025') expect(host.users()).toEqual(['ann', 'ben']);
  });

  test('shows each caller the tools of the caller only', async () => {
    const host = await open(startPersonalHost(era));
    const model = parrot();
    const agent = agentWith(byMetadata(host), { llmModel: model });
    const shown = async (caller: string) => {
      await agent.run('Hi.', { caller, metadata: { token: host.issue(caller) } });
      return model.calls
        .at(-1)
        ?.tools?.map(({ name }) => name)
        .filter((name) => name.startsWith('files'));
    };
    for (const caller of ['ann', 'ben', 'ann', 'eve']) expect(await shown(caller)).toEqual([`files_of_${caller}`]);
  });

  test('shows a caller its own tools also in runs of one step, which list them once', async () => {
    const host = await open(startPersonalHost(era));
    const callers = ['ann', 'ben', 'eve', 'joe'];
    const model = new ScriptedModel(callers.map(() => 'Hello.'));
    const agent = agentWith(byMetadata(host), { llmModel: model });
    for (const caller of callers) await agent.run('Hi.', { caller, metadata: { token: host.issue(caller) } });
    const shown = model.calls.map(({ tools = [] }) =>
      tools.map(({ name }) => name).filter((name) => /^files/.test(name)),
    );
    expect(shown).toEqual(callers.map((caller) => [`files_of_${caller}`]));
  });

  test('is called by parallel runs of forks without mixing them up', async () => {
    const host = await open(startPersonalHost(era));
    const agent = agentWith(byMetadata(host));
    const callers = Array.from({ length: 12 }, (_, index) => `user${index % 4}`);
    const answers = await Promise.all(
      callers.map((caller) => agent.fork().run('Who?', { caller, metadata: { token: host.issue(caller) } })),
    );
    expect(answers).toEqual(callers);
    expect(host.violations).toEqual([]);
  });
});

describe('headers', () => {
  test('get caller, metadata and signal, once for each run', async () => {
    const host = await open(startPersonalHost());
    const token = host.issue('ann');
    const headers = vi.fn((_run: object) => ({ Authorization: `Bearer ${token}` }));
    const agent = agentWith({ url: host.url, headers });
    await agent.run('Who?', { caller: 'ann', metadata: { role: 'editor' } });
    await agent.run('Who?', { caller: 'ann' });
    const asked = headers.mock.calls.map(([run]) => run);
    expect(asked).toEqual([
      { caller: 'ann', metadata: { role: 'editor' }, signal: expect.any(AbortSignal) },
      { caller: 'ann', metadata: {}, signal: expect.any(AbortSignal) },
    ]);
  });

  test('may be asynchronous, and a new token of the same caller is used in the same session', async () => {
    const host = await open(startPersonalHost());
    const agent = agentWith({
      url: host.url,
      headers: async ({ metadata }) => ({ Authorization: `Bearer ${metadata.token}` }),
    });
    const first = host.issue('ann');
    await agent.run('Who?', { caller: 'ann', metadata: { token: first } });
    host.revoke(first);
    expect(await agent.run('Who?', { caller: 'ann', metadata: { token: host.issue('ann') } })).toBe('ann');
    expect(host.users()).toEqual(['ann']);
    expect(host.refused).toEqual([]);
  });

  test('are made again when the server refuses them in the middle of a run', async () => {
    const host = await open(startPersonalHost());
    let token = host.issue('ann');
    const expire = tool({
      name: 'expire',
      description: 'Expires the token',
      run: () => {
        host.revoke(token);
        token = host.issue('ann');
        return 'expired';
      },
    });
    const model = new ScriptedModel([callTool('whoami'), callTool('expire'), callTool('whoami'), 'Done.']);
    const headers = () => ({ Authorization: `Bearer ${token}` });
    const agent = agentWith({ url: host.url, headers }, { llmModel: model, tools: [expire] });
    expect(await agent.run('Go.', { caller: 'ann' })).toBe('Done.');
    expect(JSON.stringify(agent.messages.at(-2))).toContain('"ann"');
    expect(host.refused.length).toBeGreaterThan(0);
    expect(host.violations).toEqual([]);
  });

  test('of the same caller are used after the server has lost the session', async () => {
    const host = await open(startPersonalHost());
    const agent = agentWith(byMetadata(host));
    const run = (caller: string) => agent.run('Who?', { caller, metadata: { token: host.issue(caller) } });
    expect([await run('ann'), await run('ben')]).toEqual(['ann', 'ben']);
    host.forgetSessions();
    expect([await run('ben'), await run('ann')]).toEqual(['ben', 'ann']);
    expect(host.violations).toEqual([]);
    expect(host.users()).toEqual(['ann', 'ben']);
  });

  test.each([
    ['throw', () => Promise.reject(new Error('no token for you')), 'failed for caller "ann": no token for you'],
    ['return nothing', () => undefined, 'must return an object of strings, for caller "ann"'],
  ])('that %s leave the caller without the tools, and say why; other callers go on', async (_what, fail, reason) => {
    const host = await open(startPersonalHost());
    const warnings: string[] = [];
    const logger = { ...silent, warn: (line: string) => void warnings.push(line) };
    const good = host.issue('ben');
    const headers = ({ caller }: { caller: string | undefined }) =>
      caller === 'ben' ? { Authorization: `Bearer ${good}` } : (fail() as unknown as Record<string, string>);
    const agent = agentWith({ url: host.url, headers }, { logger });
    expect(await agent.run('Who?', { caller: 'ann' })).toContain('There is no tool \\"whoami\\"');
    expect(warnings.join('\n')).toContain(`headers() of MCP server "it" ${reason}`);
    expect(await agent.run('Who?', { caller: 'ben' })).toBe('ben');
    expect(host.violations).toEqual([]);
  });

  test('that the server refuses are named in the error', async () => {
    const host = await open(startPersonalHost());
    const warnings: string[] = [];
    const logger = { ...silent, warn: (line: string) => void warnings.push(line) };
    const agent = agentWith(byMetadata(host), { logger });
    await agent.run('Who?', { caller: 'ann', metadata: { token: 'wrong' } });
    expect(warnings.join('\n')).toContain('refused the headers that "headers" of its entry returned');
    expect(warnings.join('\n')).not.toContain('wrong');
  });
});

describe('headers that never come', () => {
  test('hold up a run for waitMs and a connection for connectTimeoutMs, then another caller may use it', async () => {
    const host = await open(startPersonalHost());
    const warnings: string[] = [];
    const logger = { ...silent, warn: (line: string) => void warnings.push(line) };
    const headers = ({ caller, metadata }: { caller: string | undefined; metadata: Record<string, unknown> }) =>
      caller === 'ann' ? new Promise<never>(() => {}) : { Authorization: `Bearer ${metadata.token}` };
    const agent = agentWith({ url: host.url, headers, maxCallers: 1, waitMs: 20, connectTimeoutMs: 50 }, { logger });
    await agent.run('Who?', { caller: 'ann' });
    await expect.poll(() => warnings.join('\n')).toContain('headers() of MCP server "it" did not end within 50 ms.');
    await agent.fork().run('Who?', { caller: 'ben', metadata: { token: host.issue('ben') } });
    expect(warnings.join('\n')).not.toContain('are in use');
  });

  test('do not hold up close()', async () => {
    const host = await open(startPersonalHost());
    const asked = Promise.withResolvers<void>();
    const headers = () => {
      asked.resolve();
      return new Promise<never>(() => {});
    };
    const agent = agentWith({ url: host.url, headers, waitMs: 1 });
    await Promise.all([asked.promise, agent.run('Who?', { caller: 'ann' })]);
    await agent.close();
  });
});

test.each([
  ['a line break', { Authorization: 'Bearer secret-of-ann\r\nX-Role: admin' }, '"Authorization"'],
  ['a character that HTTP cannot send', { Authorization: 'Bearer secret-of-ann-🙂' }, '"Authorization"'],
  ['an invalid name', { 'Bad name': 'secret-of-ann' }, '"Bad name"'],
])('headers with %s are reported without their value', async (_what, headers, name) => {
  const host = await open(startPersonalHost());
  const warnings: string[] = [];
  const logger = { ...silent, warn: (line: string) => void warnings.push(line) };
  const agent = agentWith({ url: host.url, headers: () => headers }, { logger });
  await agent.run('Who?', { caller: 'ann' });
  const text = warnings.join('\n');
  expect(text).toContain(
    `headers() of MCP server "it" returned a header ${name} that cannot be sent, for caller "ann".`,
  );
  expect(text).not.toContain('secret-of-ann');
});

describe('a run without a caller', () => {
  test('does not share a connection with a run that has other metadata', async () => {
    const host = await open(startPersonalHost());
    const agent = agentWith(byMetadata(host));
    for (const user of ['ann', 'ben', 'ann'])
      expect(await agent.run('Who?', { metadata: { token: host.issue(user) } })).toBe(user);
    expect(host.violations).toEqual([]);
  });

  test('and without metadata shares one with others like it', async () => {
    const host = await open(startPersonalHost());
    const token = host.issue('service');
    const agent = agentWith({ url: host.url, headers: () => ({ Authorization: `Bearer ${token}` }) });
    await agent.run('Who?');
    expect(await agent.fork().run('Who?')).toBe('service');
    expect(host.users()).toEqual(['service']);
    expect((await agent.mcpClient.listTools()).map(({ name }) => name)).toContain('whoami');
  });
});

describe('caller and metadata', () => {
  const inner = (host: PersonalHost) => agentWith(byMetadata(host), { name: 'Inner' });

  test('reach sub-agents', async () => {
    const host = await open(startPersonalHost());
    const message = { name: 'Inner-message', arguments: { message: 'Who?' } };
    const llmModel = new ScriptedModel([{ toolCalls: [message] }, 'Done.']);
    const agent = new PocketAgent({ llmModel, subAgents: [inner(host)], logger: silent });
    onTestFinished(() => agent.close());
    await agent.run('Go.', { caller: 'ann', metadata: { token: host.issue('ann') } });
    expect(JSON.stringify(agent.messages.at(-2))).toContain('"ann"');
  });

  test('of one caller are not inherited by a run for another caller inside it', async () => {
    const host = await open(startPersonalHost());
    const other = inner(host);
    let seen = '';
    const delegate = tool({
      name: 'delegate',
      description: 'Asks for another person',
      run: async () => {
        seen = await other.run('Who?', { caller: 'ben' });
      },
    });
    const llmModel = new ScriptedModel([callTool('delegate'), 'Done.']);
    const agent = new PocketAgent({ llmModel, tools: [delegate], logger: silent });
    await agent.run('Go.', { caller: 'ann', metadata: { token: host.issue('ann') } });
    expect(seen).toContain('There is no tool');
    expect(host.accepted).toEqual([]);
  });

  test('are not sent to the server or the model', async () => {
    const host = await open(startPersonalHost());
    const model = parrot();
    const agent = agentWith(byMetadata(host), { llmModel: model });
    const token = host.issue('ann');
    await agent.run('Who?', { caller: 'ann', metadata: { token, salary: 'top secret' } });
    expect(JSON.stringify([model.calls, agent.messages])).not.toContain(token);
    expect(JSON.stringify([model.calls, agent.messages])).not.toContain('top secret');
  });
});

describe('connections of callers', () => {
  test('are closed at the server after idleMs, and opened again', async () => {
    const host = await open(startPersonalHost());
    const agent = agentWith(byMetadata(host, { idleMs: 50 }));
    const run = () => agent.run('Who?', { caller: 'ann', metadata: { token: host.issue('ann') } });
    await run();
    await expect.poll(() => host.users()).toEqual([]);
    expect(host.accepted).toContain('ann DELETE');
    expect(await run()).toBe('ann');
  });

  test('are limited: the one that was used least recently is closed', async () => {
    const host = await open(startPersonalHost());
    const agent = agentWith(byMetadata(host, { maxCallers: 2 }));
    for (const caller of ['ann', 'ben', 'ann', 'eve'])
      expect(await agent.run('Who?', { caller, metadata: { token: host.issue(caller) } })).toBe(caller);
    await expect.poll(() => host.users()).toEqual(['ann', 'eve']);
    expect(await agent.run('Who?', { caller: 'ben', metadata: { token: host.issue('ben') } })).toBe('ben');
    expect(host.violations).toEqual([]);
  });

  test('that are all in use are not closed for another caller', async () => {
    const host = await open(startPersonalHost());
    const started = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const warnings: string[] = [];
    const logger = { ...silent, warn: (line: string) => void warnings.push(line) };
    const headers = async ({ caller, metadata }: { caller: string | undefined; metadata: Record<string, unknown> }) => {
      if (caller === 'ann') {
        started.resolve();
        await go.promise;
      }
      return { Authorization: `Bearer ${metadata.token}` };
    };
    const agent = agentWith({ url: host.url, headers, maxCallers: 1 }, { logger });
    const first = agent.run('Who?', { caller: 'ann', metadata: { token: host.issue('ann') } });
    await started.promise;
    await agent.fork().run('Who?', { caller: 'ben', metadata: { token: host.issue('ben') } });
    expect(warnings.join('\n')).toContain('All connections of callers to MCP server "it" are in use (maxCallers: 1).');
    go.resolve();
    expect(await first).toBe('ann');
  });

  test('are all closed with the agent', async () => {
    const host = await open(startPersonalHost());
    const agent = agentWith(byMetadata(host));
    for (const caller of ['ann', 'ben']) await agent.run('Who?', { caller, metadata: { token: host.issue(caller) } });
    await agent.close();
    expect(host.users()).toEqual([]);
  });
});

describe('OAuth', () => {
  const setUp = async () => {
    const host = await open(startProtectedHost());
    const tokens = folder();
    const pages: string[] = [];
    const auth = ({ caller }: { caller: string | undefined }) =>
      fileOAuth({
        file: join(tokens, `${caller}.json`),
        redirectUrl: 'http://localhost:7777/callback',
        authorize: (url) => {
          pages.push(`${caller}`);
          return host.logIn(url);
        },
      });
    return { host, pages, auth };
  };
  const tokensIn = (host: { seen: { headers: { authorization?: string } }[] }, from: number) =>
    new Set(host.seen.slice(from).flatMap(({ headers }) => headers.authorization ?? []));

  test('has one login for each caller, whose tokens stay apart, also after a renewal', async () => {
    const { host, pages, auth } = await setUp();
    const llmModel = parrot('echo');
    const agent = agentWith({ url: host.url, auth }, { llmModel });
    const run = async (caller: string) => {
      const from = host.seen.length;
      await agent.run('Hi.', { caller });
      return tokensIn(host, from);
    };
    const ann = await run('ann');
    const ben = await run('ben');
    expect(pages).toEqual(['ann', 'ben']);
    expect([...ann].filter((token) => ben.has(token))).toEqual([]);
    host.expireTokens();
    const renewed = [await run('ben'), await run('ann')];
    expect(pages).toEqual(['ann', 'ben']);
    expect([...(renewed[0] ?? [])].filter((token) => ann.has(token) || renewed[1]?.has(token))).toEqual([]);
  });

  test('refuses a function that returns the login of another caller', async () => {
    const { host, auth } = await setUp();
    const shared = auth({ caller: 'everyone' });
    const warnings: string[] = [];
    const logger = { ...silent, warn: (line: string) => void warnings.push(line) };
    const agent = agentWith({ url: host.url, auth: () => shared }, { logger, llmModel: parrot('echo') });
    await agent.run('Hi.', { caller: 'ann' });
    const from = host.seen.length;
    await agent.run('Hi.', { caller: 'ben' });
    expect(host.seen).toHaveLength(from);
    expect(warnings.join('\n')).toContain('returned the login of another caller for caller "ben": make one for each');
  });
});

test.each([
  ['a number', { headers: 5 }, 'headers must be an object of strings, or a function that returns one'],
  ['maxCallers 0', { headers: () => ({}), maxCallers: 0 }, 'maxCallers must be a whole number greater than 0'],
])('%s in an entry is checked', (_what, more, message) => {
  const options = { llmModel: 'demo', mcpServers: { it: { url: 'http://localhost:1/mcp', ...more } } };
  const make = () => new PocketAgent(options as unknown as PocketAgentOptions);
  expect(make).toThrow(message);
});

test('a list of tools that has not changed for one caller keeps its revision, however many callers there are', async () => {
  const entry = { server: () => new McpServer({ name: 'it', version: '1.0.0' }), perCaller: true };
  const client = new PocketAgentClient({ mcpConfig: { mcpServers: { it: entry } }, logger: silent });
  onTestFinished(() => client.close());
  const revisions: number[] = [];
  const note = tool({
    name: 'note',
    description: 'Notes the revision',
    run: () => void revisions.push(client.revision),
  });
  const list = tool({ name: 'list', description: 'Lists tools', run: async () => void (await client.listTools()) });
  const runs = 1_103;
  const script = Array.from({ length: runs }, (_, index) => [callTool(index === 0 ? 'list' : 'note'), 'done']).flat();
  const agent = new PocketAgent({ llmModel: new ScriptedModel(script), logger: silent, tools: [note, list] });
  await agent.run('go', { caller: 'ann' });
  await agent.run('go', { caller: 'ann' });
  for (let index = 0; index < runs - 3; index++) await agent.run('go', { caller: `caller ${index}` });
  await agent.run('go', { caller: 'ann' });
  expect(new Set(revisions.slice(1, -1)).size).toBe(runs - 3);
  expect(revisions.at(-1)).toBe(revisions[0]);
});
