import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { readAgentFile } from '../../src/setup/agent-file.ts';
import { CommandFolder, scriptedBy, started, stdioServer, toolsFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();
let providers: FakeProviders;
beforeAll(async () => {
  providers = await FakeProviders.start();
  await cp(toolsFolder, join(folder.path, 'agents', 'tools'), { recursive: true });
  await mkdir(join(folder.path, 'elsewhere'));
});
afterAll(() => providers.close());

describe('--agent', () => {
  test('reads configuration, servers, tool folders, access and limits; paths are relative to the file', async () => {
    const file = await folder.file('agents/greeter.json', {
      $schema: 'https://example.org/agent.json',
      agentConfig: { llmModel: 'openai-compatible/x', name: 'Greta', systemPrompt: 'You greet.' },
      mcpServers: {
        one: started(stdioServer),
        here: { ...started(stdioServer), cwd: 'tools', capabilities: { echo: 'delete' } },
      },
      tools: ['./tools'],
      access: { profile: 'reader' },
      limits: { maxSteps: 2 },
    });
    providers.script(
      { toolCalls: [{ name: 'greet', arguments: { who: 'Ada' } }] },
      { toolCalls: [{ name: 'here_echo', arguments: { text: 'x' } }] },
    );
    const options = { env: scriptedBy(providers), cwd: join(folder.path, 'elsewhere') };
    const { code, stderr } = await folder.command(['--agent', file, 'Greet Ada'], options);
    expect(stderr).toMatch(/servers: one, here.*→ greet {"who":"Ada"}\n← Hello Ada!/s);
    expect(stderr).toContain('Greta stopped after 2 steps');
    expect(code).toBe(3);
    expect(providers.lastBody.at('messages', 0, 'content').text).toBe('You greet.');
    const shown = providers.lastBody.at('tools').list.map((tool) => tool.at('function', 'name').text);
    expect(shown).toContain('one_echo');
    expect(shown).not.toContain('here_echo');
    providers.reset();
  });

  test('reads flat options like the constructor of an agent', async () => {
    const file = await folder.file('flat.json', { llmModel: 'demo', name: 'Flat', limits: { maxSteps: 2 } });
    const content = await readAgentFile(file);
    expect(content).toMatchObject({ agentConfig: { llmModel: 'demo', name: 'Flat' }, limits: { maxSteps: 2 } });
  });

  test('options override the file, and --mcp adds servers', async () => {
    const agent = await folder.file('small.json', {
      agentConfig: { llmModel: 'openai/none' },
      access: { profile: 'reader' },
    });
    const one = await folder.servers('one.json', {
      one: { ...started(stdioServer), capabilities: { echo: 'delete' } },
    });
    const args = ['--agent', agent, '--mcp', one, '--profile', 'admin', '-m', 'openai-compatible/x', 'Hi'];
    providers.script('Hi.');
    expect((await folder.command(args, { env: scriptedBy(providers) })).stdout).toBe('Hi.\n');
    const shown = providers.lastBody.at('tools').list.map((tool) => tool.at('function', 'name').text);
    expect(shown).toContain('echo');
    providers.reset();
  });

  test('model settings of the file are not used for another provider', async () => {
    const modelSettings = { apiKey: 'of-anthropic', baseUrl: 'http://127.0.0.1:9' };
    const agent = await folder.file('keys.json', { agentConfig: { llmModel: 'claude-x', modelSettings } });
    const asked = await folder.command(['--agent', agent, '-m', 'openai/gpt-x', 'Hi'], { env: { OPENAI_API_KEY: '' } });
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('"openai/gpt-x" needs a key') });
    providers.script('Hi.');
    const other = await folder.command(['--agent', agent, '-m', 'openai-compatible/x', 'Hi'], {
      env: scriptedBy(providers),
    });
    expect(other.stdout).toBe('Hi.\n');
    providers.reset();
    const doctor = await folder.command(['doctor', '--agent', agent, '-m', 'anthropic/claude-y']);
    expect(doctor.stdout).toContain('model anthropic/claude-y: requested');
  });

  test.each([
    [{ agentconfig: {} }, 'wrong.json has no option "agentconfig". Did you mean "agentConfig"?'],
    [{ agentConfig: { llmModel: 'demo', sytemPrompt: 'x' } }, 'Did you mean "systemPrompt"?'],
    [{ limits: { maxStep: 3 } }, 'wrong.json: limits has no option "maxStep". Did you mean "maxSteps"?'],
    [{ tools: 'web' }, 'wrong.json: tools must be a list of strings'],
    [{ tools: ['web', './absent'] }, 'wrong.json: There is no tool folder '],
    [{ agentConfig: { llmModel: 5 } }, 'wrong.json: agentConfig.llmModel must be a string'],
    [{ agentConfig: { systemPrompt: ['x'] } }, 'agentConfig.systemPrompt must be a string'],
    [{ agentConfig: { allowImages: 'yes' } }, 'agentConfig.allowImages must be true or false'],
    [{ agentConfig: { modelSettings: 'x' } }, 'agentConfig.modelSettings must be an object'],
    [{ access: { auditFile: 5 } }, 'wrong.json: access.auditFile must be a string'],
    [{ mcpServers: { one: {} } }, 'MCP server "one" needs a "command"'],
    [{ llmModel: 5 }, 'wrong.json: llmModel must be a string'],
    [{ sytemPrompt: 'x' }, 'Did you mean "systemPrompt"?'],
    [{ modelSettings: { apikey: 'x' } }, 'wrong.json: modelSettings has no option "apikey"'],
    [{ name: 'A', agentConfig: { name: 'B' } }, 'wrong.json: An agent takes name or agentConfig.name, not both'],
    [[], 'must contain a JSON object'],
  ])('a mistake in the file is reported: %j', async (content, message) => {
    const reading = readAgentFile(await folder.file('wrong.json', content));
    await expect(reading).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
  });

  test('a missing file is reported with an example', async () => {
    const message = expect.stringMatching(/^There is no file absent\.json: write JSON such as /);
    await expect(readAgentFile('absent.json')).rejects.toMatchObject({ code: 'CONFIG_INVALID', message });
  });

  test('a mistake in the file ends with exit code 2', async () => {
    const file = await folder.file('wrong.json', { limits: { maxSteps: 0 } });
    const { code, stderr } = await folder.command(['--agent', file, 'Hi'], { env: scriptedBy(providers) });
    expect(stderr).toContain(`${file}: limits.maxSteps must be a whole number`);
    expect(code).toBe(2);
  });
});

test('two --mcp files with the same server name are both named', async () => {
  const first = await folder.servers('first.json', { one: started(stdioServer) });
  const second = await folder.servers('second.json', { one: started(stdioServer) });
  const { code, stderr } = await folder.command(['--mcp', first, '--config', second, 'Hi']);
  expect(code).toBe(2);
  expect(stderr).toContain(`${first} and ${second} both have a server "one"`);
});
