// Which directories are tool folders, which of them to watch, and whether the code in one has changed.
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import { folderFiles } from './read-folder.ts';

const CODE = /^manifest\.ya?ml$|\.[cm]?[jt]s$/;
/** Nobody watches a whole disk by mistake. */
const MOST_DIRECTORIES = 1_000;

/** `root` itself when it has a manifest or a tool module, else those of its directories that have. */
export async function findFolders(root: string): Promise<string[]> {
  if (await isToolFolder(root)) return [root];
  const directories = await directoriesIn(root);
  const found = await Promise.all(directories.map(isToolFolder));
  return directories.filter((_path, index) => found[index]);
}

async function isToolFolder(path: string): Promise<boolean> {
  const { manifests, modules } = await folderFiles(path);
  return manifests.length + modules.length > 0;
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
    throw new PocketError('CONFIG_INVALID', `There is no folder of tools at ${root}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

function isSkipped(name: string): boolean {
  return name.startsWith('.') || name.startsWith('__') || name === 'node_modules';
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/** `root` and the directories in it, down to the last. */
async function directoriesUnder(root: string): Promise<string[]> {
  const found = [root];
  for (const directory of found) {
    if (found.length >= MOST_DIRECTORIES) break;
    // one that is gone again by now has nothing to say
    found.push(...(await directoriesIn(directory).catch(() => [])));
  }
  return found;
}

/** Those under `root`; when it is not there, where it would come back. */
export async function directoriesToWatch(root: string): Promise<string[]> {
  return (await isDirectory(root)) ? directoriesUnder(root) : [dirname(root)];
}

/** Of the manifest and all code in the folder; data that a tool writes beside its code is not looked at. */
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
