// Bundles the page of the studio into packages/studio/dist/page, from where it is served.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const studio = fileURLToPath(new URL('../packages/studio', import.meta.url));

/** In the order of the page: later ones take precedence. */
const styles = ['base', 'frame', 'content', 'chat', 'trace', 'views'];

export async function bundleStudio(): Promise<void> {
  const folder = join(studio, 'dist/page');
  mkdirSync(folder, { recursive: true });
  const bundle = await rolldown({
    input: join(studio, 'page/main.tsx'),
    platform: 'browser',
    tsconfig: join(studio, 'page/tsconfig.json'),
  });
  await bundle.write({ file: join(folder, 'page.js'), format: 'esm', minify: true });
  await bundle.close();
  cpSync(join(studio, 'page/index.html'), join(folder, 'index.html'));
  const sheets = styles.map((name) => readFileSync(join(studio, 'page/styles', `${name}.css`), 'utf8'));
  writeFileSync(join(folder, 'page.css'), sheets.join(''));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleStudio();
