// The structure: packages and their folders are layers, folders are small, and AGENTS.md lists them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const MAX_FILES = 15;

/** What each package may import of the others. */
const packages: Record<string, readonly string[]> = {
  kit: [],
  http: ['kit'],
  store: ['kit'],
  schema: ['kit'],
  'pocket-agent': ['kit', 'http', 'schema'],
  redis: ['kit', 'pocket-agent'],
  'code-mode': ['kit', 'http', 'pocket-agent'],
  runs: ['kit', 'store', 'pocket-agent'],
  web: ['kit', 'http', 'pocket-agent'],
  a2a: ['kit', 'http', 'schema', 'pocket-agent'],
  'tool-folder': ['kit', 'http', 'schema', 'pocket-agent'],
  gateway: ['kit', 'http', 'store', 'pocket-agent'],
  studio: ['kit', 'http', 'store', 'pocket-agent', 'runs'],
  cli: ['kit', 'http', 'store', 'pocket-agent', 'runs', 'a2a', 'code-mode', 'tool-folder', 'gateway', 'studio'],
  mattermost: ['kit', 'http', 'store', 'pocket-agent', 'runs', 'tool-folder', 'studio'],
  agent3: ['kit', 'http', 'store', 'a2a'],
  discord: ['kit', 'http', 'store', 'pocket-agent', 'runs', 'gateway', 'tool-folder', 'studio'],
};

/** Folders of the library: each may import those before it. */
const layers = [
  'base',
  'tracing',
  'demo',
  'providers',
  'model',
  'access',
  'cost',
  'router',
  'output',
  'run',
  'tools',
  'compaction',
  'skills',
  'history',
  'exposure',
  'provider-tools',
  'mcp',
  'serve',
  'agent',
  'testing',
];

test('every package has a row here', () => {
  expect(readdirSync(join(root, 'packages')).sort()).toEqual(Object.keys(packages).sort());
});

test.each(Object.entries(packages))('%s imports only the packages below it', (name, allowed) => {
  const own = name === 'pocket-agent' ? name : `@pocket-agent/${name}`;
  const found = sourceFiles(name).flatMap((file) => importsOf(name, file).map((path) => ({ file, path })));
  const wrong = found.filter(({ path }) => {
    const imported = /^(?:@pocket-agent\/([a-z0-9-]+)|(pocket-agent))(?:\/|$)/.exec(path);
    return imported && !path.startsWith(own) && !allowed.includes(imported[1] ?? imported[2] ?? '');
  });
  expect(wrong).toEqual([]);
});

test.each(Object.keys(packages))('%s declares the packages that it imports', (name) => {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
  const declared = [manifest.name, ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })];
  const imported = sourceFiles(name)
    .flatMap((file) => importsOf(name, file))
    .filter((path) => !/^(\.|node:)/.test(path))
    .map((path) => path.split('/', path.startsWith('@') ? 2 : 1).join('/'));
  expect([...new Set(imported)].filter((each) => !declared.includes(each))).toEqual([]);
});

test('every folder of the library has a layer', () => {
  expect([...new Set(sourceFiles('pocket-agent').map(layerOf))].sort()).toEqual(['.', ...layers].sort());
});

test.each(layers)('%s imports only from layers below it, types included', (layer) => {
  const wrong = innerImports('pocket-agent').filter(
    ({ from, to }) => layerOf(from) === layer && layers.indexOf(layerOf(to)) > layers.indexOf(layer),
  );
  expect(wrong).toEqual([]);
});

test.each(Object.keys(packages))(
  'the folders of %s, `src` itself among them, import nothing in a circle, types included',
  (name) => {
    const arrows = new Map<string, Set<string>>();
    for (const { from, to } of innerImports(name)) {
      const [user, used] = [dirname(from), dirname(to)];
      if (user !== used) arrows.set(user, (arrows.get(user) ?? new Set()).add(used));
    }
    // a folder that leads to no other remaining folder is not part of a circle
    for (let size = -1; size !== arrows.size; ) {
      size = arrows.size;
      for (const [folder, others] of arrows) if (![...others].some((other) => arrows.has(other))) arrows.delete(folder);
    }
    expect([...arrows.keys()]).toEqual([]);
  },
);

