// The tests and the failures of projects that `pocket-agent new` has made.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { CommandFolder, main } from '../fixtures/command.ts';
import { newProject, root, templates } from '../fixtures/projects.ts';

const folder = new CommandFolder();
/** The packages of this repository are not compiled for these tests. */
const sources = ['-C', 'pocket-agent/source'];

async function installed(template: string): Promise<string> {
  const project = await newProject(folder, template);
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'));
  const mcp = JSON.parse(await readFile(join(project, 'mcp.json'), 'utf8'));
  if (template === 'mcp-server') {
    mcp.mcpServers['corner-shop'].args.unshift(...sources);
    mcp.mcpServers['corner-shop'].waitMs = 60_000; // a busy machine may need longer than the 10 s of the default
  }
  await writeFile(join(project, 'mcp.json'), JSON.stringify(mcp));
  return project;
}

test.each(templates)('the cases of eval.yaml of the template %s pass with the demo model', async (template) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...sources, main, 'eval', 'eval.yaml'], {
    cwd: await installed(template),
    env: folder.env,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0); // a slow start of the server is logged
  expect(stdout).toMatch(/^case +corner-shop\nopening hours +1\/1 passed.*\nclosed +1\/1 passed/);
});

test.each(templates)('pocket-agent new --template %s writes tests that pass', async (template) => {
  const project = await installed(template);
  const { status, stdout } = spawnSync(process.execPath, [...sources, '--test'], {
    cwd: project,
    env: folder.env,
    encoding: 'utf8',
  });
  expect(stdout).toContain('pass 3');
  expect(status).toBe(0);
});

test.each(templates)(
  'every script of the template %s that runs TypeScript names the Node that it needs',
  async (template) => {
    const project = await newProject(folder, template);
    const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'));
    const run = Object.keys(scripts).filter((name) => /^node .*(\.ts|eval)/.test(scripts[name]));
    expect(run.map((name) => [name, scripts[`pre${name}`]])).toEqual(
      ['start', 'ask', 'test', 'eval'].map((name) => [name, 'node needs-node.cjs']),
    );
    const check = (node: string) => {
      const versions = `{ ...process.versions, node: '${node}' }`;
      const asIf = `Object.defineProperties(process, { versions: { value: ${versions} }, version: { value: 'v${node}' } });`;
      const args = ['--import', `data:text/javascript,${encodeURIComponent(asIf)}`, 'needs-node.cjs'];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
      return { status, stdout, stderr };
    };
    expect(check('24.0.0')).toEqual({ status: 0, stdout: '', stderr: '' });
    const stderr = 'This project needs Node 24 or newer; this is v20.19.0. See https://nodejs.org.\n';
    expect(check('20.19.0')).toEqual({ status: 1, stdout: '', stderr });
  },
);

const busy = createServer().listen(0, '127.0.0.1');
await once(busy, 'listening');
const { port: busyPort } = busy.address() as AddressInfo;
afterAll(() => void busy.close());

describe.each(templates)('a program of the template %s that cannot work', (template) => {
  const program = { agent: ['serve.ts'], 'mcp-server': ['server.ts', '--http'], bot: ['bot.ts'] }[template] ?? [];
  const noKey = 'Model "openai/gpt-5" needs a key: set OPENAI_API_KEY, or pass modelSettings.apiKey.\n';
  const bot = { MATTERMOST_URL: 'http://127.0.0.1:9', MATTERMOST_TOKEN: 'token' };
  const started: [string, Record<string, string>, RegExp][] =
    template === 'bot'
      ? [
          ['without a token', {}, /^The configuration is invalid:\n- MATTERMOST_TOKEN is missing: .+\n$/],
          ['with a server that does not run', bot, /^Mattermost could not be reached at http:\/\/127\.0\.0\.1:9 .+\n$/],
        ]
      : [
          [
            'with a port that is no number',
            { PORT: 'abc' },
            /^PORT must be a whole number such as 3000, got "abc"\.\n$/,
          ],
          [
            'with a port out of range',
            { PORT: '99999' },
            /^port must be a whole number from 0 to 65535, got 99999\.\n$/,
          ],
          [
            'with a host that does not exist',
            { HOST: 'shop.invalid' },
            /^Cannot listen on shop\.invalid port 3000: .+\n$/,
          ],
          [
            'with a port in use',
            { PORT: `${busyPort}` },
            /\. Choose another port; .+\. The variable PORT sets it\.\n$/,
          ],
          ['without a token', { AGENT_TOKEN: '', MCP_TOKEN: '' }, /^Set (AGENT|MCP)_TOKEN to a secret .+\.\n$/],
        ];

  function run(project: string, args: readonly string[], env: Record<string, string>) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...sources, '--env-file=.env', ...args], {
      cwd: project,
      env: { ...folder.env, ...env },
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  }

  test('says which key the model needs, in one line', async () => {
    const outcome = run(await installed(template), ['agent.ts'], { MODEL: 'openai/gpt-5' });
    expect(outcome).toEqual({ status: 1, stdout: '', stderr: noKey });
  });

  test('names mcp.json if it is not JSON', async () => {
    const project = await installed(template);
    await writeFile(join(project, 'mcp.json'), '{ "mcpServers": }');
    const outcome = run(project, ['agent.ts'], {});
    expect(outcome.stderr).toMatch(/^\S+mcp\.json is not valid JSON: .+\n$/);
    expect(outcome.status).toBe(1);
  });

  test.each(started)('ends %s in one message', async (_, env, message) => {
    const { status, stdout, stderr } = run(await installed(template), program, env);
    expect(stderr).toMatch(message);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  });

  test('shows the stack of a bug', async () => {
    const project = await installed(template);
    await writeFile(join(project, 'bug.ts'), BUG);
    expect(run(project, ['bug.ts'], {}).stderr).toMatch(/TypeError: .+\n\s+at /);
  });
});

const BUG = `import { runProgram } from './program.ts';
await runProgram(async () => new Map(null.entries()));
`;
