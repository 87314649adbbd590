// pocket-agent eval with agents that a module exports.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, scriptedBy } from '../fixtures/command.ts';

const folder = new CommandFolder();
let providers: FakeProviders;
beforeAll(async () => {
  providers = await FakeProviders.start();
});
afterEach(() => providers.reset());
afterAll(() => providers.close());

const library = JSON.stringify(import.meta.resolve('pocket-agent'));
const testing = JSON.stringify(import.meta.resolve('pocket-agent/testing'));
const yaml = (checks: string, agent = './agents.ts') =>
  `agent: ${agent}\ncases:\n  - { name: one, prompt: What is it?, checks: ${checks} }\n`;
let modules = 0;

/** Runs cases with a module whose agents are given as code. */
async function withModule(agents: string, checks: string, ...args: string[]) {
  const cwd = join(folder.path, `module-${++modules}`);
  await mkdir(cwd);
  await writeFile(
    join(cwd, 'agents.ts'),
    `import { PocketAgent, tool } from ${library};
     import { ScriptedModel } from ${testing};
     const drop = tool({ name: 'drop', description: 'Drops', run: (): string => 'dropped' });
     const call = { toolCalls: [{ name: 'drop' }] };
     export const agents = { ${agents} };`,
  );
  await writeFile(join(cwd, 'eval.yaml'), yaml(checks));
  return folder.command(['eval', 'eval.yaml', ...args], { cwd, env: scriptedBy(providers) });
}

const script = (answers: string, more = '') =>
  `() => new PocketAgent({ llmModel: new ScriptedModel([${answers}]), ${more} })`;

test('is made for each run, and its checks are those of any agent', async () => {
  const shop = `shop: ${script("call, 'Paris'", 'tools: [drop]')}`;
  const passed = await withModule(shop, '{ contains: Paris, tools: [drop] }', '--repeats', '2');
  expect(passed).toMatchObject({ code: 0, stderr: '' });
  expect(passed.stdout).toMatch(/^case +shop\none +2\/2 passed, 2\.0 steps/);
  const failed = await withModule(shop, '{ maxSteps: 1, notTools: [drop] }');
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain('The tool drop was called.');
  expect(failed.stdout).toContain('The run needed 2 model calls, more than 1.');
});

test('of several agents each is a column, and --model asks them with other models', async () => {
  const two = `first: ${script("'One'")}, second: ${script("'Two'")}`;
  const both = await withModule(two, '{ contains: One }');
  expect(both.stdout).toMatch(/^case +first +second\none +1\/1 passed.* 0\/1 passed/);
  providers.script('Three', 'Three');
  const other = await withModule(two, '{ contains: Three }', '-m', 'openai-compatible/x');
  expect(other.stdout).toMatch(/^all +1\/1 passed.* 1\/1 passed/m);
});

test('--profile narrows it, and --yes approves its calls', async () => {
  const answers = 'call, ({ prompt }) => JSON.stringify(prompt.at(-1))';
  const shop = `shop: ${script(answers, "tools: [drop], access: { confirm: 'always' }")}`;
  expect((await withModule(shop, '{ contains: dropped }')).code).toBe(1);
  expect((await withModule(shop, '{ contains: dropped }', '--yes')).code).toBe(0);
  expect((await withModule(shop, '{ contains: dropped }', '--yes', '--profile', 'reader')).code).toBe(1);
});

test('grades with its own model if the case names none', async () => {
  const verdict = "{ toolCalls: [{ name: 'final_answer', arguments: { pass: true, reason: 'yes' } }] }";
  const shop = `shop: ${script(`'Rome', ${verdict}`)}`;
  expect(await withModule(shop, '{ graded: { question: Is it a city? } }')).toMatchObject({ code: 0, stderr: '' });
});

test('is closed after its run, also if it cannot be asked with another model', async () => {
  const closing = "{ close: async () => void process.stderr.write('closed\\n') }";
  const shop = `shop: () => {
    const made = (${script("'One'")})();
    made.closeTogether(${closing});
    made.fork = () => { throw new Error('no other model'); };
    return made;
  }`;
  expect((await withModule(shop, '{ contains: One }')).stderr).toBe('closed\n');
  const { stderr } = await withModule(shop, '{ contains: One }', '-m', 'openai-compatible/x');
  expect(stderr).toContain('no other model');
  expect(stderr).toContain('closed');
});

test('refuses options that it does not have, and modules without agents', async () => {
  const shop = `shop: ${script("'One'")}`;
  const prompt = await folder.file('prompt.txt', 'Be short.');
  for (const option of [
    ['--tools', 'web'],
    ['--system-prompt', prompt],
    ['--confirm', 'always'],
  ])
    expect(await withModule(shop, '{ contains: One }', ...option)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${option[0]} is for agent files.`),
    });
  expect((await withModule('', '{ contains: One }')).stderr).toContain('must export its agents: export const agents');
  expect((await withModule('shop: () => 1', '{ contains: One }')).stderr).toContain('does not return an agent');
  expect((await withModule(shop, '{ contains: One }', '--agent', 'none.ts')).stderr).toMatch(
    /There is no file .*none\.ts\./,
  );
});
