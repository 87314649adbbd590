// --memory and `memory` of agent files: facts that later conversations know; people list and erase them.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, SCRIPTED, scriptedBy } from '../fixtures/command.ts';

const folder = new CommandFolder();
let providers: FakeProviders;
let noServers: string;
beforeAll(async () => {
  providers = await FakeProviders.start();
  noServers = await folder.servers('none.json', {});
});
afterAll(() => providers.close());
afterEach(async () => {
  providers.reset();
  await memory('erase', '--all');
});

const ask = (...args: string[]) =>
  folder.command([...SCRIPTED, '--mcp', noServers, ...args], { env: scriptedBy(providers) });
const memory = (...args: string[]) => folder.command(['memory', ...args]);
const call = (name: string, args: object = {}) => ({ toolCalls: [{ name, arguments: { ...args } }] });
const offered = () => providers.lastBody.at('tools').list.map((tool) => tool.at('function', 'name').text);

async function remember(text: string, ...args: string[]): Promise<void> {
  providers.script(call('remember', { text }), 'I will remember that.');
  expect((await ask('--memory', ...args, 'Remember this.')).code).toBe(0);
}

test('a fact is recalled in another conversation, with and without a session', async () => {
  await remember('Ada likes tea.');
  await remember('Ada lives in Ghent.', '--session', 'trip');
  providers.script(call('recall'), 'Tea, in Ghent.');
  const { stdout, stderr } = await ask('--memory', 'What do you know?');
  expect(stdout).toBe('Tea, in Ghent.\n');
  expect(stderr).toMatch(/← .*Ada lives in Ghent\./s);
  expect(JSON.stringify(providers.lastBody.value)).toContain('Ada likes tea.');
});

test('without the option there are no such tools', async () => {
  providers.script('Hi.');
  await ask('Hi');
  expect(offered()).toEqual([]);
});

test('an agent file turns it on', async () => {
  const file = await folder.file('remembers.json', { llmModel: 'openai-compatible/x', memory: true });
  providers.script('Hi.');
  await folder.command(['--agent', file, 'Hi'], { env: scriptedBy(providers) });
  expect(offered()).toEqual(['remember', 'recall', 'forget']);
  const { stdout } = await folder.command(['tools', '--agent', file]);
  expect(stdout).toMatch(/remember +create.*recall +read.*forget +delete/s);
});

test('the profile decides, and forgetting needs an approval', async () => {
  providers.script('Hi.');
  await ask('--memory', '--profile', 'reader', 'Hi');
  expect(offered()).toEqual(['recall']);
  await remember('Ada likes tea.');
  const [, id = ''] = /^(\S+)/.exec((await memory()).stdout) ?? [];
  providers.script(call('forget', { id }), 'I may not.', call('forget', { id }), 'Forgotten.');
  expect((await ask('--memory', 'Forget it.')).stderr).toContain('was not called');
  expect((await memory()).stdout).toContain('tea');
  expect((await ask('--memory', '--yes', 'Forget it.')).stdout).toBe('Forgotten.\n');
  expect((await memory()).stdout).toBe('');
});

test('the command memory lists and erases', async () => {
  expect(await memory()).toEqual({ code: 0, stdout: '', stderr: expect.stringContaining('Nothing is remembered.') });
  await remember('Ada likes tea.');
  await remember('Ada lives in Ghent.');
  const { stdout } = await memory('list');
  expect(stdout).toMatch(/^\w{8} +\d{4}-\d\d-\d\d +Ada lives in Ghent\.\n\w{8} +\d{4}-\d\d-\d\d +Ada likes tea\.\n$/);
  const [newest = ''] = stdout.split(' ');
  expect((await memory('erase', newest)).code).toBe(0);
  expect((await memory()).stdout).not.toContain('Ghent');
  expect(await memory('erase', newest)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`There is no memory ${newest}.`),
  });
  await memory('erase', '--all');
  expect((await memory()).stdout).toBe('');
});

test.each([[['lst']], [['erase']], [['erase', '--all', 'x']], [['list', 'x']], [['--all']]])(
  'wrong usage is explained: memory %j',
  async (args) => {
    const { code, stderr } = await memory(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/Usage: .*memory erase ID\.\.\./);
  },
);
