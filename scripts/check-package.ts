// Packs the published packages, installs each in an empty folder, and tries there what its documentation promises.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startFakeMattermost } from '../packages/mattermost/test/fake/fake-mattermost.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const workshop = mkdtempSync(join(tmpdir(), 'pocket-agent-package-'));

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function pack(name: string): string {
  const lines = run('npm', ['pack', '--silent', '--pack-destination', workshop, '-w', name], root).trim().split('\n');
  return join(workshop, lines.at(-1) ?? '');
}

interface Installation {
  name: string;
  packages: string[];
  /** The maximum number of installed packages, to notice unwanted dependencies. */
  mostPackages: number;
}

/** Returns the folder. */
function install({ name, packages, mostPackages }: Installation): string {
  const folder = join(workshop, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  add(folder, ...packages);
  const installed = run('npm', ['ls', '--all', '--parseable'], folder).trim().split('\n').length - 1;
  console.log(`${name}: ${installed} packages on disk`);
  assert.ok(installed <= mostPackages, `More than ${mostPackages} packages are installed with ${name}.`);
  return folder;
}

function add(folder: string, ...packages: string[]): void {
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...packages], folder);
}

/** The import loads few files, and errors are the same class from every entry point and from late imports. */
const bundled = `
  import assert from 'node:assert/strict';
  import { registerHooks } from 'node:module';
  const files = [];
  registerHooks({ load: (url, context, next) => { files.push(url); return next(url, context); } });
  const { PocketAgentClient, PocketError } = await import('pocket-agent');
  const own = files.filter((url) => /\\/(pocket-agent|kit|schema)\\/dist\\//.test(url));
  assert.ok(own.length <= 7, 'import loads ' + own.length + ' files: ' + own.join(', '));
  const mcpConfig = { mcpServers: { gone: { url: 'http://127.0.0.1:9/' } } };
  const client = new PocketAgentClient({ mcpConfig });
  await assert.rejects(client.readResource('gone', 'file:///nothing'), PocketError);
  await client.close();
  console.log('import loads ' + own.length + ' files');`;

/** Prints a stack trace, which source maps resolve. */
const traced = `
  import { PocketAgent } from 'pocket-agent';
  try { new PocketAgent({ agentConfig: {} }); } catch (error) { console.log(error.stack); }`;

/** Compiles and runs the first example of the README. */
function checkPocketAgent(packages: string[]): void {
  const folder = install({ name: 'pocket-agent', packages, mostPackages: 25 });
  add(folder, 'typescript@7.0.2', '@types/node@24');
  const [, example = ''] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
  writeFileSync(join(folder, 'example.ts'), example);
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2024', types: ['node'], outDir: 'out' };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['example.ts'] }));
  run(join(folder, 'node_modules/.bin/tsc'), ['-p', '.'], folder);
  const answer = run(process.execPath, ['out/example.js'], folder);
  console.log(answer.trim());
  assert.match(answer, /21 °C in London/, 'The example did not answer as the README says.');
  console.log(run(process.execPath, ['--input-type=module', '-e', bundled], folder).trim());

  const trace = run(process.execPath, ['--enable-source-maps', '--input-type=module', '-e', traced], folder);
  assert.match(trace, /src\/agent\/agent-config\.ts:\d+/, 'Source maps do not lead to the TypeScript.');
}

/** Errors are the same class from every package. */
const shared = `
  import assert from 'node:assert/strict';
  import { PocketError } from 'pocket-agent';
  import { loadToolFolder } from '@pocket-agent/tool-folder';
  import { remoteAgent } from '@pocket-agent/a2a';
  await assert.rejects(async () => loadToolFolder('./nowhere').listTools(), PocketError);
  assert.throws(() => remoteAgent('nowhere'), PocketError);`;

/** The option `skills` finds the package that reads them. */
const skilled = `
  import assert from 'node:assert/strict';
  import { mkdirSync, writeFileSync } from 'node:fs';
  import { PocketAgent } from 'pocket-agent';
  import { ScriptedModel } from 'pocket-agent/testing';
  mkdirSync('skills/pdf', { recursive: true });
  writeFileSync('skills/pdf/SKILL.md', '---\\nname: pdf\\ndescription: Fills forms\\n---\\nUse black ink.');
  const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'load_skill', arguments: { skill: 'pdf' } }] }, 'Done.']);
  const agent = new PocketAgent({ llmModel, skills: ['./skills'] });
  await agent.run('Fill the form.');
  assert.match(JSON.stringify(agent.messages), /Use black ink/);`;

