// `npm run test:runtimes`: installs the tarballs with Bun, Deno, Next and the runtime of Cloudflare Workers in a temporary
// folder, and runs agents there, also from a bundle.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { rolldown } from 'rolldown';
import { esmExternalRequirePlugin } from 'rolldown/plugins';
import { packTarballs } from './pack.ts';
import { showHelp } from './show-help.ts';
import { root } from './workspaces.ts';

const BUN = 'bun@1.4.4';
/** Later versions lack packages for some platforms. */
const DENO = 'deno@2.9.5';
const NEXT = ['next@16.4.6', 'react@19', 'react-dom@19'];
const MINIFLARE = 'miniflare@4.20260730.0';
const INSTALL_MS = 240_000;
const RUN_MS = 180_000;

function run(command: string, args: string[], cwd: string, timeout = RUN_MS): void {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', DENO_NO_UPDATE_CHECK: '1' };
  // a program that hangs may not react to SIGTERM
  const end = { timeout, killSignal: 'SIGKILL' } as const;
  execFileSync(command, args, { cwd, env, ...end, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Installs the packages in a new folder, and returns it. */
function install(folder: string, packages: readonly string[]): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...packages], folder, INSTALL_MS);
  return folder;
}

function checkRuntimes(folder: string): void {
  cpSync(join(root, 'scripts/runtimes'), folder, { recursive: true });
  const bin = (name: string) => join(folder, 'node_modules/.bin', name);
  const runtimes: [string, ...string[]][] = [[process.execPath], [bin('bun')], [bin('deno'), 'run', '--allow-all']];
  for (const [command, ...args] of runtimes) {
    console.log(`== ${command.split('/').at(-1)}`);
    for (const program of ['agent.mjs', 'conversations.mjs']) run(command, [...args, program], folder);
  }
}

async function checkNext(folder: string): Promise<void> {
  console.log('== next');
  cpSync(join(root, 'scripts/runtimes/next'), folder, { recursive: true });
  const next = join(folder, 'node_modules/next/dist/bin/next');
  run(process.execPath, [next, 'build'], folder);
  const server = spawn(process.execPath, [next, 'start', '--port', '0', '--hostname', '127.0.0.1'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    run(process.execPath, ['call.mjs', await addressOf(server)], folder);
  } finally {
    const ended = once(server, 'exit');
    server.kill('SIGKILL'); // nothing is left to save
    await ended;
  }
}

/** Bundles a program without the optional packages. The bundler must not warn, and the bundle must run without node_modules. */
async function checkBundle(folder: string): Promise<void> {
  console.log('== bundle');
  const program = `import { PocketAgent } from 'pocket-agent';
    const agent = new PocketAgent({ llmModel: 'demo' });
    if (!(await agent.run('Hello')).includes('demo')) throw new Error('The demo model did not answer.');
    await agent.close();
    const without = new PocketAgent({ llmModel: 'openai/gpt-5', modelSettings: { apiKey: 'none' } });
    const { code } = await without.run('Hello').catch((error) => error);
    if (code !== 'MODEL_PACKAGE_MISSING') throw new Error(\`Expected MODEL_PACKAGE_MISSING, got \${code}\`);
    await without.close();`;
  writeFileSync(join(folder, 'bundled.mjs'), program);
  const warnings: string[] = [];
  const bundle = await rolldown({
    cwd: folder,
    input: './bundled.mjs',
    platform: 'node',
    onLog: (level, { message }) => void warnings.push(`${level}: ${message}`),
  });
  const elsewhere = join(folder, '../bundle');
  await bundle.write({ dir: elsewhere });
  await bundle.close();
  if (warnings.length > 0) throw new Error(`The bundler warns:\n${warnings.join('\n')}`);
  run(process.execPath, ['bundled.js'], elsewhere);
}

/** Bundles a worker as Cloudflare's tools do, without Node's modules. */
async function checkWorkers(folder: string): Promise<void> {
  console.log('== workerd');
  cpSync(join(root, 'scripts/runtimes/worker'), folder, { recursive: true });
  const bundle = await rolldown({
    cwd: folder,
    input: './worker.mjs',
    platform: 'node',
    resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import', 'default'] },
    plugins: [esmExternalRequirePlugin({ external: builtinModules.flatMap((name) => [name, `node:${name}`]) })],
  });
  await bundle.write({ file: join(folder, 'worker.js'), codeSplitting: false });
  await bundle.close();
  run(process.execPath, ['run.mjs'], folder);
}

/** Waits for the address that Next prints. */
async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('The output of Next cannot be read.');
  let address: string | undefined;
  for await (const line of createInterface({ input: stdout })) {
    address ??= /Local:\s+(http:\S+)/.exec(line)?.[1];
    if (address && line.includes('Ready')) return address;
  }
  throw new Error('Next ended before it was ready.');
}

showHelp('npm run test:runtimes   runs agents in Bun, Deno, Next and the runtime of Cloudflare Workers\n');
const tempFolder = mkdtempSync(join(tmpdir(), 'pocket-agent-runtimes-'));
try {
  const tarballs = packTarballs(join(tempFolder, 'tarballs'));
  const library = tarballs.get('pocket-agent') ?? '';
  const store = tarballs.get('@pocket-agent/store') ?? '';
  const web = tarballs.get('@pocket-agent/web') ?? '';
  const runtimes = install(join(tempFolder, 'runtimes'), [library, store, BUN, DENO]);
  checkRuntimes(runtimes);
  await checkBundle(runtimes);
  await checkWorkers(install(join(tempFolder, 'worker'), [library, store, 'zod@4', MINIFLARE]));
  await checkNext(install(join(tempFolder, 'next'), [library, web, ...NEXT]));
} finally {
  rmSync(tempFolder, { recursive: true, force: true });
}
