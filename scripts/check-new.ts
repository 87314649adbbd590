// `npm run test:new`: creates a project from each template of `pocket-agent new`, executes its Dockerfile without Docker, and
// uses the result. `-- bot` checks only that template, `-- gateway` the examples of docs/gateway.md.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Template, templates } from '../packages/cli/src/project/templates.ts';
import { startFakeMattermost } from '../packages/mattermost/test/fake/fake-mattermost.ts';
import { checkGateway } from './check-gateway.ts';
import { buildImage, type Stage } from './dockerfile/build.ts';
import { Container } from './dockerfile/container.ts';
import { packTarballs } from './pack.ts';
import { showHelp } from './show-help.ts';
import { root } from './workspaces.ts';

const INSTALL_MS = 240_000;
const ANSWER_MS = 60_000;
const MAX_IMAGE_MB = 60;
const TOKEN = 'secret-of-the-check';
const QUESTION = 'When do you open on Monday?';
const ANSWER = /9:00 to 18:00/;
/** The variables that tell npm where its registry and cache are. Images get no others. */
const NPM_VARIABLES =
  /^(HOME|npm_config_(registry|cache|userconfig|globalconfig|cafile)|(https?|no)_proxy|NODE_EXTRA_CA_CERTS)$/i;

interface CheckEnvironment {
  folder: string;
  tarballs: string;
  env: Record<string, string>;
}

/** Starts the container of a template, uses it and stops it. */
type Trial = (image: Stage, env: Record<string, string>) => Promise<void>;

const trials: Record<Template, Trial> = {
  agent: tryAgent,
  'mcp-server': tryServer,
  bot: tryBot,
};

async function checkTemplate(template: Template, { folder, tarballs, env }: CheckEnvironment): Promise<void> {
  const started = performance.now();
  const name = `shop-${template}`;
  const command = [process.execPath, '-C', 'pocket-agent/source', join(root, 'packages/cli/src/main.ts')];
  run([...command, 'new', name, '--template', template, '--tarballs', tarballs], folder, { ...env, PATH: '' });
  const context = join(folder, name);
  run(['npm', 'install', '--silent', '--no-audit', '--no-fund'], context, env);
  assert.match(run(['npm', 'run', '--silent', 'ask', '--', QUESTION], context, env), ANSWER);
  assert.match(run(['npm', 'run', '--silent', 'eval'], context, env), /^all +2\/2 passed/m);

  const image = buildImage({ context, into: join(folder, `image-${template}`), env });
  const megabytes = sizeOf(image.root) / 1e6;
  assert.ok(
    megabytes < MAX_IMAGE_MB,
    `${template}: the image has ${megabytes} MB besides Node; ${MAX_IMAGE_MB} are allowed.`,
  );
  await trials[template](image, { PATH: env.PATH ?? '' });
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`${template}: ${megabytes.toFixed(1)} MB, ${seconds} s`);
}

function run([command = '', ...args]: string[], cwd: string, env: Record<string, string>): string {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  return execFileSync(command, args, { cwd, env, timeout: INSTALL_MS, encoding: 'utf8', stdio: [...stdio] });
}

async function tryAgent(image: Stage, env: Record<string, string>): Promise<void> {
  await withServer(image, { ...env, AGENT_TOKEN: TOKEN }, async (client) => {
    const { tools } = await client.listTools();
    assert.equal(tools.length, 1);
    const result = await client.callTool({ name: tools[0]?.name ?? '', arguments: { message: QUESTION } });
    assert.match(JSON.stringify(result.content), ANSWER);
  });
}

async function tryServer(image: Stage, env: Record<string, string>): Promise<void> {
  await withServer(image, { ...env, MCP_TOKEN: TOKEN }, async (client) => {
    const result = await client.callTool({ name: 'opening_hours', arguments: { day: 'monday' } });
    assert.match(JSON.stringify(result.content), ANSWER);
  });
}

/** Starts the container of an HTTP server. Requests without the token are refused. */
async function withServer(image: Stage, env: Record<string, string>, use: (client: Client) => Promise<void>) {
  const container = new Container(image, { ...env, PORT: '0' });
  const client = new Client({ name: 'check-new', version: '1.0.0' });
  try {
    const [, port = ''] = /:(\d+)/.exec(await container.waitForLine(/^Listening on /)) ?? [];
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    assert.equal((await fetch(url, { method: 'POST' })).status, 401);
    const headers = { Authorization: `Bearer ${TOKEN}` };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    await use(client);
    container.checkHealth({ PORT: port });
    await client.close();
    await container.stop();
  } finally {
    container.kill();
  }
}

async function tryBot(image: Stage, env: Record<string, string>): Promise<void> {
  const mattermost = await startFakeMattermost();
  const account = { MATTERMOST_URL: mattermost.url, MATTERMOST_TOKEN: mattermost.token('helper') };
  const container = new Container(image, { ...env, ...account });
  try {
    await container.waitForLine(/^@helper is listening/);
    mattermost.say('alice', 'town-square', `@helper ${QUESTION}`);
    const isAnswered = () => [...mattermost.world.posts.values()].some(({ message }) => ANSWER.test(message));
    for (const end = Date.now() + ANSWER_MS; !isAnswered(); await delay(50))
      assert.ok(Date.now() < end, 'The bot did not answer.');
    await container.stop();
  } finally {
    container.kill();
    await mattermost.close();
  }
}

function sizeOf(folder: string): number {
  return globSync('**/*', { cwd: folder }).reduce((sum, file) => sum + lstatSync(join(folder, file)).size, 0);
}

/** Makes a folder with the commands of the images, which every user may read. */
function makeEnvironment(): CheckEnvironment {
  const folder = mkdtempSync(join(tmpdir(), 'pocket-agent-new-'));
  chmodSync(folder, 0o755);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  copyFileSync(process.execPath, join(bin, 'node'));
  const npm = process.env.npm_execpath ?? assert.fail('Start this program with npm: npm run test:new');
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\nexec '${bin}/node' '${npm}' "$@"\n`, { mode: 0o755 });
  const npmEnv = Object.entries(process.env).filter(([name]) => NPM_VARIABLES.test(name)) as [string, string][];
  return {
    folder,
    tarballs: join(folder, 'tarballs'),
    env: { ...Object.fromEntries(npmEnv), PATH: `${bin}:/usr/bin:/bin` },
  };
}

showHelp(`npm run test:new                 creates a project from each template of pocket-agent new, executes its Dockerfile and uses
                                 the result; then checks the examples of docs/gateway.md
npm run test:new -- NAME…        only some of ${[...templates, 'gateway'].join(', ')}
`);
const environment = makeEnvironment();
try {
  const wanted = process.argv.slice(2);
  packTarballs(environment.tarballs);
  for (const template of templates) {
    if (wanted.length === 0 || wanted.includes(template)) await checkTemplate(template, environment);
  }
  if (wanted.length === 0 || wanted.includes('gateway')) await checkGateway(environment);
} finally {
  rmSync(environment.folder, { recursive: true, force: true });
}
