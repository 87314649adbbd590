// After the compiler: files of `src` that are no TypeScript (manifests, their schema, pages) go to `dist` as they are.
import { cpSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../packages', import.meta.url));

for (const name of readdirSync(packages)) {
  const src = join(packages, name, 'src');
  for (const entry of readdirSync(src, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || extname(entry.name) === '.ts') continue;
    const file = join(entry.parentPath, entry.name);
    cpSync(file, file.replace(src, join(packages, name, 'dist')));
  }
}
