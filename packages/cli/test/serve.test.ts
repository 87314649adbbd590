import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { remoteAgent } from '@pocket-agent/a2a';
import { PocketAgentClient } from 'pocket-agent';
import { afterEach, describe, expect, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { CommandFolder, commandLine, toolsFolder } from './fixtures/command.ts';

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

/** The command as an HTTP server: its process, its URL and its exit code. */
async function overHttp(...args: string[]) {
  const child: ChildProcess = spawn(node, [...start, ...args], {
    env: folder.env,
    cwd: folder.path,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  ends.push(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let told = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`It ended: ${told}`)));
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      told += text;
      const [, address] = /listening on (\S+)/.exec(told) ?? [];
      if (address) resolve(address);
    });
  });
  return { child, url, ended, told, stderr: () => told };
}

async function connected(url: string, token?: string, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1' }, options);
  ends.push(() => client.close());
  const headers = token ? { requestInit: { headers: { authorization: `Bearer ${token}` } } } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), headers));
  return client;
}

describe('pocket-agent serve', () => {
  test('serves an agent file over MCP on stdin and stdout', async () => {
    const client = await overStdio('serve', await agentFile());
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(['Tester-message']);
    const { content } = await client.callTool({ name: 'Tester-message', arguments: { message: 'greet Ada' } });
    expect(JSON.stringify(content)).toContain('Hello');
  });

  test.each([
    ['per-client', ['message', 'conversation_id']],
    ['per-token', ['message']],
  ])(
    'requires the token over HTTP; --conversation %s: the tool takes %j; ends with 143 on SIGTERM',
    async (conversation, properties) => {
      const args = ['--http', '--token', 'secret-1', '--conversation', conversation];
      const { url, child, ended } = await overHttp('serve', await agentFile(), ...args);
      await expect(connected(url)).rejects.toThrow();
      const client = await connected(url, 'secret-1', { versionNegotiation: { mode: { pin: '2026-07-28' } } });
      const [tool, ...others] = (await client.listTools()).tools;
      expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(properties);
      expect(others).toEqual([]);
      await client.close();
      child.kill('SIGTERM');
      expect(await ended).toBe(143);
    },
  );

  test('--a2a serves an A2A agent', async () => {
    const { url } = await overHttp('serve', await agentFile(), '--a2a');
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
    expect(stderr).toContain(' both have a tool "greet": rename one.');
  });

  test('--watch: an agent sees the edit of a folder, beside a broken one; a broken edit and its fix are reported', async () => {
    const own = join(folder.path, 'watched');
    await cp(toolsFolder, own, { recursive: true });
    await writeFile(join(own, 'Counter', 'manifest.yaml'), 'tool_list: nothing\n');
    const { url, told, stderr } = await overHttp('serve-tools', own, '--http', '--watch');
    expect(told).toContain('Serving without Counter.');
    const agent = new PocketAgentClient({ mcpConfig: { mcpServers: { tools: { url } } }, logger: silent });
    ends.push(() => agent.close());
    const greet = async () => JSON.stringify((await agent.callTool('greet', { who: 'Ada' })).content);
    expect(await greet()).toContain('Hello Ada!');
    const file = join(own, 'Greeter', 'tool.ts');
    const code = await readFile(file, 'utf8');
    await writeFile(file, code.replace('Hello', 'Goodbye'));
    await expect.poll(greet).toContain('Goodbye');
    await writeFile(file, 'throw new Error("half an edit");\n');
    await expect.poll(stderr).toContain('Says hello is broken; calls use the code from before that edit.\n');
    expect(stderr()).toMatch(/Greeter\/tool\.ts:1:1: found an error: half an edit; expected a module that loads\n/);
    await writeFile(file, code);
    await expect.poll(stderr).toContain('Says hello works again.\n');
  });

  test('a path without a tool folder is refused with advice', async () => {
    const { code, stderr } = await folder.command(['serve-tools', folder.path]);
    expect(code).toBe(2);
    expect(stderr).toContain('There is no tool folder in ');
  });
});
