// After the compiler: `dist` of pocket-agent, made whole from `build`, where the compiler writes. What `index.js` loads
// becomes one file, core.js, because to find and read sixty takes longer than all else in an import. Each of the sixty
// stays as a file that hands on its names, so that a class is the same from wherever it is imported.
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

const agent = fileURLToPath(new URL('../packages/pocket-agent', import.meta.url));
const build = join(agent, 'build');
const dist = join(agent, 'dist');

/** As an import would name it. */
function inBuild(file: string): string {
  return relative(build, file).replaceAll(sep, '/');
}

const separateFiles: Plugin = {
  name: 'separate-files',
  /** What is loaded late is not in the one file, which names it as seen from the root of `dist`. */
  resolveId(source, importer, { kind }) {
    if (kind !== 'dynamic-import' || !importer || !source.startsWith('.')) return null;
    return { id: `./${inBuild(resolve(dirname(importer), source))}`, external: true };
  },
  /** With the map of the compiler, so that the map of the bundle leads to the TypeScript. */
  load(id) {
    if (inBuild(id).startsWith('..')) return null; // the bundler's own
    const map: string = readFileSync(`${id}.map`, 'utf8');
    return { code: readFileSync(id, 'utf8'), map };
  },
  transform(code, id) {
    const path = inBuild(id);
    if (path.startsWith('..')) return; // the bundler's own
    if (path !== 'index.js') this.emitFile({ type: 'chunk', id, fileName: path });
    // the code will be in dist/core.js, and still means its own place
    return { code: code.replaceAll('import.meta.url', `new URL('./${path}', import.meta.url).href`), map: null };
  },
};

if (existsSync(join(build, 'core.js')))
  throw new Error('core.js is what the bundle is called: call that module otherwise.');
rmSync(dist, { recursive: true, force: true });
cpSync(build, dist, { recursive: true });
const bundle = await rolldown({
  cwd: build,
  input: './index.js',
  external: /^[@a-z]/,
  plugins: [separateFiles],
  treeshake: false,
});
// the version with what it needs is a group of its own: `pocket-agent --version` loads nothing else
const groups = [{ name: 'core-version', test: /[\\/]build[\\/]kit[\\/]version\.js$/, priority: 1 }, { name: 'core' }];
await bundle.write({ dir: dist, chunkFileNames: '[name].js', sourcemap: true, codeSplitting: { groups } });
await bundle.close();
