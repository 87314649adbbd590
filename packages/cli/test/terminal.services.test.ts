import { mkdir, mkdtemp, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeProviders, PIXEL } from '../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { isAlive } from '../../pocket-agent/test/fixtures/world.ts';
import {
  askingServer,
  CommandFolder,
  SCRIPTED,
  scriptedBy,
  started,
  stdioServer,
  stubbornServer,
  toolsFolder,
} from './fixtures/command.ts';
import { keys, paste, type Step, typing } from './fixtures/terminal.ts';

const QUESTION = 'e(dit)? ';
const PROMPT = '> ';

const folder = new CommandFolder();
let providers: FakeProviders;
let servers: string;
beforeAll(async () => {
  providers = await FakeProviders.start();
  servers = await folder.servers('mcp.json', {
    one: { ...started(stdioServer), capabilities: { echo: 'delete', progress: 'read' } },
  });
});
afterAll(() => providers.close());
afterEach(() => providers.reset());

const call = (text: string) => ({ name: 'echo', arguments: { text } });
const scripted = (steps: readonly Step[], ...args: string[]) =>
  typing(folder, steps, { args: [...SCRIPTED, '--mcp', servers, ...args], env: scriptedBy(providers) });

/** What the model was sent last, by role. */
const sent = (role: string) =>
  providers.lastBody
    .at('messages')
    .list.flatMap((message) => (message.at('role').text === role ? [message.at('content').text] : []));

describe('one prompt in a terminal', () => {
  test('approval: no, edit and yes; input typed too early is discarded', async () => {
    providers.script({ toolCalls: [call('first'), call('second'), call('third')] }, 'All done.');
    const { code, screen } = await scripted(
      [
        ['', 'y\ny\ny\n'],
        ['text: "first"', ''],
        [QUESTION, 'n\r'],
        ['text: "second"', ''],
        [QUESTION, 'e\r'],
        ['{"text":"second"}', `${keys.left}${keys.left}${keys.backspace.repeat(6)}fixed\r`],
        ['text: "third"', ''],
        [QUESTION, 'y\r'],
      ],
      'Echo',
    );
    expect(code).toBe(0);
    expect(screen).toContain('All done.');
    const results = sent('tool');
    expect(results[0]).toContain('said no');
    expect(results[1]).toMatch(/changed the arguments.*fixed/s);
    expect(results[2]).toBe('third');
  });

  test('Ctrl-C at a question ends the command with 130', async () => {
    providers.script({ toolCalls: [call('first'), call('second')] });
    const { code, screen } = await scripted([[QUESTION, keys.ctrlC]], 'Echo');
    expect(code).toBe(130);
    expect(screen).not.toContain('text: "second"');
  });

  test('Ctrl-C stops the run with 130', async () => {
    providers.script({ text: 'Once upon a time', hang: 'midway' });
    expect((await scripted([['Once', keys.ctrlC]], 'Tell')).code).toBe(130);
    await providers.left;
  });

  test('a second Ctrl-C ends the program and kills its server without waiting', async () => {
    const asked = join(folder.path, 'asked-to-end');
    const file = await folder.servers('stubborn.json', { stubborn: started(stubbornServer, asked) });
    providers.script({ toolCalls: [{ name: 'pid', arguments: {} }] }, { text: 'Once upon', hang: 'midway' });
    const steps: Step[] = [
      ['Once', keys.ctrlC],
      // now it waits for its server, which has two seconds
      ['1 model call, 1 tool call', keys.ctrlC],
    ];
    const args = [...SCRIPTED, '--mcp', file, '--confirm', 'never', 'Wait'];
    const { code, screen } = await typing(folder, steps, { args, env: scriptedBy(providers) });
    expect(code).toBe(130);
    const [, pid] = /pid=(\d+)/.exec(screen) ?? [];
    await expect.poll(() => isAlive(Number(pid))).toBe(false);
    await expect(readFile(asked)).rejects.toThrow(); // it was killed without a SIGTERM first
  });

  test('Markdown is rendered, and control characters of a model are made visible', async () => {
    const evil = '\u001b[2J\u001b]0;owned\u0007\u009b2K\u202e';
    providers.script(`# Title\n**bold** and ${evil} 東京 👩‍👩‍👧\n`);
    const { screen } = await scripted([], 'Go');
    expect(screen).toContain('\u001b[1m\u001b[4mTitle\u001b[24m\u001b[22m');
    expect(screen).toContain('\u001b[1mbold\u001b[22m and �[2J�]0;owned��2K� 東京 👩‍👩‍👧');
    const plain = stripVTControlCharacters(screen).replaceAll(/[\r\n]|\u200d/g, '');
    expect(plain).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(plain).toContain('�[2J�]0;owned');
  });

  test.each<Record<string, string>>([{ NO_COLOR: '1' }, { TERM: 'dumb' }])(
    'with %j there is no escape sequence at all',
    async (env) => {
      providers.script({ toolCalls: [{ name: 'pid', arguments: {} }] }, '# Title\n**bold**');
      const args = [...SCRIPTED, '--mcp', servers, '--confirm', 'never', 'Go'];
      const { screen } = await typing(folder, [], { args, env: { ...scriptedBy(providers), ...env } });
      expect(screen).not.toContain('\u001b');
      expect(screen).toContain('# Title\r\n**bold**');
    },
  );

  test('the progress bar fits the window after it was resized', async () => {
    providers.script({ toolCalls: [{ name: 'progress', arguments: { everyMs: 60, count: 200 } }] });
    const steps: Step[] = [
      ['part 2', { columns: 30 }],
      ['…', keys.ctrlC],
    ];
    const { code, screen } = await scripted(steps, 'Go');
    expect(code).toBe(130);
    const drawn = screen.split('\r\u001b[J').filter((text) => text.startsWith('  progress'));
    expect(drawn[0]).toMatch(/^ {2}progress ░{20} [01] % part \d$/);
    expect(drawn.at(-1)).toMatch(/^ {2}progress ░{17}…(?:\^C)?$/);
  });
});

