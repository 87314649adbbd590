// `npm run pack`: builds the packages and writes a tarball of each to `tarballs/`. Each tarball installs alone, except that
// a2a, code-mode, redis, runs, tool-folder and web need pocket-agent.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { copyStandalone, hasTarball } from './standalone.ts';
import { readWorkspaces, root } from './workspaces.ts';

const help = `npm run pack                   writes tarballs of the packages to tarballs/
npm run pack -- --into DIR     writes them to DIR
Then, in any project: npm install DIR/pocket-agent-VERSION.tgz
`;

/** Returns the path of each tarball by the name of its package. */
export function packTarballs(into: string): Map<string, string> {
  const stage = mkdtempSync(join(tmpdir(), 'pocket-agent-stage-'));
  try {
    const workspaces = readWorkspaces();
    const packed = [...workspaces.values()].filter(hasTarball);
    const folders = packed.map((workspace) => {
      const folder = join(stage, workspace.manifest.name);
      copyStandalone(workspace, workspaces, folder);
      return folder;
    });
    mkdirSync(into, { recursive: true });
    const args = ['pack', '--silent', '--pack-destination', into, ...folders];
    execFileSync('npm', args, { cwd: stage, stdio: ['ignore', 'ignore', 'inherit'] });
    return new Map(packed.map(({ manifest }) => [manifest.name, join(into, tarballName(manifest))]));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** The name that npm gives: pocket-agent-cli-0.1.0.tgz for @pocket-agent/cli. */
function tarballName({ name, version }: { name: string; version: string }): string {
  return `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
}

function main(): void {
  const { values } = parseArgs({ options: { into: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help) {
    process.stdout.write(help);
    return;
  }
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  // npm runs scripts in the root of the repository; INIT_CWD is the folder of the user
  const into = resolve(process.env.INIT_CWD ?? '.', values.into ?? join(root, 'tarballs'));
  for (const file of packTarballs(into).values()) {
    const kilobytes = Math.round(statSync(file).size / 1024);
    console.log(`${relative(process.env.INIT_CWD ?? process.cwd(), file)}  ${kilobytes} kB`);
  }
}

if (import.meta.main) main();
