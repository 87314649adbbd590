// Copies a package so that its tarball installs alone, without the npm registry for our packages: the copy contains them in
// node_modules, and lists their dependencies as its own.
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest, Workspace } from './workspaces.ts';

const LIBRARY = 'pocket-agent';

/** Always bundled with the packages that use them, so they have no tarball of their own. */
const helpers: readonly string[] = ['@pocket-agent/kit', '@pocket-agent/http', '@pocket-agent/schema'];

export function hasTarball({ manifest }: Workspace): boolean {
  return !helpers.includes(manifest.name);
}

/** Copies the package to `folder`, with all packages of this repository that it needs. */
export function copyStandalone(workspace: Workspace, workspaces: ReadonlyMap<string, Workspace>, folder: string): void {
  const bundled = bundledWith(workspace, workspaces);
  const manifest = standaloneManifest(workspace.manifest, bundled);
  copyPackage({ folder: workspace.folder, manifest }, folder);
  const names = new Set(bundled.map((each) => each.manifest.name));
  for (const { folder: from, manifest: each } of bundled) {
    copyPackage({ folder: from, manifest: bundledManifest(each, names) }, join(folder, 'node_modules', each.name));
  }
}

/**
 * Leaves out the docs, and dependencies that are not bundled: the outer package lists them, because `npm install --global`
 * assumes that every dependency of a bundled package is bundled, and does not install it.
 */
function bundledManifest({ dependencies = {}, files = [], ...rest }: Manifest, bundled: ReadonlySet<string>): Manifest {
  const kept = Object.entries(dependencies).filter(([name]) => bundled.has(name));
  return { ...rest, dependencies: Object.fromEntries(kept), files: files.filter((name) => name !== 'docs') };
}

/** Copies the files of a package that npm publishes. */
export function copyPackage({ folder, manifest }: Workspace, into: string): void {
  mkdirSync(into, { recursive: true });
  const included = (manifest.files ?? []).filter((name) => !name.startsWith('!'));
  for (const name of [...included, 'README.md', 'LICENSE']) {
    const from = join(folder, name);
    if (existsSync(from)) cpSync(from, join(into, name), { recursive: true });
    else if (included.includes(name)) throw new Error(`${from} is missing. Run npm run build first.`);
  }
  const { devDependencies: _ofThisRepository, ...published } = manifest;
  writeFileSync(join(into, 'package.json'), JSON.stringify(published, null, 2));
}

/**
 * A program (a package with commands) contains all packages that it can use, including optional ones. A library extension does
 * not contain `pocket-agent`, because it must share the copy of the application.
 */
function bundledWith({ manifest }: Workspace, workspaces: ReadonlyMap<string, Workspace>): Workspace[] {
  const isProgram = manifest.bin !== undefined;
  const found = new Map<string, Workspace>();
  const visit = (name: string): void => {
    const workspace = workspaces.get(name);
    if (!workspace || found.has(name) || (name === LIBRARY && !isProgram)) return;
    found.set(name, workspace);
    for (const dependency of Object.keys(workspace.manifest.dependencies ?? {})) visit(dependency);
  };
  const direct = { ...manifest.dependencies, ...(isProgram && manifest.peerDependencies) };
  for (const name of Object.keys(direct)) visit(name);
  return [...found.values()];
}

function standaloneManifest(manifest: Manifest, bundled: readonly Workspace[]): Manifest {
  const names = new Set(bundled.map((each) => each.manifest.name));
  const isExternal = ([name]: [string, string]) => !names.has(name) && name !== manifest.name;
  const dependencies: Record<string, string> = {};
  const peerDependencies: Record<string, string> = {};
  const peerDependenciesMeta: Record<string, { optional?: boolean }> = {};
  for (const part of [manifest, ...bundled.map((each) => each.manifest)]) {
    add(dependencies, Object.entries(part.dependencies ?? {}).filter(isExternal));
    add(peerDependencies, Object.entries(part.peerDependencies ?? {}).filter(isExternal));
    Object.assign(peerDependenciesMeta, part.peerDependenciesMeta);
  }
  if (dependencies[LIBRARY] !== undefined) {
    // optional, so that npm does not look for it in the registry, where the name may belong to another owner
    peerDependencies[LIBRARY] = dependencies[LIBRARY];
    peerDependenciesMeta[LIBRARY] = { optional: true };
    delete dependencies[LIBRARY];
  }
  for (const { manifest: each } of bundled) dependencies[each.name] = each.version;
  for (const name of Object.keys(peerDependenciesMeta)) {
    if (peerDependencies[name] === undefined) delete peerDependenciesMeta[name];
  }
  return {
    ...manifest,
    dependencies,
    peerDependencies,
    peerDependenciesMeta,
    bundleDependencies: [...names],
  };
}

function add(ranges: Record<string, string>, entries: readonly [string, string][]): void {
  for (const [name, range] of entries) {
    const known = ranges[name];
    if (known !== undefined && known !== range) {
      throw new Error(`The packages need different versions of ${name}: ${known} and ${range}. Use one range.`);
    }
    ranges[name] = range;
  }
}
