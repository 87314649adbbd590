// Counts the packages and megabytes that a contender installs.
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figures } from '../contenders/contender.ts';
import { peerFolder, peers, us } from '../contenders/contenders.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export function installed(contender: string): Figures {
  const folder = peers.includes(contender) ? peerFolder(contender) : root;
  const first = peers.includes(contender)
    ? Object.keys(manifest(folder).dependencies ?? {})
    : [contender === us ? 'pocket-agent' : '@modelcontextprotocol/client'];
  const found = new Set<string>();
  for (const name of first) collect({ name, from: folder, top: folder, found });
  const bytes = [...found].reduce((sum, path) => sum + sizeOf(path), 0);
  return { packages: found.size, megabytes: bytes / 1e6 };
}

interface Manifest {
  files?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

interface PackageSearch {
  name: string;
  from: string;
  /** The search for packages stops here. */
  top: string;
  found: Set<string>;
}

/** Finds a package as Node does, from a folder upwards, and its dependencies. Skips optional packages that are not installed. */
function collect({ name, from, top, found }: PackageSearch): void {
  for (let folder = from; folder.length >= top.length - 1; folder = join(folder, '..')) {
    const path = join(folder, 'node_modules', name);
    if (!existsSync(join(path, 'package.json'))) continue;
    const real = realpathSync(path);
    if (found.has(real)) return;
    found.add(real);
    const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = manifest(real);
    const requiredPeers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional);
    for (const next of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...requiredPeers])
      collect({ name: next, from: real, top, found });
    return;
  }
}

/** Does not count nested packages. Of packages of this repository, counts only published files. */
function sizeOf(folder: string): number {
  if (!folder.startsWith(join(root, 'packages'))) return bytesIn(folder);
  const published = [...(manifest(folder).files ?? []), 'package.json', 'README.md', 'LICENSE'];
  return bytesIn(folder, (name) => published.includes(name));
}

function bytesIn(folder: string, isCounted: (name: string) => boolean = () => true): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name === 'node_modules' || entry.name.endsWith('.tsbuildinfo') || !isCounted(entry.name)) continue;
    if (entry.isDirectory()) bytes += bytesIn(path);
    else if (entry.isFile()) bytes += statSync(path).size;
  }
  return bytes;
}
