import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { remoteAgent } from '@pocket-agent/a2a';
import { PocketAgentClient } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clientOf as a2aClient, message, send } from '../../../a2a/test/fixtures/world.ts';
import { API_KEY } from '../../../pocket-agent/test/fixtures/providers/fake-dialect.ts';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { CommandFolder, commandLine, toolsFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();
const agentFile = () =>
  folder.file('served.json', { agentConfig: { llmModel: 'demo', name: 'Tester' }, tools: [toolsFolder] });
const [node = '', ...start] = commandLine;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The official client, connected to the command on stdin and stdout. */
async function overStdio(...args: string[]): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1' });
  ends.push(() => client.close());
  await client.connect(
    new StdioClientTransport({
      command: node,
      args: [...start, ...args],
      env: folder.env,
      cwd: folder.path,
      stderr: 'ignore',
    }),
  );
  return client;
}

type HttpServer = Awaited<ReturnType<typeof startHttp>>;

/** The command as an HTTP server, for one test. */
async function overHttp(...args: string[]): Promise<HttpServer> {
  const server = await startHttp(...args);
  ends.push(server.end);
  return server;
}

/** The command as an HTTP server: its process, its URL and its exit code. */
async function startHttp(...args: string[]) {
  const child: ChildProcess = spawn(node, [...start, ...args], {
    env: folder.env,
    cwd: folder.path,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const end = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  let told = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`It ended: ${told}`)));
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      told += text;
      const [, address] = /listening on (\S+)/.exec(told) ?? [];
      if (address) resolve(address);
    });
  });
  return { child, url, ended, end, told, stderr: () => told };
}

async function connected(url: string, token?: string, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1' }, options);
  ends.push(() => client.close());
  const headers = token ? { requestInit: { headers: { authorization: `Bearer ${token}` } } } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), headers));
  return client;
}

