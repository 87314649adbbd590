// --provider-tool and `providerTools` of agent files: tools that the provider of the model runs.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { API_KEY } from '../../../pocket-agent/test/fixtures/providers/fake-dialect.ts';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { readAgentFile } from '../../src/setup/agent-file.ts';
import { CommandFolder } from '../fixtures/command.ts';

const MODEL = 'anthropic/claude-sonnet-4-5';
const SEARCH = 'anthropic.web_search_20250305';
const folder = new CommandFolder();
let providers: FakeProviders;
let noServers: string;
beforeAll(async () => {
  providers = await FakeProviders.start();
  noServers = await folder.servers('none.json', {});
});
afterAll(() => providers.close());
afterEach(() => providers.reset());

const env = () => ({ ANTHROPIC_API_KEY: API_KEY, ANTHROPIC_BASE_URL: providers.baseUrl('anthropic') });
const ask = (...args: string[]) =>
  folder.command(['-m', MODEL, '--mcp', noServers, ...args, 'Search.'], { env: env() });
const agentFile = (name: string, providerTools: unknown) =>
  folder.file(name, {
    llmModel: MODEL,
    modelSettings: { apiKey: API_KEY, baseUrl: providers.baseUrl('anthropic') },
    providerTools,
  });

const searched = {
  serverBlocks: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'example' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
  ],
  text: 'Found it.',
};

test('--provider-tool offers a tool, and its calls are shown', async () => {
  providers.script(searched);
  const { stdout, stderr } = await ask('--provider-tool', `${SEARCH}=read`);
  expect(stdout).toBe('Found it.\n');
  expect(stderr).toContain('→ web_search {"query":"example"}');
  expect(providers.lastBody.at('tools', 0).value).toEqual({ type: 'web_search_20250305', name: 'web_search' });
});

test('the profile decides by the capability', async () => {
  providers.script('Hi.');
  await ask(
    '--provider-tool',
    `${SEARCH}=read`,
    '--provider-tool',
    'anthropic.code_execution_20250825=create',
    '--profile',
    'reader',
  );
  expect(providers.lastBody.at('tools').list.map((tool) => tool.at('name').text)).toEqual(['web_search']);
});

test('an agent file offers tools with settings, and `tools` lists them', async () => {
  const file = await agentFile('search.json', [{ id: SEARCH, capability: 'read', args: { maxUses: 3 } }]);
  providers.script('Hi.');
  expect((await folder.command(['--agent', file, 'Hi'])).stdout).toBe('Hi.\n');
  expect(providers.lastBody.at('tools', 0).value).toMatchObject({ type: 'web_search_20250305', max_uses: 3 });
  expect((await folder.command(['tools', '--agent', file])).stdout).toMatch(/web_search +read/);
});

test.each([
  [SEARCH, `--provider-tool needs the capability of ${SEARCH}`],
  [`${SEARCH}=everything`, 'it must be one of read, write, create, delete'],
  ['web_search=read', 'A provider tool needs an id such as'],
])('--provider-tool %s is refused', async (given, message) => {
  const { code, stderr } = await ask('--provider-tool', given);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test.each([
  [{ id: SEARCH, capability: 'read' }, 'wrong-tools.json: providerTools must be a list'],
  [[{ id: SEARCH }], `wrong-tools.json: The provider tool "${SEARCH}" needs a capability`],
  [[{ id: SEARCH, capability: 'read', arg: {} }], 'Did you mean "args"?'],
])('a mistake in the file is reported: %j', async (providerTools, message) => {
  const reading = readAgentFile(await agentFile('wrong-tools.json', providerTools));
  await expect(reading).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
});
