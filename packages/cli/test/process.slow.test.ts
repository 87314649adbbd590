// The process of a command: output, timers and rejections of tools, and closed pipes.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { json, listing, plainHost } from '../../pocket-agent/test/fixtures/servers/plain-host.ts';
import { open } from '../../pocket-agent/test/fixtures/world.ts';
import { manifestOf, writeFiles } from '../../tool-folder/test/files.ts';
import { CommandFolder, commandLine, toolsFolder } from './fixtures/command.ts';

const folder = new CommandFolder();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function start(...more: string[]) {
  const [node = '', ...args] = [...commandLine, ...more];
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(node, args, {
    env: folder.env,
    cwd: folder.path,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  ends.push(() => child.kill('SIGKILL'));
  return { child, ended: new Promise<number | null>((resolve) => child.once('exit', resolve)) };
}

/** With a capability, so that no warning of a missing one precedes the output. */
const declared = (name: string) => `${manifestOf(name)}    capability: write\n`;

const RUDE = `console.log('at import');
export class Tools {
  constructor() {
    console.info('made');
    setInterval(() => {}, 1_000);
  }
  async rude() {
    console.log('in a call');
    Promise.reject(new Error('forgotten \u001b[2J'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    return 'done';
  }
}`;

test('a tool that prints, rejects a promise and leaves a timer does not disturb the output or the exit', async () => {
  const tools = writeFiles({ 'Rude/manifest.yaml': declared('rude'), 'Rude/tool.mjs': RUDE });
  const { code, stdout, stderr } = await folder.spawned(['call', '--yes', '--tools', tools, 'Rude', 'rude']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' });
  expect(stderr).toMatch(/^at import\nmade\nin a call\npocket-agent: uncaught error: Error: forgotten \ufffd\[2J\n/);
  expect(await folder.spawned(['serve-tools', tools])).toMatchObject({ code: 0, stdout: '' });
});

test('an error thrown outside of a call is printed safely and ends with exit code 1', async () => {
  const code = `export class Tools { async late() { setTimeout(() => { throw new Error('late \u001b[2J'); }); await new Promise(() => {}); } }`;
  const tools = writeFiles({ 'Late/manifest.yaml': declared('late'), 'Late/tool.mjs': code });
  const outcome = await folder.spawned(['call', '--yes', '--tools', tools, 'Late', 'late']);
  expect(outcome).toMatchObject({ code: 1, stdout: '' });
  expect(outcome.stderr).toMatch(/^pocket-agent: uncaught error: Error: late \ufffd\[2J\n/);
});

test('Ctrl-C works while a tool folder is loading', async () => {
  const hanging = `console.error('importing'); await new Promise(() => {}); export class Tools { async hang() {} }`;
  const tools = writeFiles({ 'Hang/manifest.yaml': manifestOf('hang'), 'Hang/tool.mjs': hanging });
  const { child, ended } = start('tools', '--tools', tools);
  child.stderr.once('data', () => child.kill('SIGINT'));
  expect(await ended).toBe(130);
});

/** A question to the demo model, without the built-in server, which takes time to start. */
const question = async () => ['-m', 'demo', '--mcp', await folder.servers('none.json', {}), 'Who are you?'];

test('the answer is written when stderr is closed', async () => {
  const { child, ended } = start(...(await question()));
  child.stderr.destroy();
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  expect(await ended).toBe(0);
  expect(stdout).toContain('not an LLM');
});

test.each([
  ['the result of a call', ['call', '--tools', toolsFolder, 'Greeter', 'greet', 'who=Ada']],
  ['the help', ['--help']],
  ['the version', ['--version']],
])('exit code 141 when stdout is closed before %s', async (_what, args) => {
  const { child, ended } = start(...args);
  child.stdout.destroy();
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  expect(await ended).toBe(141);
  expect(stderr).not.toContain('Error');
});

test.runIf(existsSync('/dev/full'))('a full disk is reported with exit code 1', async () => {
  const full = openSync('/dev/full', 'w');
  const [node = '', ...args] = [...commandLine, ...(await question())];
  const child = spawn(node, args, { env: folder.env, cwd: folder.path, stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const [stderr, [code]] = await Promise.all([text(child.stderr as Readable), once(child, 'exit')]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('pocket-agent: cannot write the output: ENOSPC')]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a command while it checks the result of a tool', async (signal, code) => {
  const outputSchema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
  const result = { content: [], structuredContent: { text: 'a'.repeat(60).concat('!') } };
  const methods = { 'tools/list': listing({ outputSchema }), 'tools/call': json({ result }) };
  const host = await open(plainHost(methods));
  const file = await folder.servers('evil.json', { evil: { url: host.url } });
  const { child, ended } = start('call', '--yes', '--config', file, 'evil', 'it');
  await expect.poll(() => host.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  child.kill(signal);
  expect(await ended).toBe(code);
});
