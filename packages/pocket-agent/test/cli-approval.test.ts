import { type ExecFileException, execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type ApprovalRequest, tool } from 'pocket-agent';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TerminalApproval } from '../src/cli/terminal-approval.ts';
import { API_KEY } from './fixtures/fake-dialect.ts';
import { FakeProviders } from './fixtures/fake-providers.ts';
import { expectValidHistory, resultText, scriptedAgent } from './helpers.ts';

const QUESTION = 'e(dit)? ';
const LINE = 'as JSON: ';

/** Somebody who reads what is written and types an answer when the text they wait for has come. */
class Person {
  readonly input = new PassThrough();
  readonly output = new PassThrough();
  readonly approval = new TerminalApproval({ input: this.input, output: this.output, interrupt: () => {} });
  seen = '';
  #read = 0;
  #wake = () => {};

  constructor() {
    this.output.setEncoding('utf8').on('data', (text: string) => {
      this.seen += text;
      this.#wake();
    });
  }

  async reads(text: string): Promise<void> {
    while (this.seen.indexOf(text, this.#read) < 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#read = this.seen.indexOf(text, this.#read) + text.length;
  }

  async answers(...words: string[]): Promise<void> {
    for (const word of words) {
      await this.reads(QUESTION);
      this.input.write(`${word}\n`);
    }
  }

  get questions(): number {
    return this.seen.split('wants to call').length - 1;
  }
}

/** An agent that calls `erase` once for each of the arguments, and a person to ask. */
function erasing(...calls: Record<string, unknown>[]) {
  const person = new Person();
  const ran: unknown[] = [];
  const erase = tool({
    name: 'erase',
    description: 'Erases a record\n\u001b[2Jfor good.',
    meta: { capability: 'delete' },
    run: (args) => `erased ${ran.push(args)}`,
  });
  const { agent } = scriptedAgent(
    [
      { toolCalls: calls.map((args) => ({ name: 'erase', arguments: args })) },
      { toolCalls: [{ name: 'erase' }] },
      'ok',
    ],
    { tools: [erase], access: { confirm: 'destructive' }, approve: person.approval.approve },
  );
  return { person, ran, agent };
}

describe('a question at the terminal', () => {
  test('shows who wants to call what, what that does, and every argument', async () => {
    const { person, ran, agent } = erasing({ id: 7, note: 'two\nlines', 'odd key': [1, { a: null }] });
    const run = agent.run('x');
    await person.answers('y', 'yes');
    await run;
    expect(person.seen).toContain('Tester wants to call erase, which can delete.');
    expect(person.seen).toMatch(/what it does: Erases a record .*for good\./);
    expect(person.seen).toContain('    id: 7\n    note: "two\\nlines"\n    "odd key": [1,{"a":null}]\n');
    expect(person.seen).toContain('arguments: none');
    expect(ran).toHaveLength(2);
  });

  test('contains nothing by which a server or a model could draw on the screen', async () => {
    const hidden = '\u001b[1A\u009b2K\u202egpj\u200b\u2028';
    const { person, agent } = erasing({ path: hidden, [hidden]: 1 });
    const run = agent.run('x');
    await person.answers('n', 'n');
    await run;
    expect(person.seen.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(person.seen).toContain('path: "\\u001b[1A\\u009b2K\\u202egpj\\u200b\\u2028"');
  });

  test('stays short for long arguments, and says how much is left out', async () => {
    const many = Object.fromEntries([...Array(25).keys()].map((key) => [`key${key}`, 'x'.repeat(1_000)]));
    const { person, agent } = erasing(many);
    const run = agent.run('x');
    await person.answers('n', 'n');
    await run;
    expect(person.seen).toContain('(702 more characters)');
    expect(person.seen).toContain('(5 more; edit shows all)');
    expect(person.seen.length).toBeLessThan(10_000);
  });

  test('says when the tool is no longer what it was', async () => {
    const person = new Person();
    const asked = person.approval.approve(request({ changed: true }));
    await person.answers('y');
    expect(await asked).toBe('allow');
    expect(person.seen).toContain('! Its definition has changed');
  });

  test('a no is told to the model, and is asked for again at the next call', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    await person.answers('n', 'no');
    await run;
    expect(resultText(agent)).toContain('the person at the terminal said no');
    expect(person.questions).toBe(2);
    expect(ran).toEqual([]);
  });

  test('always holds for the calls that were waiting already, and for later ones', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 }, { id: 3 });
    const run = agent.run('x');
    await person.answers('a');
    await run;
    expect(person.questions).toBe(1);
    expect(ran).toHaveLength(4);
  });

  test('always does not hold for a tool that has changed', async () => {
    const person = new Person();
    const first = person.approval.approve(request({}));
    await person.answers('always');
    expect(await first).toEqual({ allow: true, remember: 'conversation' });
    const second = person.approval.approve(request({ changed: true }));
    await person.answers('n');
    expect(await second).toHaveProperty('deny');
  });

  test('edit calls with what was typed; what is no JSON object leads back to the question', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    for (const typed of ['{ id', '[1]', '', '{"id": 2}']) {
      await person.answers('e');
      await person.reads(LINE);
      person.input.write(`${typed}\n`);
    }
    await person.answers('n');
    await run;
    expect(ran).toEqual([{ id: 2 }]);
    expect(person.seen).toMatch(/That is not JSON: .*Arguments must be a JSON object\./s);
    expect(resultText(agent)).toContain('changed its arguments to {"id":2}');
  });

  test('any other word, and no word, are no answer', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    await person.answers('', 'yeah', 'n', 'n');
    await run;
    expect(ran).toEqual([]);
  });

  test('several are asked one after another, each about its own call', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    const run = agent.run('x');
    await person.reads('id: 1');
    await person.reads(QUESTION);
    expect(person.questions).toBe(1);
    person.input.write('n\n');
    await person.reads('id: 2');
    await person.answers('y', 'n');
    await run;
    expect(ran).toEqual([{ id: 2 }]);
  });

  test('what was typed before it is no answer to it', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    person.input.write('y\n');
    const run = agent.run('x');
    await person.reads(QUESTION);
    person.input.write('n\ny\n');
    await person.answers('n', 'n');
    await run;
    expect(ran).toEqual([]);
  });

  test('lines printed meanwhile come after it', async () => {
    const person = new Person();
    const asked = person.approval.approve(request({}));
    await person.reads(QUESTION);
    person.approval.print('news');
    expect(person.seen).not.toContain('news');
    person.input.write('y\n');
    await asked;
    await person.reads('news\n');
  });

  test('the end of input is a no, for this and all that follow', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    const run = agent.run('x');
    await person.reads(QUESTION);
    person.input.end();
    await run;
    expect(person.questions).toBe(1);
    expect(resultText(agent, 1)).toContain('nobody answered at the terminal');
    expect(ran).toEqual([]);
  });

  test('an abort closes it, those behind it are never asked, and the history stays valid', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    const controller = new AbortController();
    const run = agent.run('x', { signal: controller.signal });
    await person.reads(QUESTION);
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
    expectValidHistory(agent);
    expect(person.input.listenerCount('data')).toBe(0);
    expect(person.questions).toBe(1);
    expect(ran).toEqual([]);
  });
});

function request(changes: Partial<ApprovalRequest>): ApprovalRequest {
  const { signal } = new AbortController();
  const call = { tool: 'erase', capability: 'delete', arguments: {}, toolCallId: '1', path: ['Pocket'] } as const;
  return { ...call, description: undefined, annotations: undefined, hash: '', changed: false, signal, ...changes };
}

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
