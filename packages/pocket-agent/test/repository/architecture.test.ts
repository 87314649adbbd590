// The structure: folders of the library are layers, and AGENTS.md lists the folders there are.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const src = join(root, 'packages/pocket-agent/src');
const MOST_FILES = 15;

/** A folder may import values only from folders before it. */
const layers = [
  'kit',
  'demo',
  'base',
  'model',
  'access',
  'cost',
  'router',
  'tools',
  'mcp',
  'agent',
  'serve',
  'a2a',
  'tool-folder',
  'folders',
  'builtin-server',
  'cli',
];
/** Programs in the library's package until they have packages of their own; these may have more files. */
const programs = ['a2a', 'tool-folder', 'cli'];

const files = sourceFiles(src);

test('every folder of the library has a layer', () => {
  expect([...new Set(files.map(layerName))].filter((name) => name !== '.').sort()).toEqual([...layers].sort());
});

test.each(layers)('%s imports values only from layers below it', (layer) => {
  const wrong = files
    .filter((file) => layerName(file) === layer)
    .flatMap((file) => valueImports(file).map((imported) => ({ file, imported })))
    .filter(({ imported }) => layers.indexOf(layerName(imported)) > layers.indexOf(layer));
  expect(wrong).toEqual([]);
});

test('a folder of the library has at most 15 files', () => {
  const counts = Map.groupBy(files, (file) => dirname(file));
  const large = [...counts].filter(([folder, { length }]) => length > MOST_FILES && !programs.includes(folder));
  expect(large.map(([folder, { length }]) => `${folder}: ${length}`)).toEqual([]);
});

test('AGENTS.md lists the packages and their folders, and fits in 6 kB', () => {
  const text = readFileSync(join(root, 'AGENTS.md'), 'utf8');
  const [, list = ''] = text.split('```');
  let inside = '';
  const listed = list.split('\n').flatMap((line) => {
    const [, indent = '', name = ''] = /^( *)(\S+)/.exec(line) ?? [];
    if (indent === '') inside = name.startsWith('packages/') ? name : '';
    return inside === '' ? [] : [indent === '' ? name : join(inside, name)];
  });
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/src`);
  const folders = packages.flatMap((path) => [path, ...subfolders(path)]);
  expect(listed.map((name) => name.replace(/\/$/, '')).sort()).toEqual(folders.sort());
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(6_000);
});

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
}

function layerName(file: string): string {
  const [first = ''] = file.split(sep);
  return first.endsWith('.ts') ? '.' : first;
}

function valueImports(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  const statements = text.matchAll(/^(?:import|export) (?!type )([^;]*?)from '(\.[^']+)';/gms);
  return [...statements].flatMap(([, names = '', path = '']) => {
    const listed = /\{([^}]*)\}/s.exec(names)?.[1];
    const onlyTypes = listed?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
    return onlyTypes ? [] : [normalize(join(dirname(file), path))];
  });
}

/** Without tool folders, which have a manifest. */
function subfolders(path: string): string[] {
  const inner = readdirSync(join(root, path), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return inner
    .map(({ name }) => `${path}/${name}`)
    .filter((folder) => !existsSync(join(root, folder, 'manifest.yaml')))
    .flatMap((folder) => [folder, ...subfolders(folder)]);
}
