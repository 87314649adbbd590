// `npm run test:package`: packs the packages, installs each tarball in an empty folder on the oldest supported Node and on
// the Node of this repository, and tries what its documentation promises. `-- cli discord` checks only these packages.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packTarballs } from './pack.ts';
import { tryExtensions, tryLibrary } from './package-checks/libraries.ts';
import { tryAgent3, tryCommand, tryDiscord, tryMattermost, tryNewProject } from './package-checks/programs.ts';
import { type NodeVersion, Project } from './package-checks/project.ts';
import { showHelp } from './show-help.ts';
import { readWorkspaces, root } from './workspaces.ts';

const OLDEST_NODE = '22.18.0';

interface Check {
  packages: string[];
  /** The maximum number of installed packages, to notice unwanted dependencies. */
  mostPackages: number;
  attempt(project: Project): void | Promise<void>;
}

const extensions = ['a2a', 'code-mode', 'redis', 'runs', 'store', 'tool-folder', 'web'].map(
  (name) => `@pocket-agent/${name}`,
);

const checks: Check[] = [
  { packages: ['pocket-agent'], mostPackages: 26, attempt: tryLibrary },
  { packages: ['pocket-agent', ...extensions], mostPackages: 66, attempt: tryExtensions },
  { packages: ['@pocket-agent/cli'], mostPackages: 46, attempt: tryCommand },
  { packages: ['@pocket-agent/mattermost'], mostPackages: 41, attempt: tryMattermost },
  { packages: ['@pocket-agent/agent3'], mostPackages: 32, attempt: tryAgent3 },
  { packages: ['@pocket-agent/discord'], mostPackages: 71, attempt: tryDiscord },
];

/** Installs the oldest supported Node in its own folder. */
function oldestNode(folder: string): NodeVersion {
  const platform = `node-${process.platform}-${process.arch}`;
  const thisNode = { name: 'this Node', path: process.execPath };
  new Project(folder, thisNode).install(`${platform}@${OLDEST_NODE}`);
  return { name: `Node ${OLDEST_NODE}`, path: join(folder, 'node_modules', platform, 'bin/node') };
}

/** `wanted` contains parts of package names; an empty list means all. */
async function check(tempFolder: string, wanted: readonly string[]): Promise<number> {
  const chosen = checks.filter(
    ({ packages }) => wanted.length === 0 || wanted.some((part) => packages.some((name) => name.endsWith(part))),
  );
  const tarballs = packTarballs(join(tempFolder, 'tarballs'));
  const current = { name: `Node ${process.versions.node}`, path: process.execPath };
  let passed = 0;
  for (const node of [oldestNode(join(tempFolder, 'node')), current]) {
    for (const { packages, mostPackages, attempt } of chosen) {
      const started = performance.now();
      const project = new Project(join(tempFolder, `project-${++passed}`), node);
      project.install(...packages.map((name) => tarballs.get(name) ?? assert.fail(`${name} has no tarball.`)));
      const installed = project.countPackages();
      assert.ok(
        installed <= mostPackages,
        `${packages.join(' and ')}: ${installed} packages were installed; at most ${mostPackages} are expected.`,
      );
      await attempt(project);
      const seconds = Math.round((performance.now() - started) / 1000);
      console.log(`${node.name}: ${packages.join(', ')}: ${installed} packages, ${seconds} s`);
    }
  }
  return wanted.length > 0 ? passed : passed + checkPublished(tempFolder, current);
}

/** Packs each package alone, as npm publishes it, and installs all of them together. */
function checkPublished(tempFolder: string, node: NodeVersion): number {
  const names = [...readWorkspaces().keys()];
  const args = ['pack', '--silent', '--pack-destination', tempFolder, ...names.flatMap((name) => ['-w', name])];
  const files = execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim().split('\n');
  assert.equal(files.length, names.length, files.join('\n'));
  const project = new Project(join(tempFolder, 'published'), node);
  project.install(...files.map((file) => join(tempFolder, file)));
  tryExtensions(project);
  tryNewProject(project);
  console.log(`as published, all ${names.length} packages: ${project.countPackages()} packages`);
  return 1;
}

showHelp(`npm run test:package               installs the tarball of each package on the oldest supported Node and on this one, and uses it
npm run test:package -- NAME…      only these packages, such as cli discord
`);
const tempFolder = mkdtempSync(join(tmpdir(), 'pocket-agent-package-'));
try {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  console.log(`${await check(tempFolder, process.argv.slice(2))} passed, 0 failed`);
} finally {
  rmSync(tempFolder, { recursive: true, force: true });
}
