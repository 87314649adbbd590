import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dataFolder } from '../../../kit/src/files/private-files.ts';
import { SEED_MANIFEST, SEED_TOOLS } from '../../../tool-folder/test/fixtures/seed-manifest.ts';
import { checkNode } from '../../src/commands/doctor.ts';
import { configPlaces } from '../../src/setup/found-configs.ts';
import { CommandFolder, oddServer, started, stdioServer, toolsFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();

describe('pocket-agent doctor', () => {
  test('lists what works and shows no secret', async () => {
    const env = { OPENAI_API_KEY: 'sk-very-secret', POCKET_AGENT_TOKEN: 'also-secret' };
    const file = await folder.servers('one.json', { one: { ...started(stdioServer), env: { TOKEN: 'hidden' } } });
    const { code, stdout, stderr } = await folder.command(['doctor', '--mcp', file, '--tools', toolsFolder], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('ok      OPENAI_API_KEY is set');
    expect(stdout).toContain('ok      model openai/');
    expect(stdout).toMatch(/ok {6}server one: \d+ tools/);
    expect(stdout).toContain('ok      tool folder Greeter: 1 tool\n');
    expect(stdout).toContain(`ok      data folder ${join(folder.path, 'data', 'pocket-agent')}`);
    expect(stdout).toContain('ok      provider packages: @ai-sdk/anthropic');
    expect(stdout).toContain('no terminal');
    expect(stdout).not.toMatch(/secret|hidden|broken/);
  });

  test('applies --default-capability', async () => {
    const own = join(folder.path, 'seed', 'Multiplication');
    await mkdir(own, { recursive: true });
    await writeFile(join(own, 'manifest.yaml'), SEED_MANIFEST);
    await writeFile(join(own, 'tool.mjs'), SEED_TOOLS);
    const args = ['doctor', '--tools', own];
    expect((await folder.command(args)).stdout).toContain('no capability for "multiply"');
    const { stdout } = await folder.command([...args, '--default-capability', 'read']);
    expect(stdout).toContain('tool folder Multiplication: 1 tool');
    expect(stdout).not.toContain('no capability');
  });

  test('lists what is broken and how to fix it, with exit code 1', async () => {
    const own = join(folder.path, 'broken-tools');
    await cp(toolsFolder, own, { recursive: true });
    await writeFile(join(own, 'Counter', 'manifest.yaml'), 'tool_human_name: Counts\ntool_list: nothing\n');
    await cp(join(toolsFolder, 'Greeter'), join(own, 'Old'), { recursive: true });
    await writeFile(join(own, 'Old', 'package.json'), '{ "type": "commonjs" }'); // as npm init writes it
    const file = await folder.servers('broken.json', {
      exits: started(oddServer, 'exits'),
      absent: { command: 'no-such-program' },
    });
    const args = ['doctor', '--mcp', file, '--tools', own, '--model', 'anthropic/x'];
    const { code, stdout } = await folder.spawned(args, { env: { XDG_DATA_HOME: file } });
    expect(code).toBe(1);
    expect(stdout).toMatch(/broken {2}model anthropic\/x: .*set ANTHROPIC_API_KEY/);
    expect(stdout).toMatch(/broken {2}server exits: .*API_TOKEN is wrong.*\n {8}Check its "command"/);
    expect(stdout).toContain('broken  server absent: ');
    expect(stdout).toContain('ok      tool folder Greeter: 1 tool');
    expect(stdout).toMatch(/broken {2}.*Counter\/manifest\.yaml:2:\d+: found "nothing"; expected/);
    expect(stdout).toMatch(/broken {2}.*Old\/tool\.ts:\d+:1: .*put one with { "type": "module" } beside it/);
    expect(stdout).toMatch(/broken {2}data folder .*\n {8}.*XDG_DATA_HOME/);
    expect(stdout).toMatch(
      /note {4}no API key of a model provider is set\n {8}Set ANTHROPIC_API_KEY, OPENAI_API_KEY, .*GEMINI_API_KEY, .*, or run Ollama/,
    );
  });

  test('reports a Node version that is too old', () => {
    expect(checkNode('22.17.1')).toMatchObject({ state: 'broken', text: expect.stringContaining('22.18 or newer') });
    expect(checkNode('22.18.0').state).toBe('ok');
    expect(checkNode('24.1.0').state).toBe('ok');
    expect(checkNode('20.19.0').state).toBe('broken');
  });
});

describe('files of Claude Desktop, Cursor and VS Code', () => {
  test('are listed by doctor and not used without approval', async () => {
    const home = join(folder.path, 'stranger');
    const touch = { command: process.execPath, args: ['-e', `require('fs').writeFileSync('touched', '')`] };
    await mkdir(join(home, '.cursor'), { recursive: true });
    await mkdir(join(folder.path, 'config', 'Claude'), { recursive: true });
    await folder.file('config/Claude/claude_desktop_config.json', '{ this is not JSON');
    for (const file of ['.cursor/mcp.json', '.mcp.json']) {
      await folder.file(join('stranger', file), { mcpServers: { touch } });
    }
    const doctor = await folder.command(['doctor'], { cwd: home });
    expect(doctor.code).toBe(0);
    expect(doctor.stdout).toMatch(/claude_desktop_config\.json \(Claude Desktop\) may have MCP servers/);
    expect(doctor.stdout).toContain('Use it with --mcp .cursor/mcp.json');
    expect(doctor.stdout).toContain('Use it with --mcp .mcp.json');
    expect(doctor.stdout).not.toContain('touch');
    const asked = await folder.command(['-q', 'What is 6 * 7?'], { cwd: home });
    expect(asked.stdout).toContain('42');
    await expect(readFile(join(home, 'touched'))).rejects.toThrow();
  });

  test('are found in the standard places of each system', () => {
    const files = (platform: NodeJS.Platform, env = {}) => configPlaces(env, platform).map(({ file }) => file);
    expect(files('linux', { XDG_CONFIG_HOME: '/c' })).toContain('/c/Claude/claude_desktop_config.json');
    expect(files('linux', { XDG_CONFIG_HOME: '/c' })).toContain('/c/Code/User/mcp.json');
    expect(
      files('darwin').some((file) => file.endsWith('/Library/Application Support/Claude/claude_desktop_config.json')),
    ).toBe(true);
    expect(files('win32', { APPDATA: '/roaming' })).toContain('/roaming/Code/User/mcp.json');
  });
});

test('the data folder is in the standard place of each system', () => {
  expect(dataFolder({ XDG_DATA_HOME: '/d' }, 'linux')).toBe('/d/pocket-agent');
  expect(dataFolder({ XDG_DATA_HOME: 'relative' }, 'linux')).toMatch(/\/\.local\/share\/pocket-agent$/);
  expect(dataFolder({}, 'darwin')).toMatch(/\/Library\/Application Support\/pocket-agent$/);
  expect(dataFolder({ LOCALAPPDATA: '/local' }, 'win32')).toBe('/local/pocket-agent');
});
