// Writes the version to the files that contain it: package.json of each package, the constant VERSION, package-lock.json,
// CHANGELOG.md and the documentation.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readWorkspaces, root } from './workspaces.ts';

/** Contains the version as a constant, because the packages do not read package.json when they run. */
export const VERSION_FILE = 'packages/kit/src/start/version.ts';
const UNRELEASED = '## Unreleased';

/** `change` is patch, minor, major or a version. */
export function nextVersion(version: string, change: string): string {
  const [major = 0, minor = 0, patch = 0] = version.split('-', 1)[0]?.split('.').map(Number) ?? [];
  if (change === 'major') return `${major + 1}.0.0`;
  if (change === 'minor') return `${major}.${minor + 1}.0`;
  if (change === 'patch') return `${major}.${minor}.${patch + 1}`;
  assert.match(change, /^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/, `"${change}" is not patch, minor, major or a version.`);
  return change;
}

export function writeVersion({ from, version, date }: { from: string; version: string; date: string }): void {
  // first, because it fails if there is nothing to release
  edit('CHANGELOG.md', (text) => releaseChanges(text, { version, date }));
  const names = [...readWorkspaces().keys()];
  const packages = globSync('packages/*/package.json', { cwd: root });
  for (const file of packages) edit(file, (text) => withVersion(text, { from, version, names }));
  edit(VERSION_FILE, (text) => constantWithVersion(text, { from, version }));
  edit('package-lock.json', (text) => lockWithVersion(text, { version, names }));
  for (const file of ['README.md', ...globSync('docs/*.md', { cwd: root })])
    edit(file, (text) => text.replaceAll(`-${from}.tgz`, `-${version}.tgz`));
}

/** The section of a version in CHANGELOG.md. Fails if there is none. */
export function changesOf(version: string): string {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const section = text.split(/^(?=## )/m).find((each) => each.startsWith(`## ${version} `));
  assert.ok(section, `CHANGELOG.md has no section "## ${version} (date)": npm run release -- prepare ${version}`);
  return section;
}

export function releaseChanges(changelog: string, { version, date }: { version: string; date: string }): string {
  const [, changes = ''] = changelog.split(`${UNRELEASED}\n`);
  const content = changes.split(/^## /m, 1)[0]?.trim();
  assert.ok(content, `CHANGELOG.md has no changes under "${UNRELEASED}".`);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## ${version} (${date})`);
}

interface NewVersion {
  version: string;
  /** The packages of this repository. */
  names: readonly string[];
}

/** Keeps the format of the file. */
export function withVersion(manifest: string, { from, version, names }: NewVersion & { from: string }): string {
  const ranges = names.map((name) => `"${name}": "^`);
  return manifest
    .replace(`"version": "${from}"`, `"version": "${version}"`)
    .split('\n')
    .map((line) => (ranges.some((range) => line.includes(range)) ? line.replace(/\^[^"]+/, `^${version}`) : line))
    .join('\n');
}

export function constantWithVersion(module: string, { from, version }: { from: string; version: string }): string {
  const [before, after] = [`VERSION = '${from}'`, `VERSION = '${version}'`];
  assert.ok(module.includes(before), `${VERSION_FILE} does not contain "${before}".`);
  return module.replace(before, after);
}

type LockedPackage = Partial<
  Record<'dependencies' | 'devDependencies' | 'peerDependencies', Record<string, string>>
> & {
  version?: string;
};

export function lockWithVersion(lock: string, { version, names }: NewVersion): string {
  const content: { packages: Record<string, LockedPackage> } = JSON.parse(lock);
  for (const [path, locked] of Object.entries(content.packages)) {
    if (!path.startsWith('packages/') || locked.version === undefined || path.includes('node_modules')) continue;
    locked.version = version;
    for (const group of [locked.dependencies, locked.devDependencies, locked.peerDependencies])
      for (const name of names) if (group?.[name] !== undefined) group[name] = `^${version}`;
  }
  return `${JSON.stringify(content, null, 2)}\n`;
}

function edit(file: string, change: (text: string) => string): void {
  const path = join(root, file);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}
