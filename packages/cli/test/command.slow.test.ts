import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../../pocket-agent/test/fixtures/providers/fake-dialect.ts';
import { FakeProviders, PIXEL } from '../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import {
  CommandFolder,
  commandLine,
  SCRIPTED,
  scriptedBy,
  started,
  stdioServer,
  toolsFolder,
} from './fixtures/command.ts';

type Script = readonly (string | FakeAnswer)[];

const folder = new CommandFolder();
const command = folder.command.bind(folder);

let providers: FakeProviders;
beforeAll(async () => {
  providers = await FakeProviders.start();
});
afterAll(() => providers.close());

/** Without the built-in server, which takes time to start. */
async function withoutServers(...args: string[]): Promise<string[]> {
  return ['--mcp', await folder.servers('none.json', {}), ...args];
}

/** Asks the scripted model; also returns the last request it received. */
async function scripted(script: Script, ...args: string[]) {
  return scriptedWith('', script, ...args);
}

async function scriptedWith(input: string, script: Script, ...args: string[]) {
  providers.script(...script);
  const hasServers = args.includes('--mcp') || args.includes('--config');
  const all = hasServers ? args : await withoutServers(...args);
  const outcome = await command([...SCRIPTED, ...all], { env: scriptedBy(providers), input });
  const sent = providers.lastBody;
  expect(providers.rejected).toEqual([]);
  providers.reset();
  return { ...outcome, sent };
}

