// Runs after the compiler: adds what packages need beside their code. Copies files of `src` other than TypeScript to `dist`
// (manifests, their schema, styles), adds the license and the documentation to each package, makes commands executable, and
// removes what the compiler made from deleted sources.
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isCurrent } from './compiled-files.ts';
import { writePackageDocs } from './docs/package-docs.ts';
import { readWorkspaces } from './workspaces.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const packages = join(root, 'packages');

for (const name of readdirSync(packages)) {
  cpSync(join(root, 'LICENSE'), join(packages, name, 'LICENSE'));
  if (!existsSync(join(packages, name, 'build'))) removeOutdated(join(packages, name));
  const src = join(packages, name, 'src');
  for (const entry of readdirSync(src, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || extname(entry.name) === '.ts') continue;
    const file = join(entry.parentPath, entry.name);
    cpSync(file, file.replace(src, join(packages, name, 'dist')));
  }
  const { bin = {} }: { bin?: Record<string, string> } = JSON.parse(
    readFileSync(join(packages, name, 'package.json'), 'utf8'),
  );
  for (const file of Object.values(bin)) chmodSync(join(packages, name, file), 0o755);
}

for (const workspace of readWorkspaces().values()) writePackageDocs(workspace);

/** For packages without a folder `build`; the others get a new `dist` each time. */
function removeOutdated(folder: string): void {
  const dist = join(folder, 'dist');
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile() || extname(file) === '.tsbuildinfo' || isCurrent(folder, relative(dist, file))) continue;
    rmSync(file);
  }
}