test.each([
  ['serve-tools', () => toolsFolder],
  ['serve', () => folder.file('served.json', { agentConfig: { llmModel: 'demo' } })],
])('%s explains in a terminal that it waits for a client', async (command, what) => {
  const steps: Step[] = [['Serving MCP on stdin and stdout', keys.ctrlC]];
  const { screen } = await typing(folder, steps, { args: [command, await what()] });
  expect(screen).toContain('use --http to serve over HTTP.');
});

test('call asks for approval and sends the edited arguments', async () => {
  const args = ['call', '--mcp', servers, 'one', 'echo', 'text=first'];
  const steps: Step[] = [
    [QUESTION, 'e\r'],
    ['{"text":"first"}', `${keys.left}${keys.left}${keys.backspace.repeat(5)}fixed\r`],
  ];
  const { code, screen } = await typing(folder, steps, { args });
  expect(code).toBe(0);
  expect(screen).toMatch(/\r\nfixed\r\n$/);
  expect((await typing(folder, [[QUESTION, 'n\r']], { args })).code).toBe(4);
});

test('the form of a server is asked in a call and in a chat', async () => {
  const answers: Step[] = [
    ['one asks: Your name?', ''],
    ['answer? y(es) / n(o) ', 'y\r'],
    ['name [string]: ', 'Ada\r'],
  ];
  const asking = await folder.servers('asking.json', { one: started(askingServer) });
  const called = await typing(folder, answers, { args: ['call', '--yes', '--mcp', asking, 'one', 'ask'] });
  expect(called).toMatchObject({ code: 0, screen: expect.stringMatching(/\r\nhello Ada\r\n$/) });
  providers.script({ toolCalls: [{ name: 'ask', arguments: {} }] }, 'Done.');
  const steps: Step[] = [[PROMPT, 'Ask me\r'], ...answers, ['Done.', ''], [PROMPT, keys.ctrlD]];
  const args = [...SCRIPTED, '--mcp', asking, '--confirm', 'never'];
  expect((await typing(folder, steps, { args, env: scriptedBy(providers) })).code).toBe(0);
  expect(sent('tool')).toEqual(['hello Ada']);
});

