// Sessions: saved conversations of the command, and the session files of earlier versions.
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openConversations } from '@pocket-agent/store';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, SCRIPTED, scriptedBy } from '../fixtures/command.ts';

const folder = new CommandFolder();
let providers: FakeProviders;
let servers: string;
beforeAll(async () => {
  providers = await FakeProviders.start();
  servers = await folder.servers('none.json', {});
});
afterAll(() => providers.close());
beforeEach(() => providers.reset());

const args = (...more: string[]) => [...SCRIPTED, '--mcp', servers, ...more];
const ask = (...more: string[]) => folder.command(args(...more), { env: scriptedBy(providers) });
const sessions = (...more: string[]) => folder.command(['sessions', ...more]);
const sentTexts = () =>
  providers.lastBody.at('messages').list.map((message) => {
    const content = message.at('content');
    return content.text || content.at(0, 'text').text;
  });

/** The data folder of one test, with session files of an earlier version. */
async function oldData(name: string, files: Record<string, object | string>) {
  const env = { XDG_DATA_HOME: join(folder.path, name) };
  const path = join(folder.path, name, 'pocket-agent', 'sessions');
  await mkdir(path, { recursive: true });
  for (const [file, content] of Object.entries(files))
    await writeFile(join(path, file), typeof content === 'string' ? content : JSON.stringify(content));
  const command = (...more: string[]) => folder.command(more, { env: { ...env, ...scriptedBy(providers) } });
  return { path, command };
}

const turn = (question: string, answer: string) => [
  { role: 'user', content: [{ type: 'text', text: question }] },
  { role: 'assistant', content: [{ type: 'text', text: answer }] },
];

describe('--session', () => {
  test('saves and resumes a conversation in a database that only its owner can read', async () => {
    providers.script('Hello Ada.', 'You are Ada.');
    expect((await ask('--session', 'first', 'I am Ada')).code).toBe(0);
    const second = await ask('--session', 'first', 'Who am I?');
    expect(second.stdout).toBe('You are Ada.\n');
    expect(second.stderr).toContain('session first: 2 messages');
    expect(sentTexts().slice(1)).toEqual(['I am Ada', 'Hello Ada.', 'Who am I?']);
    const database = join(folder.path, 'data', 'pocket-agent', 'conversations.sqlite');
    expect((await stat(database)).mode & 0o777).toBe(0o600);
  });

  test('is saved after a failed run and can be resumed', async () => {
    providers.script({ status: 400, message: 'no' });
    expect((await ask('--session', 'failed', 'One')).code).toBe(1);
    providers.script('Two.');
    expect((await ask('--session', 'failed', 'Go on')).code).toBe(0);
    expect(JSON.stringify(providers.lastBody.value)).toMatch(/One.*Go on/s);
  });

  test.each(['a/b', 'a\\b', '.hidden', 'con', 'x'.repeat(65)])('the name %j is refused', async (name) => {
    const outcome = await ask('--session', name, 'Hi');
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a valid session name') });
  });
});

