// Makes the page of the studio, which is served from packages/studio/dist/page.
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const studio = fileURLToPath(new URL('../packages/studio', import.meta.url));

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
  for (const file of ['index.html', 'page.css']) cpSync(join(studio, 'page', file), join(folder, file));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleStudio();