describe('pocket-agent "prompt"', () => {
  test('answers with MCP tools and the demo model, and says that it is not an LLM', async () => {
    const { code, stdout, stderr } = await command(['What is 17% of 2380, and what time is it in Tokyo?']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/not an LLM.*404\.6.*Asia\/Tokyo/s);
    expect(stderr).toMatch(/model: demo \(no API key is set.*→ calculate.*← .*404\.6/s);
    expect(stderr).toMatch(/2 model calls, 2 tool calls · \d+ tokens in, \d+ out · \$0\.0000\n$/);
  });

  test.each([
    ['/tools\nWhat is 6 * 7?\n', '/tools is sent to the model: commands need a chat, in a terminal.\n'],
    ['/usr\nWhat is 6 * 7?\n', ''],
  ])('%j has a command of the chat or not', async (input, notice) => {
    const { stderr } = await command(await withoutServers(), { input });
    expect(stderr).toContain(notice);
    expect(stderr.includes('need a chat')).toBe(notice !== '');
  });

  test('--quiet prints only the answer; the prompt can come from stdin', async () => {
    const { stdout, stderr } = await command(['--quiet'], { input: 'What is 6 * 7?\n' });
    expect(stdout).toContain('42');
    expect(stderr).toBe('');
  });

  test('piped input is appended to the prompt after a blank line', async () => {
    const { sent } = await scriptedWith('line one\nline two\n', ['Done.'], 'Summarize', 'this');
    expect(sent.at('messages', 1, 'content').text).toBe('Summarize this\n\nline one\nline two');
  });

  test('in a pipe stdout has only the final answer, unformatted; earlier text goes to stderr', async () => {
    const file = await folder.servers('one.json', { one: started(stdioServer) });
    const script = [{ text: 'Let me look.', toolCalls: [{ name: 'pid', arguments: {} }] }, '# It is **done**.\n\n- a'];
    const { stdout, stderr } = await scripted(script, '--mcp', file, 'Go');
    expect(stdout).toBe('# It is **done**.\n\n- a\n');
    expect(stderr).toMatch(/Let me look\.\n→ pid/);
  });

  test('--yes also approves the calls of a served agent', async () => {
    const agent = { llmModel: 'demo', name: 'Counting', tools: [toolsFolder], access: { confirm: 'always' } };
    const [program = '', ...args] = commandLine;
    const serve = [...args, 'serve', await folder.file('counting.json', agent)];
    const entry = { command: program, args: serve, env: folder.env, waitMs: 60_000 };
    const file = await folder.servers('counting-server.json', { counting: entry });
    const asked = { toolCalls: [{ name: 'Counting-message', arguments: { message: 'count text=banana' } }] };
    const { sent } = await scripted([asked, 'Eleven.'], '--yes', '--mcp', file, 'Count');
    expect(JSON.stringify(sent.at('messages').list.at(-1)?.value)).toContain('\\n11');
  });

  test('a misspelt command is refused, and no model is asked', async () => {
    const { code, stderr } = await command([...SCRIPTED, 'docter'], { env: scriptedBy(providers) });
    expect([code, providers.requests]).toEqual([2, []]);
    expect(stderr).toContain(
      'There is no command "docter". Did you mean "doctor"? Put a prompt that begins with this word after --.',
    );
    expect((await command(['serv', 'agent.json'])).stderr).toContain('Did you mean "serve"?');
    for (const prompt of [['--', 'tools'], ['--', 'docter'], ['serv as an example'], ['Hello']]) {
      expect((await scripted(['Which?'], ...prompt)).stdout).toBe('Which?\n');
    }
  });

  test('the API key that is set chooses the model; --model overrides it', async () => {
    const unreachable = { ANTHROPIC_API_KEY: 'x', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/v1' };
    const asked = await command(await withoutServers('--model', 'demo', 'What is 1 + 1?'), { env: unreachable });
    expect(asked.stderr).toContain('model: demo (requested)');
    const unknown = await command(['--model', 'wishful', 'Hi'], { env: unreachable });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('Unknown model "wishful"');
  });

  test('a local Ollama is used if it runs', async () => {
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
      const { stdout, stderr } = await command(await withoutServers('Who are you?'), {
        env: { OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1` },
      });
      expect(stderr).toContain('model: ollama/tiny:1b (Ollama runs on this machine)');
      expect(stdout).toBe('I am tiny.\n');
    } finally {
      server.close();
    }
  });

  test('--image detects the type of an image by its content', async () => {
    const file = await folder.file('cat.txt', Buffer.from(PIXEL, 'base64'));
    const { sent } = await scripted(['A cat.'], '--image', file, '--image', file, 'What is this?');
    const parts = sent.at('messages', 1, 'content').list;
    expect(parts.map((part) => part.at('image_url', 'url').text.slice(0, 22))).toEqual([
      '',
      'data:image/png;base64,',
      'data:image/png;base64,',
    ]);
    const text = await folder.file('dog.png', 'not an image');
    expect(await command(['--image', text, 'Hi'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('dog.png is not an image'),
    });
    expect(await command(['--image', folder.path, 'Hi'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Cannot read ${folder.path}: it is not a regular file`),
    });
  });

  test('--file sends PDF and text files; a type that the model does not take is an error', async () => {
    const pdf = Buffer.from('%PDF-1.7');
    const report = await folder.file('report.pdf', pdf);
    const notes = await folder.file('notes', 'the secret is 42');
    const { sent } = await scripted(['Read.'], '--file', report, '--file', notes, 'What is this?');
    const parts = sent.at('messages', 1, 'content').list;
    expect(parts[1]?.at('file', 'file_data').text).toBe(`data:application/pdf;base64,${pdf.toString('base64')}`);
    expect(parts[1]?.at('file', 'filename').text).toBe('report.pdf');
    expect(parts[2]?.at('text').text).toContain('[file notes]\nthe secret is 42');
    const zip = await folder.file('a.zip', Buffer.from('PK\x03\x04\x00', 'latin1'));
    expect(await command([...SCRIPTED, '--file', zip, 'Hi'], { env: scriptedBy(providers) })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The type of "a.zip" is unknown'),
    });
  });

  test('control characters of models and tools are made visible on stderr', async () => {
    const file = await folder.servers('one.json', { one: started(stdioServer) });
    const evil = '\u001b[2J\u001b]0;owned\u0007\u202e';
    const script = [{ text: evil, toolCalls: [{ name: 'echo', arguments: { text: evil } }] }, 'ok'];
    const { stderr } = await scripted(script, '--mcp', file, 'Go');
    expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(stderr).toContain('← �[2J�]0;owned��');
  });
});

describe('exit codes (more for 2: help.test.ts)', () => {
  test.each([
    ['an invalid limit', ['--max-cost', 'free', 'Hi'], '--max-cost must be a number greater than 0'],
    ['a fraction of a step', ['--max-steps', '1.5', 'Hi'], '--max-steps must be a whole number'],
    ['an unknown price', [...SCRIPTED, '--max-cost', '1', 'Hi'], 'price'],
  ])('2: %s', async (_what, args, message) => {
    const { code, stdout, stderr } = await command(args, { env: scriptedBy(providers) });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test.each([
    [{ status: 401, message: 'Wrong key.' }, 'Check the key: OPENAI_COMPATIBLE_API_KEY or modelSettings.apiKey.'],
    [{ status: 404, message: 'No such model.' }, 'The provider does not know "x"'],
  ])('2: the provider refuses the key or the model: %j', async (answer, message) => {
    const { code, stdout, stderr } = await scripted([answer], 'Hi');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('1: the model fails', async () => {
    const { code, stdout, stderr } = await scripted(
      [{ status: 400, message: 'Your question is \u001b[31mwrong' }],
      'Hi',
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/pocket-agent: .*wrong/);
    expect(stderr).not.toContain('\u001b');
  });

  test('3: a limit was reached', async () => {
    const file = await folder.servers('one.json', { one: started(stdioServer) });
    const { code, stderr } = await scripted(
      [{ toolCalls: [{ name: 'pid', arguments: {} }] }],
      '--mcp',
      file,
      '--max-steps',
      '1',
      'Hi',
    );
    expect(code).toBe(3);
    expect(stderr).toMatch(/stopped after 1 step without .*\(--max-steps\)/);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the command with %i', async (signal, code) => {
    providers.script({ hang: 'immediately' });
    const [node = '', ...args] = [...commandLine, ...SCRIPTED, 'Hi'];
    const child = spawn(node, args, { env: { ...folder.env, ...scriptedBy(providers) }, stdio: 'ignore' });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await providers.arrived;
    child.kill(signal);
    expect(await ended).toBe(code);
    providers.reset();
  });

  test('141: the output pipe is closed', async () => {
    const [node = '', ...args] = [...commandLine, 'dump'];
    const child = spawn(node, args, { env: folder.env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.stdout.once('data', () => child.stdout.destroy());
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    expect(await ended).toBe(141);
    expect(stderr).toBe('');
  });
});

describe('calls that need approval, without a terminal', () => {
  const asked = async (...args: string[]) => {
    const file = await folder.servers('erase.json', {
      one: { ...started(stdioServer), capabilities: { echo: 'delete', pid: 'read' } },
    });
    const script = [{ toolCalls: [{ name: 'echo', arguments: { text: 'gone' } }] }, 'Done.'];
    const { sent, ...outcome } = await scripted(script, '--config', file, ...args, 'Erase it');
    const shown = sent.at('tools').list.map((tool) => tool.at('function', 'name').text);
    return { ...outcome, shown, sent: JSON.stringify(sent.value) };
  };

  test('are refused; the model is told why and the user how to allow them', async () => {
    const { code, stderr, sent } = await asked();
    expect(code).toBe(0);
    expect(sent).toContain('no approver');
    expect(stderr).toMatch(/✗ .*no approver/);
    expect(stderr).toContain('--yes allows every call');
  });

  test('--yes allows them', async () => {
    expect((await asked('--yes')).stderr).toContain('← gone');
  });

  test('--confirm never allows them', async () => {
    expect((await asked('--confirm', 'never')).stderr).toContain('← gone');
  });

  test('--profile hides forbidden tools even with --yes', async () => {
    const { shown, stderr } = await asked('--profile', 'reader', '--yes');
    expect(shown).toContain('pid');
    expect(shown).not.toContain('echo');
    expect(stderr).toMatch(/✗ .*may not be called here/);
  });
});

test.each([[''], ['--json']])('secrets in an error are redacted on stdout and stderr %j', async (option) => {
  const message = 'key sk-123 of org-AbC123dEf is refused by http://admin:hunter2@10.0.0.5/v1';
  const refusal = { status: 401, message };
  const { code, stdout, stderr } = await scripted([refusal], ...(option ? [option] : []), 'Go');
  expect(code).toBe(2);
  expect(stdout + stderr).toContain('is refused by http://[redacted]@10.0.0.5/v1');
  for (const secret of ['sk-123', 'org-AbC123dEf', 'hunter2']) expect(stdout + stderr).not.toContain(secret);
});
