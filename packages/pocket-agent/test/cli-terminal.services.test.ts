import { type ExecFileException, execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY } from './fixtures/fake-dialect.ts';
import { FakeProviders } from './fixtures/fake-providers.ts';

const QUESTION = 'e(dit)? ';

describe('in a real terminal', () => {
  const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
  const stdioServer = fileURLToPath(new URL('./fixtures/stdio-server.ts', import.meta.url));
  const ARROW_LEFT = '\u001b[D';
  const BACKSPACE = '\u007f';
  const CTRL_C = '\u0003';

  /** Waits for each text in turn and types what belongs to it; ends with the exit code of the command. */
  const driver = `
import json, os, pty, sys
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
seen, position = b'', 0
def read():
    global seen
    try:
        data = os.read(terminal, 65536)
    except OSError:
        data = b''
    seen += data
    return data
for expected, typed in steps:
    while seen.find(expected.encode(), position) < 0:
        if not read():
            sys.exit('ended before "%s" came:\\n%s' % (expected, seen.decode()))
    position = seen.find(expected.encode(), position) + len(expected.encode())
    os.write(terminal, typed.encode())
while read():
    pass
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

  let folder: string;
  let providers: FakeProviders;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pocket-terminal-'));
    const one = {
      command: process.execPath,
      args: ['-C', 'pocket-agent/source', stdioServer],
      capabilities: { echo: 'delete' },
    };
    await writeFile(join(folder, 'mcp.json'), JSON.stringify({ mcpServers: { one } }));
    providers = await FakeProviders.start();
  });
  afterAll(async () => {
    await providers.close();
    await rm(folder, { recursive: true, force: true });
  });

  const typing = (steps: [expected: string, typed: string][]) =>
    new Promise<{ code: number; screen: string }>((resolve, reject) => {
      const env = {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        TERM: 'xterm',
        OPENAI_COMPATIBLE_BASE_URL: providers.baseUrl('openai-compatible'),
        OPENAI_COMPATIBLE_API_KEY: API_KEY,
      };
      const command = [
        process.execPath,
        '-C',
        'pocket-agent/source',
        main,
        '--config',
        'mcp.json',
        '-m',
        'openai-compatible/x',
        'Echo',
      ];
      const done = (error: ExecFileException | null, screen: string, stderr: string) => {
        if (error && typeof error.code !== 'number') {
          reject(new Error(`This test needs python3, which gave: ${error.message}`));
        } else if (stderr) reject(new Error(stderr));
        else resolve({ code: typeof error?.code === 'number' ? error.code : 0, screen });
      };
      const options = { env, cwd: folder, timeout: 20_000 };
      execFile('python3', ['-c', driver, JSON.stringify(steps), ...command], options, done);
    });

  const call = (text: string) => ({ name: 'echo', arguments: { text } });

  test('a person says no, edits and says yes; what was typed too early counts for nothing', async () => {
    providers.script({ toolCalls: [call('first'), call('second'), call('third')] }, 'All done.');
    const { code, screen } = await typing([
      ['', 'y\ny\ny\n'],
      ['text: "first"', ''],
      [QUESTION, 'n\r'],
      ['text: "second"', ''],
      [QUESTION, 'e\r'],
      ['{"text":"second"}', `${ARROW_LEFT}${ARROW_LEFT}${BACKSPACE.repeat(6)}mended\r`],
      ['text: "third"', ''],
      [QUESTION, 'y\r'],
    ]);
    expect(code).toBe(0);
    expect(screen).toContain('All done.');
    const results = providers.lastBody
      .at('messages')
      .list.flatMap((message) => (message.at('role').text === 'tool' ? [message.at('content').text] : []));
    expect(results[0]).toContain('said no');
    expect(results[1]).toMatch(/changed its arguments.*mended/s);
    expect(results[2]).toBe('third');
    providers.reset();
  }, 30_000);

  test('Ctrl-C while a question is open ends everything with 130', async () => {
    providers.script({ toolCalls: [call('first'), call('second')] });
    const { code, screen } = await typing([[QUESTION, CTRL_C]]);
    expect(code).toBe(130);
    expect(screen).not.toContain('text: "second"');
    providers.reset();
  }, 30_000);
});
