// The command `pocket-agent eval`, interrupted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, commandLine, SCRIPTED, scriptedBy } from '../fixtures/command.ts';

const folder = new CommandFolder();
let providers: FakeProviders;
beforeAll(async () => {
  providers = await FakeProviders.start();
});
afterAll(() => providers.close());

test('Ctrl-C shows the runs that were completed', async () => {
  const yaml = 'repeats: 3\ncases:\n  - { name: one, prompt: Go, checks: { contains: yes } }\n';
  const file = await folder.file('interrupted.yaml', yaml);
  providers.script('yes', { hang: 'immediately' });
  const [node = '', ...args] = [...commandLine, 'eval', '--parallel', '1', ...SCRIPTED, file];
  const child = spawn(node, args, { env: { ...folder.env, ...scriptedBy(providers) }, cwd: folder.path });
  const output = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  await expect.poll(() => providers.requests.length).toBe(2);
  child.kill('SIGINT');
  const [stdout, stderr, [code]] = await output;
  expect(code).toBe(130);
  expect(stdout).toMatch(/^one +1\/1 passed/m);
  expect(stderr).toBe('1 of 3 runs were completed.\n');
});
