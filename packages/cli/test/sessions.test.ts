import { spawn } from 'node:child_process';
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FakeProviders } from '../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { FileLock } from '../src/files/file-lock.ts';
import { Session } from '../src/files/sessions.ts';
import { CommandFolder, commandLine, SCRIPTED, scriptedBy } from './fixtures/command.ts';

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
const sessionFile = (name: string) => join(folder.path, 'data', 'pocket-agent', 'sessions', name);
const sentTexts = () =>
  providers.lastBody.at('messages').list.map((message) => {
    const content = message.at('content');
    return content.text || content.at(0, 'text').text;
  });

describe('--session', () => {
  test('saves and resumes a conversation in a file that only its owner can read', async () => {
    providers.script('Hello Ada.', 'You are Ada.');
    expect((await ask('--session', 'first', 'I am Ada')).code).toBe(0);
    const second = await ask('--session', 'first', 'Who am I?');
    expect(second.stdout).toBe('You are Ada.\n');
    expect(second.stderr).toContain('session first: 2 messages');
    expect(sentTexts().slice(1)).toEqual(['I am Ada', 'Hello Ada.', 'Who am I?']);
    expect((await stat(sessionFile('first.json'))).mode & 0o777).toBe(0o600);
    const saved = JSON.parse(await readFile(sessionFile('first.json'), 'utf8'));
    expect(saved).toMatchObject({ format: 1, name: 'first', savedAt: expect.any(String) });
    expect(saved.messages).toHaveLength(4);
    expect(await readdir(join(sessionFile('.')))).not.toContainEqual(expect.stringMatching(/lock|tmp/));
  });

  test('sessions are listed newest first, including one that cannot be read', async () => {
    const env = { XDG_DATA_HOME: join(folder.path, 'listed') };
    const list = () => folder.command(['sessions'], { env });
    expect(await list()).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('--session NAME') });
    providers.script('Hello.', 'Hi.');
    const save = (name: string, text: string) =>
      folder.command(args('--session', name, text), { env: { ...env, ...scriptedBy(providers) } });
    await save('older', 'I am Ada\u001b[2J');
    await save('newer', 'I am Bob');
    const sessions = join(folder.path, 'listed', 'pocket-agent', 'sessions');
    await utimes(join(sessions, 'older.json'), 1_000, 1_000);
    await writeFile(join(sessions, 'broken.json'), '{');
    await utimes(join(sessions, 'broken.json'), 500, 500);
    const { stdout } = await list();
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^newer {3}2 messages {6}\d{4}-\d\d-\d\d \d\d:\d\d {2}I am Bob$/),
      'older   2 messages      1970-01-01 00:16  I am Ada�[2J',
      expect.stringMatching(/^broken {2}cannot be read {2}1970-01-01 00:08 {2}Session "broken" cannot be read/),
      '',
    ]);
    expect((await folder.command(['sessions', 'newer'], { env })).code).toBe(2);
  });

  test('is saved after a failed or stopped run and can be resumed', async () => {
    providers.script({ status: 400, message: 'no' });
    expect((await ask('--session', 'failed', 'One')).code).toBe(1);
    providers.script({ hang: 'immediately' });
    const [node = '', ...rest] = [...commandLine, ...args('--session', 'failed', 'Two')];
    const child = spawn(node, rest, { env: { ...folder.env, ...scriptedBy(providers) }, stdio: 'ignore' });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await providers.arrived;
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    providers.script('Three.');
    expect((await ask('--session', 'failed', 'Go on')).code).toBe(0);
    expect(JSON.stringify(providers.lastBody.value)).toMatch(/One.*Two.*Go on/s);
  });

  test('is locked for other processes; the lock of a killed process is taken over', async () => {
    providers.script({ hang: 'immediately' });
    const [node = '', ...rest] = [...commandLine, ...args('--session', 'locked', 'Wait')];
    const child = spawn(node, rest, { env: { ...folder.env, ...scriptedBy(providers) }, stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await providers.arrived;
    const other = await ask('--session', 'locked', 'Me too');
    expect(other.code).toBe(2);
    expect(other.stderr).toMatch(
      new RegExp(`Session "locked" is in use by process ${child.pid} on .*delete .*locked\\.json\\.lock`),
    );
    child.kill('SIGKILL');
    await ended;
    expect(await readdir(sessionFile('.'))).toContain('locked.json.lock');
    providers.script('Mine now.');
    expect((await ask('--session', 'locked', 'And now?')).stdout).toBe('Mine now.\n');
    expect(await readdir(sessionFile('.'))).not.toContain('locked.json.lock');
  });

  test('a lock is taken over if another process has the same id now', async () => {
    const stranger = `${process.pid} ${hostname()} 1`;
    (await FileLock.take(await folder.file('again.lock', stranger), 'It')).release();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { stdio: 'ignore' });
    const file = await folder.file('reused.lock', `${child.pid} ${hostname()} 1`);
    const lock = await FileLock.take(file, 'It');
    await expect(FileLock.take(file, 'It')).rejects.toThrow(`in use by process ${process.pid}`);
    lock.release();
    child.kill('SIGKILL');
  });

  test('an empty lock file counts while it is new, not when it is old', async () => {
    const file = await folder.file('empty.lock', '');
    await expect(FileLock.take(file, 'It')).rejects.toThrow('It is in use');
    await utimes(file, new Date(0), new Date(0));
    const lock = await FileLock.take(file, 'It');
    expect(await readFile(file, 'utf8')).toContain(String(process.pid));
    lock.release();
  });

  test.each(['a/b', 'a\\b', '.hidden', 'con', 'x'.repeat(65)])(
    'the name %j is refused because it is not a plain file name',
    async (name) => {
      await expect(Session.open(name)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('is not a valid session name'),
      });
    },
  );

  test('a broken file or one of a newer version is refused and left unchanged', async () => {
    vi.stubEnv('XDG_DATA_HOME', folder.env.XDG_DATA_HOME);
    onTestFinished(() => void vi.unstubAllEnvs());
    const session = await Session.open('newer');
    await session.save([]);
    session.close();
    for (const [content, message] of [
      ['{"format":2,"messages":[]}', 'was written by a newer pocket-agent (format 2; this version reads 1)'],
      ['{"format":1,', 'cannot be read'],
      ['[]', 'the field "format" is missing'],
      ['{"format":1,"messages":[{"role":"system"}]}', 'needs a role'],
    ] as const) {
      await writeFile(sessionFile('newer.json'), content);
      const opening = Session.open('newer');
      await expect(opening).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(message),
      });
      expect(await readFile(sessionFile('newer.json'), 'utf8')).toBe(content);
    }
  });
});
