// Bundles our packages and programs before tests run, because tests start some 300 processes, and each would find, read and
// strip up to a hundred source files. Tests start the programs by their source paths; the preload use-bundles.cjs replaces the
// modules. The key of a bundle is a hash of all sources, so a bundle is never outdated.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type OutputChunk, type Plugin, rolldown, VERSION } from 'rolldown';
import type { TestProject } from 'vitest/node';
import { bundleStudio } from './bundle-studio.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, 'node_modules/.cache/test-programs');
const CONDITION = 'pocket-agent/source';
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Libraries with many modules, except those that load other files of their package. */
const libraries = ['zod', 'zod/v3', 'zod/v4', 'zod/v4-mini', 'zod/v4/core', 'kysely', '@opentelemetry/sdk-node'].concat(
  ['client', 'client/stdio', 'server', 'server/stdio', 'core', 'core/internal'].map(
    (path) => `@modelcontextprotocol/${path}`,
  ),
);
const inlined = /^(@pocket-agent|pocket-agent|zod|@modelcontextprotocol\/(client|server|core))(\/|$)/;
/** Programs that are started by path. Other modules are found by the exports of their package. */
const programs = ['main', '*-program', 'schema-checker'].map((name) => `packages/*/src/**/${name}.ts`);

export default async function setup(project: TestProject): Promise<void> {
  await bundle();
  await bundleStudio();
  project.onTestsRerun(bundle);
}

async function bundle(): Promise<void> {
  const folder = join(
    cache,
    keyOf(['package-lock.json', ...globSync('packages/*/{package.json,src/**/*.ts}', { cwd: root }).sort()]),
  );
  if (!existsSync(folder)) await build(folder);
  const draft = `${folder}.${process.pid}.json`;
  writeFileSync(draft, readFileSync(join(folder, 'modules.json')));
  renameSync(draft, join(cache, 'current.json'));
  removeOld(folder);
}

function keyOf(files: readonly string[]): string {
  const hash = createHash('sha256')
    .update(VERSION)
    .update(root) // bundles contain absolute paths, so a copied folder needs its own bundles
    .update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of files) hash.update(`\n${file}\n`).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}

/** Builds in a draft folder and renames it, so that a folder is always complete. */
async function build(folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  const bundled = await rolldown({
    cwd: root,
    input: Object.fromEntries([...libraries, ...sources()].map((entry) => [entry.replace(/^\.\/|\.ts$/g, ''), entry])),
    platform: 'node',
    resolve: { conditionNames: [CONDITION, 'node', 'import', 'module-sync'] },
    external: (id, importer) => /^[@a-z]/.test(id) && !inlined.test(id) && importer?.includes('node_modules') === false,
    plugins: [ownUrls],
    treeshake: false,
  });
  const { output } = await bundled.write({ dir: draft, chunkFileNames: 'chunks/[name]-[hash].js' });
  await bundled.close();
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk' && file.isEntry);
  const modules = chunks.map(({ facadeModuleId, fileName }) => [
    pathToFileURL(facadeModuleId ?? '').href,
    pathToFileURL(join(folder, fileName)).href,
  ]);
  writeFileSync(join(draft, 'modules.json'), JSON.stringify({ modules: Object.fromEntries(modules) }));
  writeFileSync(join(draft, 'package.json'), '{"type":"module"}'); // otherwise Node first tries to compile each chunk as CommonJS
  if (existsSync(folder)) rmSync(draft, { recursive: true });
  else renameSync(draft, folder);
}

/** The programs, and the modules that packages export. */
function sources(): string[] {
  const exported = globSync('packages/*/package.json', { cwd: root }).flatMap((file) => {
    const { exports } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    const sources = Object.values<Record<string, string>>(exports).map((target) => target[CONDITION]);
    return sources.flatMap((source) => (source?.endsWith('.ts') ? [`./${join(dirname(file), source)}`] : []));
  });
  return [
    ...new Set([
      ...exported,
      ...programs.flatMap((pattern) => globSync(pattern, { cwd: root }).map((file) => `./${file}`)),
    ]),
  ];
}

/** Lets import.meta.url name the source file, although the code moves to a bundle. */
const ownUrls: Plugin = {
  name: 'own-urls',
  transform(code, id) {
    if (!code.includes('import.meta.url')) return;
    return { code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)), map: null };
  },
};

/** Keeps bundles of the last day for other test runs, and for changes that are reverted. */
function removeOld(current: string): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const isOld = path !== current && name !== 'current.json' && Date.now() - statSync(path).mtimeMs > DAY_MS;
    if (isOld) rmSync(path, { recursive: true, force: true });
  }
}