describe('the conversations of a program', () => {
  /** A folder with the database of a program that has run. */
  async function programFolder(name: string, options: { scope?: string; owner?: string } = {}) {
    const cwd = join(folder.path, name);
    await mkdir(cwd);
    await writeFile(join(cwd, 'notes.txt'), 'pocket_conversations');
    await writeFile(join(cwd, 'other.sqlite'), 'SQLite format 3\0 of another program');
    const { scope, owner } = options;
    await using chats = await openConversations({ file: join(cwd, 'shop.sqlite'), ...(scope ? { scope } : {}) });
    await using agent = new PocketAgent({ llmModel: new ScriptedModel(['At nine.']) });
    await (await (owner ? chats.forOwner(owner) : chats).open('order/18', agent)).run('When do you open?');
    return (...more: string[]) => folder.command(['sessions', ...more], { cwd });
  }

  test('are found in the working folder: the error output names the command that lists them', async () => {
    const run = await programFolder('found');
    const { stderr } = await run();
    const command = 'pocket-agent sessions --conversations shop.sqlite';
    expect(stderr).toContain(`shop.sqlite has conversations of a program: ${command}\n`);
    expect(stderr).not.toContain('other.sqlite');
    expect((await run('--conversations', 'shop.sqlite')).stdout).toMatch(
      /^order\/18 {2}2 messages {2}.* When do you open\?\n$/,
    );
  });

  test('of a file whose name a shell would execute are named in quotes', async () => {
    const cwd = join(folder.path, 'quoted');
    await mkdir(cwd);
    await using _open = await openConversations(join(cwd, "it's $(id).sqlite"));
    const quoted = "'it'\\''s $(id).sqlite'";
    expect((await folder.command(['sessions'], { cwd })).stderr).toContain(`--conversations ${quoted}\n`);
  });

  test('are looked for without waiting for pipes with the names of database files', async () => {
    const cwd = join(folder.path, 'pipes');
    await mkdir(cwd);
    await writeFile(join(cwd, 'shop.sqlite'), 'SQLite format 3\0');
    execFileSync('mkfifo', [join(cwd, 'shop.sqlite-wal'), join(cwd, 'other.sqlite')]);
    expect((await folder.command(['sessions'], { cwd })).code).toBe(0);
  });

  test('are found while the program has the database open', async () => {
    const cwd = join(folder.path, 'open');
    await mkdir(cwd);
    await using _open = await openConversations(join(cwd, 'shop.sqlite'));
    expect((await folder.command(['sessions'], { cwd })).stderr).toContain(
      'shop.sqlite has conversations of a program',
    );
  });

  test('are searched, shown, renamed, exported and deleted', async () => {
    const run = await programFolder('used');
    const inShop = (...more: string[]) => run(...more, '--conversations', 'shop.sqlite');
    expect((await inShop('list', '--search', 'nine')).stdout).toContain('order/18');
    expect((await inShop('show', 'order/18')).stdout).toBe('> When do you open?\n\nAt nine.\n\n');
    expect((await inShop('rename', 'order/18', 'order/19')).code).toBe(0);
    expect(JSON.parse((await inShop('export', 'order/19')).stdout)).toMatchObject({ id: 'order/19' });
    expect((await inShop('delete', 'order/19')).code).toBe(0);
    expect((await inShop()).stdout).toBe('');
  });

  test('of a scope or of callers are explained', async () => {
    const scoped = await programFolder('scoped', { scope: 'shop' });
    expect((await scoped('--conversations', 'shop.sqlite')).stderr).toContain('add --scope NAME');
    expect((await scoped('--conversations', 'shop.sqlite', '--scope', 'shop')).stdout).toContain('order/18');
    const owned = await programFolder('owned', { owner: 'ann' });
    expect((await owned('--conversations', 'shop.sqlite')).stderr).toContain('pocket-agent callers lists');
  });

  test('a database that does not exist is not created', async () => {
    const run = await programFolder('absent');
    expect(await run('--conversations', 'shp.sqlite')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no database shp.sqlite'),
    });
    expect((await run('--scope', 'shop')).stderr).toContain('--scope needs the database');
  });
});

describe('pocket-agent sessions', () => {
  test('lists sessions newest first, and those that contain a text', async () => {
    const { command } = await oldData('listed', {});
    const empty = await command('sessions');
    expect(empty).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('--session NAME') });
    const searched = await command('sessions', '--search', 'giraffe');
    expect(searched.stderr).toMatch(/^No saved conversations to search\. .*--session NAME saves one\.\n$/);
    providers.script('Hello.', 'Hi.');
    await command(...args('--session', 'older', 'I am Ada\u001b[2J'));
    await command(...args('--session', 'newer', 'I am Bob'));
    const { stdout } = await command('sessions', 'list');
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^newer {2}2 messages {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}I am Bob$/),
      expect.stringMatching(/^older {2}2 messages {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}I am Ada�\[2J$/),
      '',
    ]);
    expect((await command('sessions', '--search', 'am BOB')).stdout).toMatch(/^newer .*\n$/);
    const stderr =
      'None of the 2 saved conversations contains "giraffe". Search for fewer words, or leave out --search to list all.\n';
    expect(await command('sessions', '--search', 'giraffe')).toMatchObject({ code: 0, stdout: '', stderr });
  });

  test('shows, renames, exports and deletes a session', async () => {
    providers.script('Hello Ada.', 'Again.');
    await ask('--session', 'mine', 'I am Ada\u001b[2J');
    expect((await sessions('show', 'mine')).stdout).toBe('> I am Ada�[2J\n\nHello Ada.\n\n');
    expect((await sessions('rename', 'mine', 'ours')).code).toBe(0);
    await ask('--session', 'ours', 'And?');
    const exported = JSON.parse((await sessions('export', 'ours')).stdout);
    expect(exported).toMatchObject({ id: 'ours', title: expect.stringContaining('I am Ada'), messages: { length: 4 } });
    expect(JSON.parse((await sessions('export', '--openai', 'ours')).stdout)).toEqual([
      { role: 'user', content: 'I am Ada\u001b[2J' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'And?' },
      { role: 'assistant', content: 'Again.' },
    ]);
    expect((await sessions('delete', 'ours')).code).toBe(0);
    const missing = await sessions('show', 'ours');
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no session "ours".') });
  });

  test('refuses a name that is taken, missing arguments and unknown actions', async () => {
    providers.script('a', 'b');
    await ask('--session', 'one', 'Hi');
    await ask('--session', 'two', 'Hi');
    for (const [given, text] of [
      [['rename', 'one', 'two'], 'Session "two" already exists'],
      [['rename', 'onne', 'three'], 'There is no session "onne". Did you mean "one"?'],
      [['rename', 'one'], 'Usage: pocket-agent sessions rename NAME NEW_NAME'],
      [['show', '--openai', 'one'], 'Usage: pocket-agent sessions show NAME'],
      [['delete'], 'Usage: pocket-agent sessions delete NAME...'],
      [['shw'], 'There is no command "sessions shw". Did you mean "show"?'],
    ] as const)
      expect(await sessions(...given)).toMatchObject({ code: 2, stderr: expect.stringContaining(text) });
  });
});

