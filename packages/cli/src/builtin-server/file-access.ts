// Reads files in one folder; refuses files outside it and files that may contain secrets.
import { constants } from 'node:fs';
import { lstat, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isOpenedFile } from '@pocket-agent/kit/private-files';

export const MAX_FILE_BYTES = 5_000_000;

const SECRET_NAMES = [
  /^\.env/i,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx)$/i,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/i,
  /^\.(?:npmrc|netrc|pypirc|htpasswd|pgpass|git-credentials)$/i,
  /^\.(?:ssh|aws|gnupg|kube)$/i,
];

/** True if the name of the file or of a parent folder suggests that it contains credentials. */
export function looksSecret(path: string): boolean {
  const segments = path.split(sep);
  const isGitConfig = segments.at(-2)?.toLowerCase() === '.git' && segments.at(-1)?.toLowerCase() === 'config';
  return isGitConfig || segments.some((segment) => SECRET_NAMES.some((pattern) => pattern.test(segment)));
}

/** The real path inside `root`; throws if it does not exist or is outside, also through a symbolic link. */
export async function resolveInside(root: string, path: string): Promise<string> {
  if (path.includes('\0')) throw new Error('A path cannot contain a null character.');
  const realRoot = await realpath(root);
  const wanted = resolve(realRoot, path);
  if (!isInside(realRoot, wanted) && !isInside(resolve(root), wanted)) throw outside(path);
  const real = await realpath(wanted).catch(() => {
    throw new Error(`"${path}" does not exist in the working folder.`);
  });
  if (!isInside(realRoot, real)) throw outside(path);
  return real;
}

/** The content of a regular UTF-8 file inside `root`. */
export async function readText(root: string, path: string): Promise<string> {
  const real = await resolveInside(root, path);
  // check both names: a link with a harmless name may point to a secret
  if (looksSecret(join(path)) || looksSecret(relative(await realpath(root), real))) {
    throw new Error(`"${path}" is refused: its name suggests secrets (keys, tokens or passwords).`);
  }
  const before = await lstat(real);
  if (before.isDirectory()) throw new Error(`"${path}" is a folder; use list_files to list it.`);
  if (!before.isFile()) throw new Error(`"${path}" is not a regular file.`);
  return decode(path, await readBytes(root, path, real));
}

async function readBytes(root: string, path: string, real: string): Promise<Uint8Array> {
  const handle = await open(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await isOpenedFile(handle, real, () => resolveInside(root, path))))
      throw new Error(`"${path}" changed while it was opened; try again.`);
    const { size } = await handle.stat();
    if (size > MAX_FILE_BYTES) {
      const limit = `the limit is ${MAX_FILE_BYTES / 1e6} MB`;
      throw new Error(`"${path}" is too large to read: ${(size / 1e6).toFixed(1)} MB, ${limit}.`);
    }
    const buffer = new Uint8Array(size);
    let length = 0;
    while (length < size) {
      const { bytesRead } = await handle.read(buffer, length, size - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  } finally {
    await handle.close();
  }
}

function decode(path: string, bytes: Uint8Array): string {
  if (bytes.includes(0)) throw new Error(`"${path}" is a binary file; only text files can be read.`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`"${path}" is not UTF-8 text.`);
  }
}

function isInside(root: string, path: string): boolean {
  const inside = relative(root, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

function outside(path: string): Error {
  return new Error(`"${path}" is outside the working folder.`);
}
