// `npm run release`: sets the version of all packages for a release, and publishes them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { changesOf, nextVersion, writeVersion } from './release-files.ts';
import { copyPackage } from './standalone.ts';
import { readWorkspaces, root, type Workspace } from './workspaces.ts';

const help = `npm run release -- prepare patch|minor|major|VERSION
    sets the version of all packages, of their dependencies on each other, in package-lock.json and in the documentation,
    and moves the unreleased changes in CHANGELOG.md to that version
npm run release -- publish [--dry-run]
    builds all packages and publishes those that are not on npm yet, in the order of their dependencies, with provenance.
    The commit must have the tag of the version. --dry-run packs and checks everything, but does not publish
`;

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

/** All packages have one version. */
function currentVersion(): string {
  const versions = new Set([...readWorkspaces().values()].map(({ manifest }) => manifest.version));
  const [version = '', ...others] = versions;
  assert.ok(
    others.length === 0,
    `The packages have different versions: ${[...versions].join(', ')}. Set the same version in each package.json.`,
  );
  return version;
}

function prepare(change: string): void {
  assert.ok(git('status', '--porcelain') === '', 'Commit your changes first.');
  const from = currentVersion();
  const version = nextVersion(from, change);
  writeVersion({ from, version, date: new Date().toISOString().slice(0, 10) });
  console.log(`The version is ${version} now. Next:
  git diff                                      # check it
  git commit -am "Release ${version}"
  git tag v${version}
  git push && git push origin v${version}           # the workflow "release" publishes the packages`);
}

function publish({ isDryRun }: { isDryRun: boolean }): void {
  const version = currentVersion();
  if (!isDryRun) checkReleasedCommit(version);
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  const stage = mkdtempSync(join(tmpdir(), 'pocket-agent-release-'));
  try {
    const workspaces = [...readWorkspaces().values()];
    for (const workspace of workspaces) publishPackage(workspace, { stage, isDryRun });
    console.log(`${workspaces.length} packages ${isDryRun ? 'can be' : 'are'} published with version ${version}`);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function checkReleasedCommit(version: string): void {
  assert.ok(git('status', '--porcelain') === '', 'The checkout has uncommitted changes. Commit them first.');
  const tags = git('tag', '--points-at', 'HEAD').split('\n');
  assert.ok(tags.includes(`v${version}`), `This commit does not have the tag v${version}: git tag v${version}`);
  changesOf(version);
}

function publishPackage({ folder, manifest }: Workspace, { stage, isDryRun }: { stage: string; isDryRun: boolean }) {
  const { name, version } = manifest;
  if (!isDryRun && isPublished(name, version)) {
    console.log(`${name} ${version} is already on npm`);
    return;
  }
  const copy = join(stage, name);
  copyPackage({ folder, manifest: { ...manifest, ...repositoryOf(folder) } }, copy);
  const channel = version.includes('-') ? 'next' : 'latest';
  const args = ['publish', copy, '--access', 'public', '--tag', channel, '--provenance', '--silent'];
  execFileSync('npm', [...args, ...(isDryRun ? ['--dry-run'] : [])], {
    cwd: stage,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  console.log(`${name} ${version}${isDryRun ? ': dry run' : ' is published'}`);
}

/** Skipping published packages lets a release continue that stopped half-way. */
function isPublished(name: string, version: string): boolean {
  const args = ['view', `${name}@${version}`, 'version', '--silent'];
  return spawnSync('npm', args, { cwd: root, encoding: 'utf8' }).stdout.trim() === version;
}

/** npm requires the repository whose workflow publishes, so a fork names itself. */
function repositoryOf(folder: string): Pick<Workspace['manifest'], 'repository'> {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
  if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY) return {};
  const url = `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git`;
  return { repository: { type: 'git', url, directory: relative(root, folder) } };
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  const [action, change, ...more] = positionals;
  if (action === 'prepare' && change !== undefined && more.length === 0) prepare(change);
  else if (action === 'publish' && change === undefined) publish({ isDryRun: values['dry-run'] ?? false });
  else {
    process.stdout.write(help);
    process.exitCode = values.help ? 0 : 2;
  }
}

try {
  main();
} catch (error) {
  if (!(error instanceof assert.AssertionError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
