// Runs after the compiler: makes `dist` of kit, schema and pocket-agent from `build`. All modules that an import of the library
// loads become one file, core.js, because an import spends most of its time finding and reading eighty files. Each module
// remains as a file that re-exports its names, so that every entry point has the same classes.
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { isCurrent } from './compiled-files.ts';

const entries = {
  kit: ['index.js', 'telemetry/telemetry.js'],
  schema: ['index.js'],
  'pocket-agent': ['index.js'],
};

for (const [name, files] of Object.entries(entries))
  await bundle(fileURLToPath(new URL(`../packages/${name}`, import.meta.url)), files);

async function bundle(folder: string, files: readonly string[]): Promise<void> {
  const build = join(folder, 'build');
  const dist = join(folder, 'dist');
  if (existsSync(join(build, 'core.js'))) throw new Error('The bundle is called core.js. Rename the module core.ts.');
  rmSync(dist, { recursive: true, force: true });
  cpSync(build, dist, { recursive: true, filter: (file) => isCurrent(folder, relative(build, file)) });
  const bundled = await rolldown({
    cwd: build,
    input: Object.fromEntries(files.map((file) => [file.replace(/\.js$/, ''), `./${file}`])),
    external: /^[@a-z]/,
    plugins: [separateFiles(build, files)],
    treeshake: false,
  });
  const codeSplitting = { groups: [{ name: 'core' }] };
  await bundled.write({
    dir: dist,
    chunkFileNames: '[name].js',
    sourcemap: true,
    codeSplitting,
    minifyInternalExports: false,
  });
  await bundled.close();
}

function separateFiles(build: string, entries: readonly string[]): Plugin {
  /** The path as an import specifier. */
  const inBuild = (file: string) => relative(build, file).replaceAll(sep, '/');
  return {
    name: 'separate-files',
    /** Keeps dynamically imported modules out of the bundle, which imports them relative to `dist`. */
    resolveId(source, importer, { kind }) {
      if (kind !== 'dynamic-import' || !importer || !source.startsWith('.')) return null;
      return { id: `./${inBuild(resolve(dirname(importer), source))}`, external: true };
    },
    /** Includes the compiler's source map, so that the map of the bundle points to the TypeScript. */
    load(id) {
      if (inBuild(id).startsWith('..')) return null; // a module of the bundler
      const map: string = readFileSync(`${id}.map`, 'utf8');
      return { code: readFileSync(id, 'utf8'), map };
    },
    transform(code, id) {
      const path = inBuild(id);
      if (path.startsWith('..')) return; // a module of the bundler
      if (!entries.includes(path)) this.emitFile({ type: 'chunk', id, fileName: path });
      // the code moves to dist/core.js, but import.meta.url must still name its own file
      return { code: code.replaceAll('import.meta.url', `new URL('./${path}', import.meta.url).href`), map: null };
    },
  };
}
