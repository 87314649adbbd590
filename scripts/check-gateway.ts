// Executes what docs/gateway.md shows for operation: the Dockerfile, without Docker, and the unit of systemd.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { buildImage } from './dockerfile/build.ts';
import { root } from './workspaces.ts';

const START_MS = 60_000;
const STOP_MS = 40_000;
/** What the command answers to SIGTERM. The unit must count it as success. */
const STOPPED = 143;

interface Workshop {
  folder: string;
  /** A folder with the tarballs of all packages. */
  tarballs: string;
  env: Record<string, string>;
}

export async function checkGateway({ folder, tarballs, env }: Workshop): Promise<void> {
  const page = readFileSync(join(root, 'docs/gateway.md'), 'utf8');
  const block = (language: string) =>
    page.match(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm'))?.[1] ?? assert.fail(`no ${language} block`);
  checkUnit(block('ini'), folder);
  const context = join(folder, 'gateway');
  mkdirSync(context);
  writeFileSync(join(context, 'Dockerfile'), block('dockerfile'));
  writeFileSync(join(context, 'gateway.json'), '{ "tools": ["notes"], "access": { "confirm": "never" } }');
  const [, tarball = ''] = /COPY (\S+\.tgz)/.exec(block('dockerfile')) ?? [];
  copyFileSync(join(tarballs, tarball), join(context, tarball));
  const { root: image, workdir, command, user } = buildImage({ context, into: join(folder, 'image-gateway'), env });
  assert.equal(user, 'node');
  const here = new Map([
    ['8080', '0'],
    ['gateway.example.com', '127.0.0.1'],
  ]);
  const [program = '', ...args] = command.map((word) => here.get(word) ?? word);
  const state = join(folder, 'gateway.sqlite');
  const options = {
    cwd: join(image, workdir),
    env: { PATH: env.PATH, HOME: folder, POCKET_AGENT_GATEWAY_STATE: state },
  };
  const add = ['gateway', 'token', 'add', 'ann', '--profile', 'reader'];
  const token = execFileSync(program, add, {
    ...options,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    const port = await printedPort(child.stderr);
    assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
    const client = new Client({ name: 'check', version: '1.0.0' });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit }));
    const { tools } = await client.listTools();
    assert.ok(
      tools.some(({ name }) => name.startsWith('notes__')),
      'the tools of the gateway',
    );
    await client.close();
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(STOP_MS) });
    child.kill('SIGTERM');
    assert.equal((await ended)[0], STOPPED);
  } finally {
    child.kill('SIGKILL');
  }
  console.log('gateway: the Dockerfile and the unit of docs/gateway.md work');
}

function checkUnit(unit: string, folder: string): void {
  assert.match(unit, new RegExp(`^SuccessExitStatus=${STOPPED}$`, 'm'));
  const file = join(folder, 'gateway.service');
  writeFileSync(file, unit);
  try {
    execFileSync('systemd-analyze', ['verify', file], { stdio: ['ignore', 'inherit', 'inherit'] });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    console.log('gateway: the unit was not verified, because systemd-analyze is not installed');
  }
}

async function printedPort(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input: output, signal: AbortSignal.timeout(START_MS) });
  for await (const line of lines) {
    const [, port] = /listening on \S+:(\d+)/.exec(line) ?? [];
    if (port) return port;
  }
  return assert.fail('The gateway did not say where it listens.');
}
