import { type ExecFileException, execFile, spawn } from 'node:child_process';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY } from './fixtures/fake-dialect.ts';
import { FakeProviders } from './fixtures/fake-providers.ts';

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
const stdioServer = fileURLToPath(new URL('./fixtures/stdio-server.ts', import.meta.url));
const oddServer = fileURLToPath(new URL('./fixtures/stdio-odd.ts', import.meta.url));

const started = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: ['-C', 'pocket-agent/source', file, ...args],
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-cli-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function configFile(name: string, mcpServers: object): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, JSON.stringify({ mcpServers }));
  return file;
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the command with only what a bare machine has in its environment. */
function command(
  args: string[],
  { env = {}, input = '', cwd }: { env?: Record<string, string>; input?: string; cwd?: string } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const bare = { PATH: process.env.PATH ?? '', OLLAMA_BASE_URL: 'http://127.0.0.1:9/v1', ...env };
    const done = (error: ExecFileException | null, stdout: string, stderr: string) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    const child = execFile(
      process.execPath,
      ['-C', 'pocket-agent/source', main, ...args],
      { env: bare, ...(cwd ? { cwd } : {}) },
      done,
    );
    child.stdin?.end(input);
  });
}

describe('pocket-agent "question"', () => {
  test('answers with real MCP tools and without a key, and says that it is no LLM', async () => {
    const { code, stdout, stderr } = await command(['What is 17% of 2380, and what time is it in Tokyo?']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/not an LLM.*404\.6.*Asia\/Tokyo/s);
    expect(stderr).toMatch(/model: demo \(no key is set.*→ calculate.*← .*404\.6/s);
  });

  test('--quiet prints the answer only, and a question may come on stdin', async () => {
    const { stdout, stderr } = await command(['--quiet'], { input: 'What is 6 * 7?\n' });
    expect(stdout).toContain('42');
    expect(stderr).toBe('');
  });

  test('a key that is set chooses the model, --model goes before it', async () => {
    const unreachable = { ANTHROPIC_API_KEY: 'x', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/v1' };
    const asked = await command(['--model', 'demo', 'What is 1 + 1?'], { env: unreachable });
    expect(asked.stderr).toContain('model: demo (you asked for it)');
    const unknown = await command(['--model', 'wishful', 'Hi'], { env: unreachable });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('Unknown model "wishful"');
  });

  test('a local Ollama is used when there is one', async () => {
    const server = createServer((request, response) => {
      response.setHeader('content-type', 'application/json');
      if (request.url === '/api/tags') return response.end(JSON.stringify({ models: [{ name: 'tiny:1b' }] }));
      response.setHeader('content-type', 'text/event-stream');
      const chunk = (delta: object, finish_reason: string | null) =>
        `data: ${JSON.stringify({ id: '1', created: 1, model: 'tiny:1b', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      return response.end(
        `${chunk({ role: 'assistant', content: 'I am tiny.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const { stdout, stderr } = await command(['Who are you?'], {
        env: { OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1` },
      });
      expect(stderr).toContain('model: ollama/tiny:1b (Ollama runs on this machine)');
      expect(stdout).toBe('I am tiny.\n');
    } finally {
      server.close();
    }
  });

  test('no question, and an unknown option, show the usage and exit with 2', async () => {
    expect(await command([])).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: pocket-agent') });
    expect(await command(['--wat'])).toMatchObject({ code: 2, stderr: expect.stringContaining("'--wat'") });
  });

  test('--help and --version go to stdout', async () => {
    expect((await command(['--help'])).stdout).toContain('Usage: pocket-agent');
    expect((await command(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('an interrupt ends it at once with 130, its server too', async () => {
    const hanging = createServer(() => {});
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    const { port } = hanging.address() as AddressInfo;
    const env = { PATH: process.env.PATH ?? '', OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}` };
    const asked = new Promise<void>((resolve) => hanging.once('request', () => resolve()));
    const child = spawn(process.execPath, ['-C', 'pocket-agent/source', main, '-m', 'openai-compatible/x', 'Hi'], {
      env,
      stdio: 'ignore',
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await asked;
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    hanging.closeAllConnections();
    hanging.close();
  });
});

describe('calls that need a yes, without a terminal', { timeout: 20_000 }, () => {
  const asked = async (...args: string[]) => {
    const file = await configFile('erase.json', {
      one: { ...started(stdioServer), capabilities: { echo: 'delete', pid: 'read' } },
    });
    const providers = await FakeProviders.start();
    providers.script({ toolCalls: [{ name: 'echo', arguments: { text: 'gone' } }] }, 'Done.');
    const env = {
      OPENAI_COMPATIBLE_BASE_URL: providers.baseUrl('openai-compatible'),
      OPENAI_COMPATIBLE_API_KEY: API_KEY,
    };
    try {
      const outcome = await command(['-m', 'openai-compatible/x', '--config', file, ...args, 'Erase it'], { env });
      expect(providers.refused).toEqual([]);
      const shown = providers.lastBody.at('tools').list.map((tool) => tool.at('function', 'name').text);
      return { ...outcome, shown, sent: JSON.stringify(providers.lastBody.value) };
    } finally {
      await providers.close();
    }
  };

  test('are refused, the model reads why, and the way out is told', async () => {
    const { code, stderr, sent } = await asked();
    expect(code).toBe(0);
    expect(sent).toContain('nobody to ask');
    expect(stderr).toMatch(/✗ .*nobody to ask/);
    expect(stderr).toContain('--yes allows every call');
  });

  test('--yes allows them', async () => {
    expect((await asked('--yes')).stderr).toContain('← gone');
  });

  test('--confirm never asks for nothing', async () => {
    expect((await asked('--confirm', 'never')).stderr).toContain('← gone');
  });

  test('--profile hides what it does not allow, whatever --yes says', async () => {
    const { shown, stderr } = await asked('--profile', 'reader', '--yes');
    expect(shown).toContain('pid');
    expect(shown).not.toContain('echo');
    expect(stderr).toMatch(/✗ .*may not be called here/);
  });

  test('a profile, a policy or a file that does not exist is a mistake of whoever called: 2', async () => {
    expect(await command(['--profile', 'king', 'Hi'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no profile "king"'),
    });
    expect(await command(['--confirm', 'maybe', 'Hi'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--confirm must be one of never'),
    });
    expect(await command(['--config', 'absent.json', 'Hi'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Cannot read absent.json'),
    });
  });
});

describe('pocket-agent tools', { timeout: 20_000 }, () => {
  const rowsOf = (stdout: string) =>
    new Map(stdout.split('\n').map((line) => [line.split(/ {2,}/)[0], line.split(/ {2,}/).slice(1)]));

  test('lists the built-in tools in columns that stand below each other', async () => {
    const { code, stdout, stderr } = await command(['tools', '--profile', 'reader'], { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = rowsOf(stdout);
    expect(rows.get('tool')).toEqual(['capability', 'from', 'allowed']);
    expect(rows.get('calculate')).toEqual(['read', 'meta', 'yes']);
    const starts = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.search(/(capability|read) /));
    expect(new Set(starts).size).toBe(1);
  });

  test('tells what each judgement was concluded from, and why a profile says no', async () => {
    const file = await configFile('two.json', {
      known: { ...started(stdioServer), capabilities: { meta: 'write' } },
      strange: { ...started(stdioServer), trust: false },
    });
    const { code, stdout } = await command(['tools', '--profile', 'writer', '--config', file]);
    expect(code).toBe(0);
    const rows = rowsOf(stdout);
    expect(rows.get('known_echo')).toEqual(['read', 'annotations', 'yes']);
    expect(rows.get('known_meta')).toEqual(['write', 'config', 'yes']);
    const no = 'no: it can delete, and only read, write is allowed';
    expect(rows.get('known_wait')).toEqual(['delete', 'nothing', no]);
    expect(rows.get('strange_echo')).toEqual(['delete', 'distrust', no]);
  });

  test('a file that lies in the folder is not used unless it is named: it may be a stranger’s', async () => {
    const home = await mkdtemp(join(folder, 'home-'));
    const touch = { command: process.execPath, args: ['-e', `require('fs').writeFileSync('touched', '')`] };
    await writeFile(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { touch } }));
    const { stdout } = await command(['tools'], { cwd: home });
    expect(stdout).toContain('calculate');
    await expect(access(join(home, 'touched'))).rejects.toThrow();
  });

  test('--json gives one object per line', async () => {
    const home = await mkdtemp(join(folder, 'home-'));
    await writeFile(join(home, '.mcp.json'), JSON.stringify({ mcpServers: { one: started(stdioServer) } }));
    const { stdout } = await command(['tools', '--json', '--profile', 'reader', '--config', '.mcp.json'], {
      cwd: home,
    });
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows).toContainEqual({ tool: 'echo', capability: 'read', from: 'annotations', allowed: true });
    expect(rows).toContainEqual({
      tool: 'wait',
      capability: 'delete',
      from: 'nothing',
      allowed: false,
      reason: 'it can delete, and only read is allowed',
    });
  });

  test('a server that fails is reported; only when none answers is that a failure', async () => {
    const broken = started(oddServer, 'exits');
    const some = await command([
      'tools',
      '--config',
      await configFile('some.json', { broken, one: started(stdioServer) }),
    ]);
    expect(some.code).toBe(0);
    expect(some.stdout).toContain('one_echo');
    expect(some.stderr).toMatch(/^server broken: .*API_TOKEN is wrong/m);
    const none = await command(['tools', '--config', await configFile('none.json', { broken })]);
    expect(none).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('No MCP server answered') });
  });

  test('a file that is no JSON, or holds no servers, is named', async () => {
    const file = join(folder, 'broken.json');
    await writeFile(file, '{ nope');
    expect(await command(['tools', '--config', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('broken.json is not JSON'),
    });
    await writeFile(file, '{ "tests": 3 }');
    expect(await command(['tools', '--config', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('broken.json must hold an object "mcpServers"'),
    });
  });
});
