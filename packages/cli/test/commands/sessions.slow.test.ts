// Sessions that several processes of the command share.
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, commandLine, SCRIPTED, scriptedBy } from '../fixtures/command.ts';

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

test('a session can read a large result of an earlier process', async () => {
  const tools = join(folder.path, 'large', 'Dump');
  await mkdir(tools, { recursive: true });
  const manifest = 'tool_human_name: Dump\ntool_list:\n  - { name: dump, description: Dumps, capability: read }\n';
  await writeFile(join(tools, 'manifest.yaml'), manifest);
  const code = "export class Tools { dump() { return 'x'.repeat(300_000) + ' needle ' + 'y'.repeat(300_000); } }";
  await writeFile(join(tools, 'tool.mjs'), code);
  const first = args('--tools', join(folder.path, 'large'), '--session', 'large', 'Dump it');
  providers.script({ toolCalls: [{ name: 'dump', arguments: {} }] }, 'Dumped.');
  expect((await folder.spawned(first, { env: scriptedBy(providers) })).code).toBe(0);
  const [id = ''] = /result-[0-9a-f]{20}/.exec(JSON.stringify(providers.lastBody.value)) ?? [];
  providers.script({ toolCalls: [{ name: 'read_result', arguments: { id, search: 'needle' } }] }, 'Found.');
  expect((await ask('--tools', join(folder.path, 'large'), '--session', 'large', 'Find it')).stdout).toBe('Found.\n');
  expect(JSON.stringify(providers.lastBody.value)).toContain('at 300001: ');
});

test('a session is saved after a run that was stopped and can be resumed', async () => {
  providers.script({ hang: 'immediately' });
  const [node = '', ...rest] = [...commandLine, ...args('--session', 'stopped', 'One')];
  const child = spawn(node, rest, { env: { ...folder.env, ...scriptedBy(providers) }, stdio: 'ignore' });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await providers.arrived;
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  providers.script('Two.');
  expect((await ask('--session', 'stopped', 'Go on')).code).toBe(0);
  expect(JSON.stringify(providers.lastBody.value)).toMatch(/One.*Go on/s);
});

test('a run waits for that of another process, and takes over from one that was killed', async () => {
  providers.script({ hang: 'immediately' });
  const [node = '', ...rest] = [...commandLine, ...args('--session', 'shared', 'Wait')];
  const child = spawn(node, rest, { env: { ...folder.env, ...scriptedBy(providers) }, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await providers.arrived;
  const other = await ask('--session', 'shared', 'Me too');
  expect(other.code).toBe(1);
  expect(other.stderr).toContain('The conversation "shared" is still in use by another run after 5000 ms.');
  child.kill('SIGKILL');
  await ended;
  providers.script('Mine now.');
  expect((await ask('--session', 'shared', 'And now?')).stdout).toBe('Mine now.\n');
  const sent = JSON.stringify(providers.lastBody.value);
  expect(sent).toMatch(/Wait.*And now\?/s);
  expect(sent).not.toContain('Me too');
});
