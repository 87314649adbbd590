// Finds tool folders and the directories to watch, and computes a digest of a folder's code.
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import { isSkipped } from '../skills/find-skills.ts';
import { folderFiles } from './folder-files.ts';

const CODE = /^manifest\.ya?ml$|^SKILL\.md$|\.[cm]?[jt]s$/;
/** Protects against watching a whole disk by mistake. */
const MAX_DIRECTORIES = 1_000;

/** Returns `root` itself if it has a manifest, a tool module or a skill, otherwise its subdirectories that have one. */
export async function findFolders(root: string): Promise<string[]> {
  if (await isToolFolder(root)) return [root];
  const directories = await directoriesIn(root);
  const found = await Promise.all(directories.map(isToolFolder));
  return directories.filter((_path, index) => found[index]);
}

async function isToolFolder(path: string): Promise<boolean> {
  const { manifests, modules, hasSkill } = await folderFiles(path);
  return manifests.length + modules.length > 0 || hasSkill;
}

async function directoriesIn(root: string): Promise<string[]> {
  const names = await namesIn(root);
  const paths = names.filter((name) => !isSkipped(name)).map((name) => join(root, name));
  const found = await Promise.all(paths.map(isDirectory));
  return paths.filter((_path, index) => found[index]).sort();
}

async function namesIn(root: string): Promise<string[]> {
  try {
    return await readdir(root);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot read the tool folder ${root}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/** `root` and all directories below it. */
async function directoriesUnder(root: string): Promise<string[]> {
  const found = [root];
  for (const directory of found) {
    if (found.length >= MAX_DIRECTORIES) break;
    // the directory may have been deleted
    found.push(...(await directoriesIn(directory).catch(() => [])));
  }
  return found;
}

/** `root` and all directories below it; if `root` does not exist, its parent. */
export async function directoriesToWatch(root: string): Promise<string[]> {
  return (await isDirectory(root)) ? directoriesUnder(root) : [dirname(root)];
}

/** Covers the manifest, the skill and the code of a folder, but no other files, which tools may write. */
export async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const directory of await directoriesUnder(folder)) {
    const names = (await readdir(directory).catch(() => [])).filter((name) => CODE.test(name)).sort();
    for (const name of names) {
      const file = join(directory, name);
      hash.update(`${relative(folder, file)}\0`).update(await readFile(file).catch(() => basename(file)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