describe('a chat', () => {
  const chat = (steps: readonly Step[], ...args: string[]) => scripted(steps, ...args);

  test('keeps the conversation, shows its usage, and ends with Ctrl-D', async () => {
    providers.script('Hello Ada.', 'You are Ada.');
    const { code, screen } = await chat([
      [PROMPT, 'I am Ada\r'],
      ['Hello Ada.', ''],
      [PROMPT, 'Who am I?\r'],
      ['You are Ada.', ''],
      [PROMPT, '/cost\r'],
      ['2 model calls', ''],
      [PROMPT, keys.ctrlD],
    ]);
    expect(code).toBe(0);
    expect(sent('user')).toEqual(['I am Ada', 'Who am I?']);
    expect(screen).toContain('1 model call · 12 tokens in, 7 out · cost unknown');
    expect(screen).toContain('2 model calls · 24 tokens in, 14 out · cost unknown');
  });

  test('Ctrl-C stops an answer; the prompt returns and the history stays valid', async () => {
    providers.script({ toolCalls: [{ name: 'wait', arguments: {} }] }, { text: 'Once upon', hang: 'midway' }, 'Yes?');
    const { code, screen } = await chat(
      [
        [PROMPT, 'Wait\r'],
        ['→', keys.ctrlC],
        ['stopped', ''],
        [PROMPT, 'Tell\r'],
        ['Once', keys.ctrlC],
        ['stopped', ''],
        [PROMPT, 'Still there?\r'],
        ['Yes?', ''],
        [PROMPT, '/exit\r'],
      ],
      '--confirm',
      'never',
    );
    expect(providers.rejected).toEqual([]);
    expect(sent('user')).toEqual(['Wait', 'Tell', 'Still there?']);
    expect(sent('tool')).toHaveLength(1);
    expect(code).toBe(0);
    expect(screen).toContain('stopped');
  });

  test('Ctrl-C at the prompt clears the line; twice on an empty line leaves with 130', async () => {
    const { code } = await chat([
      [PROMPT, 'half a thought'],
      ['thought', keys.ctrlC],
      [PROMPT, keys.ctrlC],
      ['again to leave', ''],
      [PROMPT, keys.ctrlC],
    ]);
    expect(code).toBe(130);
    expect(providers.requests).toEqual([]);
  });

  test('the first Ctrl-C stops an answer, the second one leaves', async () => {
    providers.script({ text: 'Once upon', hang: 'midway' });
    const { code } = await chat([
      [PROMPT, 'Tell\r'],
      ['Once', keys.ctrlC],
      ['stopped', ''],
      [PROMPT, keys.ctrlC],
    ]);
    expect(code).toBe(130);
  });

  test('the tab key completes commands and their arguments; a misspelt command gets a suggestion', async () => {
    const { screen } = await chat(
      [
        [PROMPT, '/pro'],
        ['/pro', keys.tab],
        ['file ', 're'],
        ['re', keys.tab],
        ['ader', keys.enter],
        ['Now using reader', ''],
        [PROMPT, '/agent Gr'],
        ['Gr', keys.tab],
        ['eeter', keys.enter],
        ['● ', ''],
        [PROMPT, '/modle\r'],
        ['Did you mean "/model"?', ''],
        [PROMPT, '/exit\r'],
      ],
      '--tools',
      toolsFolder,
    );
    expect(stripVTControlCharacters(screen)).toMatch(/○ {2}Counter +1 tool {2}Counts\r\n● {2}Greeter/);
  });

  test('the input history is kept for the next chat in a file that only its owner can read', async () => {
    providers.script('One.', 'Two.');
    await chat([
      [PROMPT, paste('first line\n\tsecond line')],
      ['␤', keys.enter],
      ['One.', ''],
      [PROMPT, '/exit\r'],
    ]);
    expect(sent('user')).toEqual(['first line\n\tsecond line']);
    await chat([
      [PROMPT, keys.up],
      ['/exit', keys.up],
      ['first line␤␉second line', keys.enter],
      ['Two.', ''],
      [PROMPT, '/exit\r'],
    ]);
    expect(sent('user')).toEqual(['first line\n\tsecond line']);
    const file = join(folder.path, 'data', 'pocket-agent', 'chat-history.jsonl');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, 'utf8')).split('\n')).toContain('"first line\\n\\tsecond line"');
  });

  test('a line that ends with a backslash continues on the next', async () => {
    providers.script('Both.');
    await chat([
      [PROMPT, 'one \\\r'],
      ['… ', 'two\r'],
      ['Both.', ''],
      [PROMPT, '/exit\r'],
    ]);
    expect(sent('user')).toEqual(['one \ntwo']);
  });

  test('/tools, /profile and /agent: the model sees only allowed and active tools', async () => {
    providers.script('One.', 'Two.', 'Three.');
    const { screen } = await chat(
      [
        [PROMPT, 'Hi\r'],
        ['One.', ''],
        [PROMPT, '/profile reader\r'],
        [PROMPT, '/agent Counter\r'],
        ['Greeter', ''],
        [PROMPT, 'Hi again\r'],
        ['Two.', ''],
        [PROMPT, '/tools\r'],
        ['only read is allowed', ''],
        [PROMPT, '/profile boss\r'],
        ['There is no profile', ''],
        [PROMPT, '/profile none\r'],
        [PROMPT, '/agent none\r'],
        ['Greeter', ''],
        [PROMPT, 'And now?\r'],
        ['Three.', ''],
        [PROMPT, '/exit\r'],
      ],
      '--tools',
      toolsFolder,
    );
    const shown = providers.requests.map(({ body }) =>
      body.at('tools').list.map((tool) => tool.at('function', 'name').text),
    );
    const has = (...wanted: string[]) => wanted.map((name) => shown.map((list) => list.includes(name)));
    expect(has('echo', 'pid', 'greet', 'count')).toEqual([
      [true, false, true],
      [true, true, true],
      [true, false, false],
      [true, true, false],
    ]);
    expect(sent('user')).toEqual(['Hi', 'Hi again', 'And now?']);
    expect(screen).toMatch(/count +read +meta +yes/);
    expect(screen).toMatch(/"boss"\. Available: reader, writer, manager, admin, none\./);
  });

  test('/model switches the model of the conversation; an unusable one is refused', async () => {
    providers.script('One.', 'Two.');
    const { screen } = await chat([
      [PROMPT, 'Hi\r'],
      ['One.', ''],
      [PROMPT, '/model wishful\r'],
      ['Unknown model', ''],
      [PROMPT, '/model openai/gpt-5.1\r'],
      ['set OPENAI_API_KEY, and start again.', ''],
      [PROMPT, '/model openai-compatible/y\r'],
      ['Now using', ''],
      [PROMPT, 'Hi again\r'],
      ['Two.', ''],
      [PROMPT, '/model\r'],
      ['openai-compatible/y', ''],
      [PROMPT, '/exit\r'],
    ]);
    expect(providers.requests.map(({ body }) => body.at('model').text)).toEqual(['x', 'y']);
    expect(sent('user')).toEqual(['Hi', 'Hi again']);
    expect(screen).toContain('2 model calls');
    expect(screen).not.toMatch(/AI SDK|router/);
  });

  test('/compact replaces older messages by a summary for the model, also after /save and in a later process', async () => {
    const story = 'and then they went on '.repeat(100);
    providers.script(story, story, 'Notes: a long story.', 'Fine.', 'It was long.');
    const { screen } = await chat([
      [PROMPT, '/compact\r'],
      ['too short to compact', ''],
      [PROMPT, 'Begin\r'],
      ['7 out · cost unknown', ''],
      [PROMPT, 'Go on\r'],
      ['7 out · cost unknown', ''],
      [PROMPT, '/compact\r'],
      ['Compacted from about', ''],
      [PROMPT, 'And now?\r'],
      ['Fine.', ''],
      [PROMPT, '/save long\r'],
      ['--session long', ''],
      [PROMPT, '/exit\r'],
    ]);
    expect(screen).toMatch(/Compacted from about [\d,]+ to [\d,]+ tokens\./);
    expect(JSON.stringify(providers.requests.at(-1)?.body.value)).toContain('Notes: a long story.');
    const args = [...SCRIPTED, '--mcp', servers, '--session', 'long', 'How long was it?'];
    expect((await folder.command(args, { env: scriptedBy(providers) })).stdout).toBe('It was long.\n');
    const later = `${providers.lastBody.at('messages')}`;
    expect(later).toMatch(/Notes: a long story\..*How long was it\?/);
    expect(later).not.toContain('Begin');
  });

  test('/image, /reset and /save: an image is sent with the next message, and a saved conversation can be resumed', async () => {
    await folder.file('cat.png', Buffer.from(PIXEL, 'base64'));
    providers.script('A cat.', 'Who?', 'Bob.');
    await chat([
      [PROMPT, '/image cat'],
      ['cat', keys.tab],
      ['.png', keys.enter],
      ['1 image will be sent', ''],
      [PROMPT, 'What is this?\r'],
      ['A cat.', ''],
      [PROMPT, '/reset\r'],
      ['New conversation.', ''],
      [PROMPT, '/save kept\r'],
      ['--session kept', ''],
      [PROMPT, 'I am Bob\r'],
      ['Who?', ''],
      [PROMPT, '/save ../up\r'],
      ['is not a valid session name', ''],
      [PROMPT, '/save copy\r'],
      ['--session copy', ''],
      [PROMPT, '/save kept\r'],
      ['Session "kept" already exists', ''],
      [PROMPT, '/sessions bob\r'],
      ['kept  2 messages', ''],
      [PROMPT, '/exit\r'],
    ]);
    expect(JSON.stringify(providers.requests[0]?.body.value)).toContain('data:image/png;base64,');
    expect(sent('user')).toEqual(['I am Bob']);
    const args = [...SCRIPTED, '--mcp', servers, '--session', 'kept', 'Who am I?'];
    const { stdout } = await folder.command(args, { env: scriptedBy(providers) });
    expect(stdout).toBe('Bob.\n');
    expect(sent('user')).toEqual(['I am Bob', 'Who am I?']);
  });

  test('an mcp.json of another program is offered once and used only after "yes"', async () => {
    const home = await mkdtemp(join(folder.path, 'home-'));
    await mkdir(join(home, '.cursor'));
    const relative = home.slice(folder.path.length + 1);
    await folder.file(join(relative, '.cursor', 'mcp.json'), { mcpServers: { one: started(stdioServer) } });
    await folder.file(join(relative, '.mcp.json'), '{ not even JSON');
    const options = { args: ['-m', 'demo'], cwd: home };
    const first = await typing(
      folder,
      [
        ['.cursor/mcp.json (Cursor, in this folder)', ''],
        ['y(es) / n(o)? ', 'y\r'],
        ['.mcp.json (this folder)', ''],
        ['y(es) / n(o)? ', 'n\r'],
        [PROMPT, '/tools\r'],
        ['echo', ''],
        [PROMPT, '/exit\r'],
      ],
      options,
    );
    expect(first.screen).toContain('servers from .cursor/mcp.json');
    const second = await typing(folder, [[PROMPT, '/exit\r']], options);
    expect(second.screen).not.toContain('y(es)');
    expect(second.screen).toContain('servers from .cursor/mcp.json');
    await folder.file(join(relative, '.mcp.json'), { mcpServers: {} });
    const third = await typing(
      folder,
      [
        ['.mcp.json (this folder)', keys.ctrlD],
        [PROMPT, '/exit\r'],
      ],
      options,
    );
    expect(third.code).toBe(0);
  });

  test('AGENTS.md of the folder is followed only after "yes", and asked about again when it changes', async () => {
    const home = await mkdtemp(join(folder.path, 'home-'));
    const write = (text: string) => folder.file(join(home.slice(folder.path.length + 1), 'AGENTS.md'), text);
    const options = { args: [...SCRIPTED, '--mcp', servers], cwd: home, env: scriptedBy(providers) };
    const asked = 'AGENTS.md of this folder has instructions for agents';
    const talk = async (...steps: Step[]) => {
      providers.script('Hello.');
      const { screen } = await typing(
        folder,
        [...steps, [PROMPT, 'Hi\r'], ['Hello.', ''], [PROMPT, '/exit\r']],
        options,
      );
      return { screen, isFollowed: sent('system').join().includes('pirate') };
    };
    await write('Speak like a pirate.');
    expect(await talk([asked, ''], ['y(es) / n(o)? ', 'n\r'])).toMatchObject({ isFollowed: false });
    const again = await talk();
    expect(again.isFollowed).toBe(false);
    expect(again.screen).not.toContain(asked);
    await write('Speak like a pirate, always.');
    expect(await talk([asked, ''], ['y(es) / n(o)? ', 'y\r'])).toMatchObject({ isFollowed: true });
    expect(await talk()).toMatchObject({
      isFollowed: true,
      screen: expect.stringContaining('instructions from AGENTS.md'),
    });
  });

  test('approval works as in a single prompt, and Ctrl-C at a question returns to the prompt', async () => {
    providers.script({ toolCalls: [call('first')] }, 'Done.', { toolCalls: [call('second')] });
    const { code } = await chat([
      [PROMPT, 'Go\r'],
      [QUESTION, 'y\r'],
      ['Done.', ''],
      [PROMPT, 'Again\r'],
      [QUESTION, keys.ctrlC],
      ['stopped', ''],
      [PROMPT, keys.ctrlD],
    ]);
    expect(code).toBe(0);
  });

  test('SIGTERM at the prompt ends with 143 and releases the session', async () => {
    const { code } = await chat([[PROMPT, { signal: 'SIGTERM' }]], '--session', 'terminated');
    expect(code).toBe(143);
    providers.script('Mine now.');
    const args = [...SCRIPTED, '--mcp', servers, '--session', 'terminated', 'And now?'];
    expect((await folder.command(args, { env: scriptedBy(providers) })).stdout).toBe('Mine now.\n');
  });
});
