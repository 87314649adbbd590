// An answer without a server, tool folder or skill that was asked for: scripts see it by the exit code, people by the last line.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { FakeProviders } from '../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, SCRIPTED, scriptedBy, started, stdioServer, toolsFolder } from './fixtures/command.ts';

const folder = new CommandFolder();
let providers: FakeProviders;
beforeAll(async () => {
  providers = await FakeProviders.start();
});
afterAll(() => providers.close());
afterEach(() => providers.reset());

function ask(...args: string[]) {
  providers.script('Done.');
  return folder.command([...SCRIPTED, ...args, 'Go'], { env: scriptedBy(providers) });
}

const absent = { command: 'no-such-program' };

test('a server that cannot start leads to exit code 5; the answer is printed', async () => {
  const file = await folder.servers('some.json', { absent, one: started(stdioServer) });
  const { code, stdout, stderr } = await ask('--mcp', file);
  expect([code, stdout]).toEqual([5, 'Done.\n']);
  expect(stderr).toMatch(/^server absent: .*no-such-program/m);
  expect(stderr).toMatch(/\nanswered without server absent: exit code 5\n$/);
});

test('with --quiet and --json it is told too', async () => {
  const file = await folder.servers('absent.json', { absent });
  expect((await ask('--mcp', file, '--quiet')).stderr).toMatch(
    /^server absent: .*\nanswered without server absent: exit code 5\n$/,
  );
  const { code, stdout } = await ask('--mcp', file, '--json');
  expect(code).toBe(5);
  expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ type: 'answer', exitCode: 5 });
});

test('a broken tool folder and a broken skill lead to it, with the reason', async () => {
  const tools = join(folder.path, 'tools', 'Broken');
  await mkdir(tools, { recursive: true });
  await writeFile(join(tools, 'manifest.yaml'), 'tool_human_name: Broken\ntool_list: nothing\n');
  const broken = await ask('--tools', tools, '--tools', toolsFolder, '--quiet');
  expect(broken.code).toBe(5);
  expect(broken.stderr).toMatch(
    /manifest\.yaml:2:\d+: found "nothing".*\nanswered without broken tool folders or skills/s,
  );
  const skills = join(folder.path, 'skills');
  for (const name of ['good', 'bad']) {
    await mkdir(join(skills, name), { recursive: true });
    await writeFile(join(skills, name, 'SKILL.md'), name === 'good' ? '---\nname: good\ndescription: x\n---\n' : 'x');
  }
  expect((await ask('--skills', skills)).code).toBe(5);
});

test('when all of them work, the exit code is 0', async () => {
  const file = await folder.servers('one.json', { one: started(stdioServer) });
  const { code, stderr } = await ask('--mcp', file, '--tools', toolsFolder);
  expect(code).toBe(0);
  expect(stderr).not.toContain('answered without');
});
