// Reads text files in the working folder, and refuses all others.
import { lstat } from 'node:fs/promises';
import { decodeText, readConfined, resolveInside as resolveInRoot } from '@pocket-agent/kit/confined-files';

export { looksSecret } from '@pocket-agent/kit/confined-files';

export const MAX_FILE_BYTES = 5_000_000;
const rootName = 'the working folder';

/** The real path inside `root`; throws if it does not exist or is outside, also through a symbolic link. */
export function resolveInside(root: string, path: string): Promise<string> {
  return resolveInRoot({ root, path, rootName });
}

/** The content of a regular UTF-8 file inside `root`. */
export async function readText(root: string, path: string): Promise<string> {
  const real = await resolveInside(root, path);
  if ((await lstat(real)).isDirectory()) throw new Error(`"${path}" is a folder; use list_files to list it.`);
  return decodeText(path, await readConfined({ root, path, maxBytes: MAX_FILE_BYTES, rootName }));
}