test.each(Object.keys(packages))('a folder of %s has at most 15 files, also of tests', (name) => {
  const files = (['src', 'test'] as const).flatMap((part) => filesIn(name, part).map((file) => join(part, file)));
  const counts = Map.groupBy(files, (file) => dirname(file));
  const large = [...counts].filter(([, { length }]) => length > MAX_FILES);
  expect(large.map(([folder, { length }]) => `${folder}: ${length}`)).toEqual([]);
});

test('docs/architecture.md shows the packages, what they may import, and the folders of the library in order', () => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(?:@pocket-agent\/)?([a-z0-9-]+)` \|.*\| ([^|]*) \|$/gm)];
  const shown = rows.map(([, name = '', imports = '']) => [
    name,
    imports.match(/[a-z0-9-]+/g)?.filter(isPackage) ?? [],
  ]);
  expect(Object.fromEntries(shown)).toEqual(packages);
  expect([...text.matchAll(/^\| `([a-z-]+)\/` \|/gm)].map(([, folder]) => folder)).toEqual(layers);
});

test('AGENTS.md lists the packages and their folders, and fits in 6 kB', () => {
  const text = readFileSync(join(root, 'AGENTS.md'), 'utf8');
  const [, list = ''] = text.split('```');
  let inside = '';
  const listed = list.split('\n').flatMap((line) => {
    const [first = '', ...others] = line.trim().split(/ +/);
    if (!line.startsWith(' ')) inside = first.startsWith('packages/') ? first : '';
    if (inside === '' || inside === first) return inside === '' ? [] : [first];
    const end = others.findIndex((word) => !word.endsWith('/'));
    return [first, ...others.slice(0, end < 0 ? undefined : end)].map((name) => join(inside, name));
  });
  const folders = Object.keys(packages)
    .map((name) => `packages/${name}/src`)
    .flatMap((path) => [path, ...subfolders(path)]);
  expect(listed.map((name) => name.replace(/\/$/, '')).sort()).toEqual(folders.sort());
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(6_000);
});

function isPackage(name: string): boolean {
  return Object.hasOwn(packages, name);
}

function sourceFiles(name: string): string[] {
  return filesIn(name, 'src');
}

function filesIn(name: string, part: 'src' | 'test'): string[] {
  const folder = join(root, 'packages', name, part);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
}

function layerOf(file: string): string {
  const [first = ''] = file.split(sep);
  return first.endsWith('.ts') ? '.' : first;
}

/** What a file imports: statements, types and `import()`. */
function importsOf(name: string, file: string): string[] {
  const text = readFileSync(join(root, 'packages', name, 'src', file), 'utf8');
  const found = text.matchAll(/^(?:import|export) (?:[^;'"]*?from )?'([^']+)';|\bimport\('([^']+)'\)/gms);
  return [...found].map(([, fixed, dynamic]) => fixed ?? dynamic ?? '');
}

/** The imports within a package, as paths from its `src`. */
function innerImports(name: string): { from: string; to: string }[] {
  return sourceFiles(name).flatMap((from) =>
    importsOf(name, from)
      .filter((path) => path.startsWith('.'))
      .map((path) => ({ from, to: normalize(join(dirname(from), path)) })),
  );
}

/** Without tool folders, which have a manifest. */
function subfolders(path: string): string[] {
  const inner = readdirSync(join(root, path), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return inner
    .map(({ name }) => `${path}/${name}`)
    .filter((folder) => !existsSync(join(root, folder, 'manifest.yaml')))
    .flatMap((folder) => [folder, ...subfolders(folder)]);
}