describe('session files of earlier versions', () => {
  const file = (name: string, messages: object[]) => ({ format: 1, name, savedAt: new Date(0), messages });

  test('are moved into the database once, with their time, and can be continued', async () => {
    const { path, command } = await oldData('moved', { 'trip.json': file('trip', turn('To Ghent', 'By train.')) });
    await utimes(join(path, 'trip.json'), 1_000, 1_000);
    providers.script('At nine.');
    expect((await command('sessions')).stdout).toBe('trip  2 messages  1970-01-01 00:16  To Ghent\n');
    expect(await readdir(path)).toEqual(['trip.json.moved']);
    expect((await command(...args('--session', 'trip', 'When?'))).stdout).toBe('At nine.\n');
    expect(sentTexts().slice(1)).toEqual(['To Ghent', 'By train.', 'When?']);
    // a crash before the file was renamed
    await writeFile(join(path, 'trip.json'), await readFile(join(path, 'trip.json.moved')));
    expect((await command('sessions')).stdout).toMatch(/^trip {2}4 messages .*\n$/);
    expect(await readdir(path)).toEqual(['trip.json.moved']);
  });

  test('as version 0.1 wrote them continue with their tool calls and images', async () => {
    const written = await readFile(new URL('../fixtures/golden/session-0.1.txt', import.meta.url), 'utf8');
    const { command } = await oldData('written', { 'pic ture.json': written });
    providers.script('Four.');
    const continued = await command(...args('--session', 'pic ture', 'And 2 + 2?'));
    expect(continued.stdout).toBe('Four.\n');
    const sent = JSON.stringify(providers.lastBody.at('messages').value);
    for (const part of ['image_url', '1 + 1 = 2', 'And 2 + 2?']) expect(sent).toContain(part);
    const exported = JSON.parse((await command('sessions', 'export', 'pic ture')).stdout);
    expect(exported.messages.slice(0, 4)).toEqual(JSON.parse(written).messages);
  });

  test('that cannot be read are listed, stay unchanged, and their names are refused', async () => {
    const files = {
      'broken.json': '{"format":1,',
      'newer.json': '{"format":2,"messages":[]}',
      'list.json': '[]',
      'role.json': '{"format":1,"messages":[{"role":"system"}]}',
    };
    const { path, command } = await oldData('broken', files);
    const { stdout } = await command('sessions');
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^broken {2}cannot be read .*Session "broken" cannot be read/),
      expect.stringMatching(/^list {4}cannot be read .*Session "list" cannot be read: the field "format"/),
      expect.stringMatching(/^newer {3}cannot be read .*Session "newer" was written by a newer/),
      expect.stringMatching(/^role {4}cannot be read .*Session "role" cannot be read/),
      '',
    ]);
    for (const [name, content] of Object.entries(files)) expect(await readFile(join(path, name), 'utf8')).toBe(content);
    const refused = await command(...args('--session', 'newer', 'Hi'));
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('update pocket-agent') });
  });

  test('stay if the database has another session of that name', async () => {
    const { path, command } = await oldData('twice', {});
    providers.script('a');
    await command(...args('--session', 'trip', 'New'));
    await writeFile(join(path, 'trip.json'), JSON.stringify(file('trip', turn('Old', 'b'))));
    expect((await command('sessions')).stdout).toMatch(/^trip {2}2 messages .*New\ntrip {2}cannot be read /);
    expect(await readdir(path)).toEqual(['trip.json']);
  });
});
