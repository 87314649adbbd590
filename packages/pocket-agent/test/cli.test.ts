import { type ExecFileException, execFile, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the command with only what a bare machine has in its environment. */
function command(
  args: string[],
  { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const bare = { PATH: process.env.PATH ?? '', OLLAMA_BASE_URL: 'http://127.0.0.1:9/v1', ...env };
    const done = (error: ExecFileException | null, stdout: string, stderr: string) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    const child = execFile(process.execPath, ['-C', 'pocket-agent/source', main, ...args], { env: bare }, done);
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
