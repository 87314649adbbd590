// The data folders of programs, files that only their owner can read, and a check that an opened
// file is the one that was examined.
import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { makeFolder } from './make-folder.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The data folder of the command `pocket-agent`. */
export function dataFolder(env?: Environment, platform?: NodeJS.Platform): string {
  return join(userDataFolder(env, platform), 'pocket-agent');
}

/** Where programs of this user keep their data. */
export function userDataFolder(env: Environment = process.env, platform = process.platform): string {
  if (env.XDG_DATA_HOME && isAbsolute(env.XDG_DATA_HOME)) return env.XDG_DATA_HOME;
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support');
  if (platform === 'win32') return env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local');
  return join(homedir(), '.local', 'share');
}

/** Replaces the file atomically: readers see the whole old or the whole new content. */
export async function writePrivately(file: string, content: string): Promise<void> {
  await makePrivateFolder(dirname(file));
  const next = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(next, content, { mode: 0o600, flag: 'wx', flush: true });
    await rename(next, file);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

export async function makePrivateFolder(folder: string): Promise<void> {
  await makeFolder(folder, { mode: 0o700 });
}

/**
 * Whether an opened file is the one at the checked real path: a folder on the path may have become a link since then.
 * `resolveAgain` returns the real path once more, for systems without /proc.
 */
export async function isOpenedFile(
  handle: FileHandle,
  real: string,
  resolveAgain: () => Promise<string>,
): Promise<boolean> {
  const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
  if (opened !== undefined) return opened === real;
  const [before, after] = await Promise.all([handle.stat(), resolveAgain().then((path) => lstat(path))]);
  return before.dev === after.dev && before.ino === after.ino;
}
