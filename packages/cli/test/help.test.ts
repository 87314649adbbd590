import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { commandNames, helpOf } from '../src/command-line/help.ts';
import { splitCommand } from '../src/run-command.ts';
import { CommandFolder, commandLine } from './fixtures/command.ts';

const folder = new CommandFolder();
const golden = (name: string) => `fixtures/golden/${name}.txt`;

describe('--help', () => {
  test.each(['ask', ...commandNames])('of %s matches the golden file', async (name) => {
    const longLines = helpOf(name)
      .split('\n')
      .filter((line) => line.length > 120);
    expect(longLines).toEqual([]);
    await expect(helpOf(name)).toMatchFileSnapshot(golden(`help-${name}`));
  });

  test('has a text for every command', () => {
    const found = readdirSync(new URL('../src/commands', import.meta.url), { recursive: true, encoding: 'utf8' });
    const files = found.filter((file) => file.endsWith('.ts')).map((file) => basename(file, '.ts'));
    expect(['ask', ...commandNames].sort()).toEqual(files.sort());
    expect(commandNames.map((name) => splitCommand([name]).name)).toEqual(commandNames);
  });

  test.each([
    ['ask', '--quiet', '-h', 'prompt'],
    ['call', 'call', '-h'],
  ])('of %s is printed by %s', async (name, ...args) => {
    expect(await folder.spawned(args)).toEqual({ code: 0, stdout: helpOf(name), stderr: '' });
  });

  test('is not printed for a prompt after --', async () => {
    const servers = await folder.servers('none.json', {});
    const { stdout } = await folder.spawned(['-q', '-m', 'demo', '--mcp', servers, '--', '--help', 'me']);
    expect(stdout).toContain('(demo model: rules, not an LLM)');
    expect(stdout).not.toContain('--model NAME');
  });
});

describe('errors', () => {
  test.each([
    ['no-prompt', []],
    ['unknown-option', ['--modle', 'x', 'Hi']],
    ['unknown-option-of-a-command', ['tools', '--jsn']],
    ['option-without-value', ['--model']],
    ['absent-file', ['--mcp', 'absent.json', 'Hi']],
    ['command-after-options', ['--quiet', '--tools', 'my tools', 'tools']],
    ['unknown-model', ['--model', 'wishful', 'Hi']],
    ['missing-key', ['--model', 'anthropic/x', 'Hi']],
    ['unknown-profile', ['--profile', 'king', 'Hi']],
    ['unknown-confirm', ['--confirm', 'maybe', 'Hi']],
    ['bad-session', ['--session', '../up', 'Hi']],
    ['call-what', ['call', 'builtin']],
    ['dump-nothing', ['dump', '--docs-only', '--source-only']],
    ['serve-what', ['serve']],
    ['no-tool-folder', ['serve-tools', './absent']],
    ['new-tool-name', ['new-tool', '../up']],
    ['new-name', ['new', '../up']],
  ])('%s', async (name, args) => {
    const { code, stdout, stderr } = await folder.command(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    await expect(stderr).toMatchFileSnapshot(golden(`error-${name}`));
  });
});

test.each([
  ['--mcp-config', 'Use --mcp FILE.'],
  ['--mcp-config=servers.json', 'Use --mcp FILE.'],
  ['--mcpConfig', 'Use --mcp FILE.'],
  ['--mcp_config', 'Use --mcp FILE.'],
  ['--mcpServers', 'Use --mcp FILE.'],
  ['-p', 'Write the prompt as an argument: pocket-agent "prompt".'],
  ['--system-prompt', 'Use --agent FILE with "systemPrompt".'],
  ['--temperature', 'Use --agent FILE with "completionOptions".'],
  ['--api-key', 'Keys come from the environment; pocket-agent models names the variable of each provider.'],
  ['--max-turns', 'Use --max-steps N.'],
  ['--output-format', 'Use --json, which writes events as JSON lines.'],
  ['--json-schema', 'Use --output FILE.'],
  ['--dangerously-skip-permissions', 'Use --yes, which approves every call.'],
  ['--allowedTools', 'Use --profile NAME, or --agent FILE with "access".'],
  ['--continue', 'Use --session NAME.'],
  ['--attachment', 'Use --file FILE.'],
])('%s of other programs is explained', async (option, advice) => {
  const { code, stderr } = await folder.command([option, 'x', 'Hi']);
  const [name] = option.split('=');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining(`Unknown option '${name}'. ${advice}`),
  });
});

test('an option of other programs is not explained by one that the command does not have', async () => {
  const { stderr } = await folder.command(['tools', '--max-turns', '3']);
  expect(stderr).toContain("Unknown option '--max-turns'.");
  expect(stderr).not.toContain('--max-steps');
});

test('npm run examples refuses an unknown example and lists the known ones', () => {
  const script = fileURLToPath(new URL('../../../scripts/run-examples.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '01', '99'], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^There is no example "99"\. There are:\n01-hello\.ts\n/);
});

describe('cold start', () => {
  const [node = '', ...start] = commandLine;

  /** What a command prints, and the files that it loads. */
  function runProgram(args: readonly string[], env: Record<string, string>): { stdout: string; files: string[] } {
    const spy = `import { registerHooks } from 'node:module';
      registerHooks({ resolve(specifier, context, next) {
        const found = next(specifier, context);
        process.stderr.write(found.url + '\\n');
        return found;
      } });`;
    const preload = `data:text/javascript,${encodeURIComponent(spy)}`;
    const { stdout, stderr, status } = spawnSync(node, ['--import', preload, ...start, ...args], {
      env,
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    return { stdout, files: stderr.split('\n').filter((url) => /^(file|node):/.test(url)) };
  }

  test.each([
    ['--version', 'start/version.ts', /^\d+\.\d+\.\d+\n$/],
    ['--help', 'command-line/help.ts', helpOf('ask')],
  ])('%s is printed by a program that loads only the files it needs', (flag, own, printed) => {
    const { stdout, files } = runProgram([flag], { ...folder.env, NODE_OPTIONS: '' }); // without bundles
    expect(stdout).toMatch(printed);
    const paths = files.filter((url) => url.startsWith('file:'));
    expect(paths.map((url) => url.slice(url.lastIndexOf('/src/') + 5)).sort()).toEqual(
      [own, 'main.ts', 'start/require-node.ts', 'run-command.ts'].sort(),
    );
  });

  test.each(['an answer', 'serve'])('%s loads what it needs, but no YAML, prices or HTTP server', async (what) => {
    const agent = await folder.file('served.json', { llmModel: 'demo' });
    const { files } = runProgram(what === 'serve' ? ['serve', agent] : ['-m', 'demo', 'hello'], folder.env);
    expect(files.some((url) => url.includes(what === 'serve' ? '/serve' : 'cross-spawn'))).toBe(true);
    const unneeded = /node_modules\/(yaml|@pydantic|hono|@hono|@modelcontextprotocol\/node)\/|^node:https?$/;
    expect(files.filter((url) => unneeded.test(url))).toEqual([]);
  });
});
