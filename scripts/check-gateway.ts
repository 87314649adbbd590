// Executes what docs/gateway.md shows for operation: the Dockerfile, without Docker, and the start of the systemd unit.
import assert from 'node:assert/strict';
import { execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { buildImage } from './dockerfile/build.ts';
import { root } from './workspaces.ts';

const START_MS = 60_000;
const STOP_MS = 40_000;
/** The exit code after SIGTERM, which the unit must count as success. */
const EXIT_AFTER_SIGTERM = 143;

interface CheckOptions {
  folder: string;
  /** A folder with the tarballs of all packages. */
  tarballs: string;
  env: Record<string, string>;
}

export async function checkGateway({ folder, tarballs, env }: CheckOptions): Promise<void> {
  const page = readFileSync(join(root, 'docs/gateway.md'), 'utf8');
  const block = (language: string) =>
    page.match(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm'))?.[1] ??
    assert.fail(`docs/gateway.md has no ${language} block.`);
  checkUnit(block('ini'), folder);
  const context = join(folder, 'gateway');
  mkdirSync(context);
  writeFileSync(join(context, 'Dockerfile'), block('dockerfile'));
  writeFileSync(join(context, 'gateway.json'), '{ "tools": ["notes"], "access": { "confirm": "never" } }');
  const [, tarball = ''] = /COPY (\S+\.tgz)/.exec(block('dockerfile')) ?? [];
  copyFileSync(join(tarballs, tarball), join(context, tarball));
  const { root: image, workdir, command, user } = buildImage({ context, into: join(folder, 'image-gateway'), env });
  assert.equal(user, 'node');
  const options = { cwd: join(image, workdir), env: { PATH: env.PATH, HOME: folder } };
  const state = join(folder, 'gateway.sqlite');
  const [program = ''] = command;
  const token = execFileSync(program, ['gateway', 'token', 'add', 'ann', '--profile', 'reader', '--state', state], {
    ...options,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  const inImage = { ...options, env: { ...options.env, POCKET_AGENT_GATEWAY_STATE: state } };
  await checkServing(withLocalValues(command), inImage, token);
  const bin = join(image, workdir, 'node_modules/.bin');
  const places = { '/var/lib/gateway/state.sqlite': state, '/etc/gateway/gateway.json': join(context, 'gateway.json') };
  const withCommand = { ...options, env: { ...options.env, PATH: `${bin}:${env.PATH}` } };
  await checkServing(withLocalValues(startOf(block('ini')), places), withCommand, token);
  console.log('gateway: the Dockerfile and the unit of docs/gateway.md work');
}

/** A command of the page with the values of this machine: a free port, and other paths. */
function withLocalValues(command: readonly string[], places: Record<string, string> = {}): string[] {
  const changed = new Map([['8080', '0'], ['gateway.example.com', '127.0.0.1'], ...Object.entries(places)]);
  return command.map((word) => changed.get(word) ?? word);
}

/** Starts a gateway, uses it as a client, and stops it as Docker and systemd do. */
async function checkServing([program = '', ...args]: string[], options: SpawnOptions, token: string): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    const port = await waitForPort(child.stderr ?? assert.fail('no output'));
    assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
    const client = new Client({ name: 'check', version: '1.0.0' });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit }));
    const { tools } = await client.listTools();
    assert.ok(
      tools.some(({ name }) => name.startsWith('notes__')),
      'The gateway does not offer its tools.',
    );
    await client.close();
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(STOP_MS) });
    child.kill('SIGTERM');
    assert.equal((await ended)[0], EXIT_AFTER_SIGTERM);
  } finally {
    child.kill('SIGKILL');
    child.stderr?.destroy(); // an unread pipe keeps this process alive
  }
}

/** What the unit starts. Its state must be where systemd lets it write. */
function startOf(unit: string): string[] {
  const [, command = ''] = /^ExecStart=(.+)$/m.exec(unit) ?? [];
  const [, folder = ''] = /^StateDirectory=(.+)$/m.exec(unit) ?? [];
  assert.match(command, new RegExp(` --state /var/lib/${folder}/`));
  return command.split(' ');
}

function checkUnit(unit: string, folder: string): void {
  assert.match(unit, new RegExp(`^SuccessExitStatus=${EXIT_AFTER_SIGTERM}$`, 'm'));
  const file = join(folder, 'gateway.service');
  writeFileSync(file, unit);
  try {
    execFileSync('systemd-analyze', ['verify', file], { stdio: ['ignore', 'inherit', 'inherit'] });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    console.log('gateway: the unit was started, but not verified, because systemd-analyze is missing; install systemd');
  }
}

async function waitForPort(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input: output, signal: AbortSignal.timeout(START_MS) });
  for await (const line of lines) {
    const [, port] = /listening on \S+:(\d+)/.exec(line) ?? [];
    if (port) return port;
  }
  return assert.fail('The gateway did not print its port.');
}
