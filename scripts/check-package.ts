// Packs pocket-agent, installs it in an empty folder, and compiles and runs the README's first example there.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'pocket-agent-package-'));
const MOST_PACKAGES = 24;

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

try {
  run('npm', ['run', '--silent', 'build'], root);
  const pack = (name: string) =>
    `./${run('npm', ['pack', '--silent', '--pack-destination', folder, '-w', name], root).trim().split('\n').at(-1)}`;
  const tarball = pack('pocket-agent');
  const shared = pack('@pocket-agent/http');

  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', tarball, shared], folder);
  const installed = run('npm', ['ls', '--all', '--parseable'], folder).trim().split('\n').length - 1;
  console.log(`${tarball}: ${installed} packages on disk`);
  if (installed > MOST_PACKAGES)
    throw new Error(`More than ${MOST_PACKAGES} packages are installed with pocket-agent.`);

  run('npm', ['install', '--silent', '--no-audit', '--no-fund', 'typescript@7.0.2', '@types/node@24'], folder);
  const [, example = ''] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
  writeFileSync(join(folder, 'example.ts'), example);
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2024', types: ['node'], outDir: 'out' };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['example.ts'] }));
  run(join(folder, 'node_modules/.bin/tsc'), ['-p', '.'], folder);
  const answer = run(process.execPath, ['out/example.js'], folder);
  console.log(answer.trim());
  if (!answer.includes('21 °C in London')) throw new Error('The example did not answer as the README says.');

  const bin = join(folder, 'node_modules/.bin/pocket-agent');
  const asked = run(process.execPath, [bin, '--quiet', '--model', 'demo', 'What is 6 * 7?'], folder);
  console.log(asked.trim());
  if (!asked.includes('42')) throw new Error('The installed command did not answer.');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log('1 passed, 0 failed');
