// The release script: which files name a version, and how they change.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '@pocket-agent/kit';
import { expect, test } from 'vitest';
import {
  constantWithVersion,
  lockWithVersion,
  nextVersion,
  releaseChanges,
  VERSION_FILE,
  withVersion,
} from '../../../../scripts/release-files.ts';
import { readWorkspaces } from '../../../../scripts/workspaces.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const workspaces = readWorkspaces();
const names = [...workspaces.keys()];
const from = workspaces.get('pocket-agent')?.manifest.version ?? '';

test.each([
  ['patch', '1.2.4'],
  ['minor', '1.3.0'],
  ['major', '2.0.0'],
  ['2.0.0-beta.1', '2.0.0-beta.1'],
])('after 1.2.3, %s gives %s', (change, version) => {
  expect(nextVersion('1.2.3', change)).toBe(version);
});

test('a version that npm would not accept is refused', () => {
  expect(() => nextVersion('1.2.3', 'v2')).toThrow('"v2" is not patch, minor, major or a version.');
});

test('a release renames the unreleased changes and begins a new section', () => {
  const changelog = '# Changelog\n\n## Unreleased\n\nNew things.\n\n## 0.1.0 (2026-01-01)\n\nOld things.\n';
  expect(releaseChanges(changelog, { version: '0.2.0', date: '2026-02-02' })).toBe(
    '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-02-02)\n\nNew things.\n\n## 0.1.0 (2026-01-01)\n\nOld things.\n',
  );
});

test('a release without changes is refused', () => {
  const empty = '# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-01-01)\n\nOld things.\n';
  expect(() => releaseChanges(empty, { version: '0.2.0', date: '2026-02-02' })).toThrow('no changes');
});

test.each(globSync('packages/*/package.json', { cwd: root }))(
  '%s names the new version and nothing else changes',
  (file) => {
    const text = withVersion(read(file), { from, version: '9.8.7', names });
    const { version, dependencies = {}, devDependencies = {}, peerDependencies = {} } = JSON.parse(text);
    expect(version).toBe('9.8.7');
    const ranges = { ...dependencies, ...devDependencies, ...peerDependencies };
    for (const name of names) expect(ranges[name] ?? '^9.8.7').toBe('^9.8.7');
    expect(text.replaceAll('9.8.7', from)).toBe(read(file));
  },
);

test('the constant VERSION is the version of every package, and a release changes nothing else in its file', () => {
  for (const [name, { manifest }] of workspaces) expect(manifest.version, name).toBe(VERSION);
  const text = constantWithVersion(read(VERSION_FILE), { from, version: '9.8.7' });
  expect(text).toContain("VERSION = '9.8.7'");
  expect(text.replaceAll('9.8.7', from)).toBe(read(VERSION_FILE));
});

test('a release stops if the constant is not the version of the packages', () => {
  const text = "export const VERSION = '1.0.0';\n";
  expect(() => constantWithVersion(text, { from: '1.1.0', version: '1.2.0' })).toThrow(
    'does not contain "VERSION = \'1.1.0\'"',
  );
});

test('no package finds its package.json from a module, which bundles and Workers cannot', () => {
  const sources = globSync('packages/*/src/**/*.ts', { cwd: root });
  expect(sources.filter((file) => read(file).includes("package.json', import.meta.url"))).toEqual([]);
});

test('package-lock.json names the new version of every package and nothing else changes', () => {
  const text = lockWithVersion(read('package-lock.json'), { version: '9.8.7', names });
  expect(text.split('"version": "9.8.7"')).toHaveLength(names.length + 1);
  expect(text.replaceAll('9.8.7', from)).toBe(read('package-lock.json'));
});

test('a package comes after the packages that it needs', () => {
  for (const [name, { manifest }] of workspaces) {
    const needed = names.filter((each) => manifest.dependencies?.[each] !== undefined);
    for (const each of needed) expect(names.indexOf(each), `${name} needs ${each}`).toBeLessThan(names.indexOf(name));
  }
});

test('the documentation names tarballs of the current version', () => {
  const pages = ['README.md', ...globSync('docs/*.md', { cwd: root })];
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/-(\d+\.\d+\.\d+\S*)\.tgz/g)].map(([, version]) => version),
  );
  expect(named).not.toEqual([]);
  expect(new Set(named)).toEqual(new Set([from]));
});

test('no text tells users to install a package by a name that is not on npm', () => {
  const texts = ['README.md', ...globSync(['docs/*.md', 'packages/*/src/**/*.ts'], { cwd: root })];
  const commands = texts.flatMap((file) => read(file).match(/npm (?:i|install) [^`'\n]*/g) ?? []);
  expect(commands.filter((command) => / (?:@pocket-agent\/|pocket-agent(?:\s|$))/.test(command))).toEqual([]);
});
