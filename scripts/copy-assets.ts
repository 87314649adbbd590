// Runs after the compiler: adds what packages need beside their code. Files of `src` other than TypeScript (manifests,
// their schema, styles) go to `dist`; the license goes everywhere; README and docs go where `pocket-agent dump` finds them;
// commands become executable, also for users who linked them before.
import { chmodSync, cpSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const packages = join(root, 'packages');

for (const name of readdirSync(packages)) {
  cpSync(join(root, 'LICENSE'), join(packages, name, 'LICENSE'));
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

const command = join(packages, 'cli');
cpSync(join(root, 'README.md'), join(command, 'README.md'));
for (const name of readdirSync(join(root, 'docs'))) {
  if (extname(name) === '.md') cpSync(join(root, 'docs', name), join(command, 'docs', name));
}
