// --output: the answer fits a JSON Schema, and stdout has nothing but its JSON.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, SCRIPTED, scriptedBy } from '../fixtures/command.ts';

const folder = new CommandFolder();
const zurich = { city: 'Zurich', celsius: 21 };
const answer = (value: object = zurich) => ({ toolCalls: [{ name: 'final_answer', arguments: { ...value } }] });
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, celsius: { type: 'number' } },
  required: ['city', 'celsius'],
};

let providers: FakeProviders;
let schemaFile: string;
let noServers: string;
beforeAll(async () => {
  providers = await FakeProviders.start();
  schemaFile = await folder.file('schema.json', schema);
  noServers = await folder.servers('none.json', {});
});
afterAll(() => providers.close());
afterEach(() => providers.reset());

function ask(...args: string[]) {
  return folder.command([...SCRIPTED, '--mcp', noServers, ...args, 'How warm?'], { env: scriptedBy(providers) });
}

test('prints only the JSON of the answer; notes go to stderr', async () => {
  providers.script({ text: 'Let me see.', ...answer() });
  const { code, stdout, stderr } = await ask('--output', schemaFile);
  expect([code, stdout]).toEqual([0, `${JSON.stringify(zurich)}\n`]);
  expect(stderr).toContain('model: openai-compatible/x');
});

test('asks again for an answer that does not fit, and then fails without output', async () => {
  providers.script(answer({ city: 'Zurich' }), answer({ city: 'Zurich' }));
  const { code, stdout, stderr } = await ask('--output', schemaFile);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(
    "The answer does not fit the output schema after 1 correction: must have required property 'celsius'",
  );
});

test('with --json the answer has the value', async () => {
  providers.script(answer());
  const { stdout } = await ask('--output', schemaFile, '--json');
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ type: 'answer', data: { value: zurich, text: JSON.stringify(zurich) } });
  expect(lines.filter(({ type }) => type === 'output_delta').at(-1)).toMatchObject({ data: { value: zurich } });
});

test('the demo model is refused, because it follows rules', async () => {
  const { code, stderr } = await folder.command(['--output', schemaFile, 'How warm?']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/The demo model cannot answer by a schema.* set ANTHROPIC_API_KEY, /);
});

test('the output of an agent file does the same', async () => {
  const agent = await folder.file('typed.json', { llmModel: 'openai-compatible/x', output: schema });
  providers.script(answer());
  const { stdout } = await folder.command(['--agent', agent, 'How warm?'], { env: scriptedBy(providers) });
  expect(stdout).toBe(`${JSON.stringify(zurich)}\n`);
});

test.each([
  ['absent.json', undefined, 'There is no file'],
  ['list.json', [1], 'The output schema must be'],
  ['properties.json', { city: 'string' }, 'The output schema must be'],
])('%s is refused', async (name, content, message) => {
  const file = content === undefined ? name : await folder.file(name, content);
  const { code, stdout, stderr } = await ask('--output', file);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(name);
  expect(stderr).toContain(message);
});
