// Creates a folder and those around it, like mkdir with `recursive`, which never returns for a folder below /proc.
import { fileSystem } from '../base/lazy-node.ts';
import { isRecord } from '../base/records.ts';

interface FolderOptions {
  /** The permissions of new folders. */
  mode?: number;
}

export async function makeFolder(path: string, options: FolderOptions = {}): Promise<void> {
  const { mkdir } = fileSystem().promises;
  try {
    await mkdir(path, options);
  } catch (error) {
    const outer = folderToMakeFirst(path, error);
    if (outer === undefined) return;
    await makeFolder(outer, options);
    await mkdir(path, options).catch((again) => {
      if (!isFolder(path)) throw again; // otherwise another process was faster
    });
  }
}

export function makeFolderSync(path: string, options: FolderOptions = {}): void {
  const { mkdirSync } = fileSystem();
  try {
    mkdirSync(path, options);
  } catch (error) {
    const outer = folderToMakeFirst(path, error);
    if (outer === undefined) return;
    makeFolderSync(outer, options);
    try {
      mkdirSync(path, options);
    } catch (again) {
      if (!isFolder(path)) throw again;
    }
  }
}

/** The folder that is missing around `path`; undefined if `path` is a folder already. Throws the error otherwise. */
function folderToMakeFirst(path: string, error: unknown): string | undefined {
  const outer = process.getBuiltinModule('node:path').dirname(path);
  if (isRecord(error) && error.code === 'ENOENT' && outer !== path) return outer;
  if (isFolder(path)) return undefined;
  throw error;
}

function isFolder(path: string): boolean {
  return fileSystem().statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