/** Runs the command, with its documentation and included tool folders. */
function checkCommand(packages: string[]): void {
  const folder = install({ name: 'cli', packages, mostPackages: 38 });
  run(process.execPath, ['--input-type=module', '-e', shared], folder);
  run(process.execPath, ['--input-type=module', '-e', skilled], folder);
  const bin = join(folder, 'node_modules/.bin/pocket-agent');
  const asked = run(process.execPath, [bin, '--quiet', '--model', 'demo', 'What is 6 * 7?'], folder);
  console.log(asked.trim());
  assert.match(asked, /42/, 'The installed command did not answer.');
  const npx = ['--no-install', 'pocket-agent'];
  assert.match(run('npx', [...npx, 'tools', '--tools', 'web'], folder), /web_fetch +read/);
  assert.match(run('npx', [...npx, 'dump', '--docs-only'], folder), /# Tools as folders/);
}

/** Runs the command without settings, and then with a fake Mattermost and a real MCP client. */
async function checkMattermost(packages: string[]): Promise<void> {
  const folder = install({ name: 'mattermost', packages, mostPackages: 10 });
  const npx = ['--no-install', 'mcp-server-mattermost'];
  const manifest = readFileSync(join(root, 'packages/mattermost/package.json'), 'utf8');
  assert.equal(run('npx', [...npx, '--version'], folder).trim(), JSON.parse(manifest).version);
  assert.match(run('npx', [...npx, '--help'], folder), /--http/);
  assert.match(run('npx', ['--no-install', 'mattermost-bot', '--help'], folder), /--agent/);

  const { PATH = '' } = process.env;
  const unset = spawnSync('npx', npx, { cwd: folder, encoding: 'utf8', env: { PATH } });
  assert.equal(unset.status, 2, unset.stderr);
  assert.match(unset.stderr, /MATTERMOST_URL is missing/);
  assert.equal(unset.stdout, '');

  const mattermost = await startFakeMattermost();
  const env = { PATH, MATTERMOST_URL: mattermost.url, MATTERMOST_TOKEN: mattermost.token('alice') };
  const client = new Client({ name: 'check-package', version: '1.0.0' });
  try {
    const transport = new StdioClientTransport({ command: 'npx', args: npx, cwd: folder, env, stderr: 'ignore' });
    await client.connect(transport);
    const { tools } = await client.listTools();
    const post = { channel_id: mattermost.channel('off-topic').id, message: 'Packed and installed' };
    const { isError } = await client.callTool({ name: 'post_message', arguments: post });
    console.log(`mcp-server-mattermost: ${tools.length} tools, posted ${isError ? 'nothing' : 'a message'}`);
    assert.ok([...mattermost.world.posts.values()].some(({ message }) => message === post.message));
  } finally {
    await client.close();
    await mattermost.close();
  }
}

/** Runs the command as an MCP server with a new registry. */
async function checkAgent3(packages: string[]): Promise<void> {
  const folder = install({ name: 'agent3', packages, mostPackages: 30 });
  const { PATH = '' } = process.env;
  const env = { PATH, AGENT3_DB: join(folder, 'agent3.db') };
  const client = new Client({ name: 'check-package', version: '1.0.0' });
  try {
    const command = { command: 'npx', args: ['--no-install', 'agent3'], cwd: folder, env, stderr: 'ignore' as const };
    await client.connect(new StdioClientTransport(command));
    const { structuredContent } = await client.callTool({ name: 'agent3_search', arguments: { query: 'weather' } });
    assert.deepEqual((structuredContent as { agents: unknown }).agents, []);
    console.log('agent3: searched a new registry');
  } finally {
    await client.close();
  }
}

/** Runs the command without a token; it says how to get one. */
function checkDiscord(packages: string[]): void {
  const folder = install({ name: 'discord', packages, mostPackages: 62 });
  const { PATH = '' } = process.env;
  const untold = spawnSync('npx', ['--no-install', 'pocket-discord'], { cwd: folder, encoding: 'utf8', env: { PATH } });
  assert.match(untold.stderr, /DISCORD_TOKEN/);
  assert.notEqual(untold.status, 0);
  console.log('pocket-discord: explains how to get a token');
}

/** Uses a Redis that cannot be reached: the router says so and answers. */
function checkRedis(packages: string[]): void {
  const folder = install({ name: 'redis', packages, mostPackages: 32 });
  const answer = run(process.execPath, ['--input-type=module', '-e', routed], folder);
  assert.match(answer, /Redis at 127.0.0.1:9 cannot be reached.*Hello/s);
  console.log('redis: a router answers without Redis');
}

const routed = `
  import { Router } from 'pocket-agent';
  import { ScriptedModel } from 'pocket-agent/testing';
  import { redisRateStore } from '@pocket-agent/redis';
  const models = [{ modelName: 'main', params: { model: new ScriptedModel(['Hello']) } }];
  const logger = { debug() {}, info() {}, warn: console.log, error: console.log };
  const router = new Router({ models, logger, rateStore: redisRateStore({ url: 'redis://127.0.0.1:9' }) });
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
  console.log((await router.languageModel('main').doGenerate({ prompt })).content[0].text);
  await router.close();`;

try {
  run('npm', ['run', '--silent', 'build'], root);
  const names = ['kit', 'http', 'schema', 'store', 'a2a', 'tool-folder'];
  const [kit = '', http = '', schema = '', store = '', a2a = '', folders = ''] = names.map((name) =>
    pack(`@pocket-agent/${name}`),
  );
  const library = [pack('pocket-agent'), kit, http, schema];
  checkPocketAgent(library);
  checkRedis([pack('@pocket-agent/redis'), ...library]);
  checkCommand([pack('@pocket-agent/cli'), ...library, a2a, folders, store]);
  await checkMattermost([pack('@pocket-agent/mattermost'), kit, http]);
  await checkAgent3([pack('@pocket-agent/agent3'), ...library, store, a2a]);
  checkDiscord([pack('@pocket-agent/discord'), ...library, store, folders]);
} finally {
  rmSync(workshop, { recursive: true, force: true });
}
console.log('6 passed, 0 failed');
