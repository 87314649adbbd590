// Finds the manifests, modules and skill of a folder. Does not load the YAML parser and zod, which most agents do not need.
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { SKILL_FILE } from '../skills/skill.ts';

const MANIFESTS = ['manifest.yaml', 'manifest.yml'];
const MODULES = ['tool.ts', 'tool.js', 'tool.mjs'];

interface FolderFiles {
  manifests: string[];
  modules: string[];
  hasSkill: boolean;
}

/** A folder with none of these is not a tool folder. */
export async function folderFiles(path: string): Promise<FolderFiles> {
  const entries = new Map((await entriesOf(path)).map((entry) => [entry.name, entry]));
  const present = async (names: readonly string[]) => {
    const found = await Promise.all(names.map((name) => isFile(path, entries.get(name))));
    return names.filter((_name, index) => found[index]);
  };
  return {
    manifests: await present(MANIFESTS),
    modules: await present(isInstalled(path) ? MODULES.toReversed() : MODULES),
    hasSkill: await isFile(path, entries.get(SKILL_FILE)),
  };
}

/** Node does not load TypeScript inside node_modules, so compiled files come first there. */
function isInstalled(path: string): boolean {
  return path.split(sep).includes('node_modules');
}

async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

async function isFile(folder: string, entry: Dirent | undefined): Promise<boolean> {
  if (!entry?.isSymbolicLink()) return entry?.isFile() ?? false;
  try {
    return (await stat(join(folder, entry.name))).isFile();
  } catch {
    return false;
  }
}