/** Of the only tool, for a client of the 2026 era. */
async function argumentsOfTool(url: string): Promise<string[]> {
  const client = await connected(url, 'secret-1', { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const [tool] = (await client.listTools()).tools;
  return Object.keys(tool?.inputSchema.properties ?? {});
}

describe('pocket-agent serve', () => {
  test.each(['--http', '--a2a'])('%s: a missing key ends the command before it listens', async (how) => {
    const file = await folder.file('keyless.json', { llmModel: 'anthropic/claude-sonnet-5', name: 'Tester' });
    const { code, stderr } = await folder.command(['serve', how, file]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('needs a key: set ANTHROPIC_API_KEY')]);
  });

  test('serves an agent file over MCP on stdin and stdout', async () => {
    const client = await overStdio('serve', await agentFile(), '--files', 'application/pdf', '--files', 'audio/*');
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(['Tester-message']);
    expect(tools[0]?.inputSchema.properties?.files).toMatchObject({
      description: expect.stringContaining('text, application/pdf, audio/*'),
    });
    const { content } = await client.callTool({ name: 'Tester-message', arguments: { message: 'greet Ada' } });
    expect(JSON.stringify(content)).toContain('Hello');
  });

  describe('--http --token', () => {
    let server: HttpServer;
    beforeAll(async () => {
      server = await startHttp('serve', await agentFile(), '--http', '--token', 'secret-1');
    });
    afterAll(() => server.end());

    test('requires the token', async () => {
      await expect(connected(server.url)).rejects.toThrow();
      const client = await connected(server.url, 'secret-1');
      expect((await client.listTools()).tools).toHaveLength(1);
    });

    test('a client names its conversation', async () => {
      expect(await argumentsOfTool(server.url)).toEqual(['message', 'conversation_id']);
    });

    test('ends with 143 on SIGTERM', async () => {
      server.child.kill('SIGTERM');
      expect(await server.ended).toBe(143);
    });
  });

  test('--conversation per-token: a client does not name its conversation', async () => {
    const args = ['--http', '--token', 'secret-1', '--conversation', 'per-token'];
    const { url } = await overHttp('serve', await agentFile(), ...args);
    expect(await argumentsOfTool(url)).toEqual(['message']);
  });

  test('--a2a serves an A2A agent, --files with files', async () => {
    const { url } = await overHttp('serve', await agentFile(), '--a2a', '--files', 'application/pdf');
    const card = await (await fetch(new URL('/.well-known/agent-card.json', url))).json();
    expect(card).toMatchObject({ defaultInputModes: expect.arrayContaining(['application/pdf']) });
    const other = remoteAgent(url);
    ends.push(async () => other.close?.());
    expect((await other.listTools()).length).toBeGreaterThan(0);
  });

  test.each([
    [['x.json', '--port', '80'], '--port needs --http'],
    [['x.json', '--http', '--port', 'eighty'], '--port must be a number from 0 to 65535'],
    [
      ['x.json', '--http', '--conversation', 'mine'],
      '--conversation must be per-client, per-token, shared, not "mine"',
    ],
    [['x.json', '--conversation', 'per-token'], '--conversation per-token needs --http and --token'],
    [['x.json', '--a2a', '--conversation', 'shared'], '--conversation applies to MCP only'],
  ])('wrong usage is explained: %j', async (args, message) => {
    const { code, stdout, stderr } = await folder.command(['serve', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});

describe('pocket-agent serve --conversations', () => {
  let providers: FakeProviders;
  beforeAll(async () => {
    providers = await FakeProviders.start();
  });
  afterAll(() => providers.close());
  afterEach(() => providers.reset());

  const scripted = (more: object = {}) =>
    folder.file('scripted.json', {
      llmModel: 'openai-compatible/x',
      name: 'Tester',
      modelSettings: { baseUrl: providers.baseUrl('openai-compatible'), apiKey: API_KEY },
      ...more,
    });
  const database = (name: string) => ['--conversations', join(folder.path, name)];
  const sent = () =>
    providers.lastBody.at('messages').list.flatMap((message) => {
      const content = message.at('content');
      return message.at('role').text === 'user' ? content.text || content.at(0, 'text').text : [];
    });
  const say = (client: Client, message: string) => client.callTool({ name: 'Tester-message', arguments: { message } });

  /** Serves until `work` has ended, then kills the process. */
  async function whileServed<Result>(args: string[], work: (url: string) => Promise<Result>): Promise<Result> {
    const { url, child, ended } = await overHttp('serve', await scripted(), '--http', '--token', 'secret-1', ...args);
    try {
      return await work(url);
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
  }

  /** Says "one" before the kill, and "two" after it, in the same conversation. */
  const protocols = [
    {
      protocol: 'A2A',
      args: ['--a2a'],
      async talk(serve: typeof whileServed, args: string[]) {
        const contextId = await serve(args, async (url) => {
          const client = await a2aClient(url, { token: 'secret-1' });
          return (await send(client, message('one'))).contextId;
        });
        await serve(args, async (url) =>
          send(await a2aClient(url, { token: 'secret-1' }), message('two', { contextId })),
        );
      },
    },
    {
      protocol: 'MCP',
      args: ['--conversation', 'per-token'],
      async talk(serve: typeof whileServed, args: string[]) {
        for (const text of ['one', 'two'])
          await serve(args, async (url) => say(await connected(url, 'secret-1'), text));
      },
    },
  ];

  test.each(protocols)('$protocol: conversations continue after the server was killed', async (each) => {
    providers.script('One.', 'Two.');
    await each.talk(whileServed, [...database(`${each.protocol}.sqlite`), ...each.args]);
    expect(sent()).toEqual(['one', 'two']);
  });

  test('a shared conversation continues, and an agent with memory remembers over the same database', async () => {
    const args = [...database('shared.sqlite'), '--conversation', 'shared'];
    const file = await scripted({ memory: true });
    providers.script({ toolCalls: [{ name: 'remember', arguments: { text: 'Ada likes tea.' } }] }, 'I will.');
    const first = await overStdio('serve', file, ...args);
    await say(first, 'I like tea.');
    await first.close();
    providers.script({ toolCalls: [{ name: 'recall', arguments: {} }] }, 'Tea.');
    const second = await overStdio('serve', file, ...args);
    await say(second, 'What do I like?');
    expect(JSON.stringify(providers.lastBody.at('messages').list.at(-1)?.value)).toContain('Ada likes tea.');
    expect(sent()).toEqual(['I like tea.', 'What do I like?']);
    const { code, stderr } = await folder.command(['serve', file]);
    expect(code).toBe(2);
    expect(stderr).toContain('scripted.json: memory needs a database: pocket-agent serve --conversations FILE');
  });

  test('a database that cannot be opened ends with exit code 2', async () => {
    const { code, stderr } = await folder.command(['serve', await scripted(), '--conversations', 'mysql://x']);
    expect(code).toBe(2);
    expect(stderr).toContain('The conversations cannot be opened: The database URL must start with postgres://');
  });
});

describe('pocket-agent serve-tools', () => {
  test('serves several tool folders over MCP on stdin and stdout, limited by a profile', async () => {
    const paths = [join(toolsFolder, 'Greeter'), join(toolsFolder, 'Counter'), 'notes'];
    const client = await overStdio('serve-tools', '--profile', 'reader', ...paths);
    const names = (await client.listTools()).tools.map((tool) => tool.name).sort();
    expect(names).toEqual(['count', 'find_notes', 'greet', 'read_note']);
    await expect(client.callTool({ name: 'save_note', arguments: { title: 'a', text: 'b' } })).rejects.toThrow();
    const { content } = await client.callTool({ name: 'greet', arguments: { who: 'Ada' } });
    expect(content).toEqual([{ type: 'text', text: 'Hello Ada!' }]);
    await expect(client.callTool({ name: 'absent', arguments: {} })).rejects.toThrow('absent');
  });

  test('fails if no folder works', async () => {
    const broken = join(folder.path, 'none', 'Broken');
    await mkdir(broken, { recursive: true });
    await writeFile(join(broken, 'manifest.yaml'), 'tool_list: nothing\n');
    const { code, stdout, stderr } = await folder.command(['serve-tools', broken]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/Broken\/manifest\.yaml:1:.*\nNothing to serve: fix the problems above in Broken\.\n$/s);
  });

  test('two paths with the same tool name are refused', async () => {
    const { code, stderr } = await folder.command(['serve-tools', join(toolsFolder, 'Greeter'), toolsFolder]);
    expect(code).toBe(2);
    expect(stderr).toContain(' both have a tool "greet". Rename one.');
  });

  describe('--watch', () => {
    let server: HttpServer;
    const inFolder = (...path: string[]) => join(folder.path, 'watched', ...path);
    const greeter = () => inFolder('Greeter', 'tool.ts');
    beforeAll(async () => {
      await cp(toolsFolder, inFolder(), { recursive: true });
      await writeFile(inFolder('Counter', 'manifest.yaml'), 'tool_list: nothing\n');
      server = await startHttp('serve-tools', inFolder(), '--http', '--watch');
    });
    afterAll(() => server.end());

    test('serves the folders that work beside a broken one', () => {
      expect(server.told).toContain('Serving without Counter.');
    });

    test('an agent sees the edit of a folder', async () => {
      const mcpConfig = { mcpServers: { tools: { url: server.url } } };
      const agent = new PocketAgentClient({ mcpConfig, logger: silent });
      ends.push(() => agent.close());
      const greet = async () => JSON.stringify((await agent.callTool('greet', { who: 'Ada' })).content);
      expect(await greet()).toContain('Hello Ada!');
      const code = await readFile(greeter(), 'utf8');
      await writeFile(greeter(), code.replace('Hello', 'Goodbye'));
      await expect.poll(greet).toContain('Goodbye');
    });

    test('an edit that breaks a folder is reported, and so is its fix', async () => {
      const { stderr } = server;
      const code = await readFile(greeter(), 'utf8');
      await writeFile(greeter(), 'throw new Error("half an edit");\n');
      await expect.poll(stderr).toContain('Says hello is broken; calls use the code from before that edit.\n');
      expect(stderr()).toMatch(/Greeter\/tool\.ts:1:1: found an error: half an edit; expected a module that loads\n/);
      await writeFile(greeter(), code);
      await expect.poll(stderr).toContain('Says hello works again.\n');
    });
  });

  test('a path without a tool folder is refused with advice', async () => {
    const { code, stderr } = await folder.command(['serve-tools', folder.path]);
    expect(code).toBe(2);
    expect(stderr).toContain('There is no tool folder in ');
  });
});
