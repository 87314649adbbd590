// The packages of this repository, read from their package.json files.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

export interface Manifest {
  name: string;
  version: string;
  description?: string;
  bin?: Record<string, string>;
  files?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  bundleDependencies?: string[];
  exports?: Record<string, string | Record<string, string>>;
  repository?: { type: string; url: string; directory: string };
}

export interface Workspace {
  folder: string;
  manifest: Manifest;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** All packages by name, each after the packages that it depends on. */
export function readWorkspaces(): Map<string, Workspace> {
  const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name));
  const unordered = new Map(folders.map((folder) => [readManifest(folder).name, folder]));
  const ordered = new Map<string, Workspace>();
  const visit = (name: string): void => {
    const folder = unordered.get(name);
    if (folder === undefined || ordered.has(name)) return;
    const manifest = readManifest(folder);
    for (const dependency of Object.keys(manifest.dependencies ?? {})) visit(dependency);
    ordered.set(name, { folder, manifest });
  };
  for (const name of unordered.keys()) visit(name);
  return ordered;
}
