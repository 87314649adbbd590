// Reads files inside one folder, as text or images for models. Refuses paths and symbolic links that lead outside, pipes, and names that suggest secrets.
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { decodeUtf8 } from './file-types.ts';
import { isOpenedFile } from './private-files.ts';

const SECRET_NAMES = [
  /^\.env/i,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx)$/i,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/i,
  /^\.(?:npmrc|netrc|pypirc|htpasswd|pgpass|git-credentials)$/i,
  /^\.(?:ssh|aws|gnupg|kube)$/i,
];

/** A file that may be read only if it is inside `root`. */
interface ConfinedFile {
  root: string;
  /** True: `root` was a real path when it was found. If it has become a symbolic link since, nothing is read. */
  isRootReal?: boolean;
  path: string;
  maxBytes: number;
  /** The name of `root` in errors. */
  rootName: string;
}

/** True if the name of the file or of a parent folder suggests that it contains credentials. */
export function looksSecret(path: string): boolean {
  const segments = path.split(sep);
  const isGitConfig = segments.at(-2)?.toLowerCase() === '.git' && segments.at(-1)?.toLowerCase() === 'config';
  return isGitConfig || segments.some((segment) => SECRET_NAMES.some((pattern) => pattern.test(segment)));
}

/** The real path inside `root`; throws if it does not exist or is outside, also through a symbolic link. */
export async function resolveInside(file: Omit<ConfinedFile, 'maxBytes'>): Promise<string> {
  const { root, path, rootName } = file;
  if (path.includes('\0')) throw new Error('A path cannot contain a null character.');
  const outside = () => new Error(`"${path}" is outside ${rootName}.`);
  const realRoot = await realRootOf(file);
  const wanted = resolve(realRoot, path);
  if (!isInside(realRoot, wanted) && !isInside(resolve(root), wanted)) throw outside();
  const real = await realpath(wanted).catch(() => {
    throw new Error(`"${path}" does not exist in ${rootName}.`);
  });
  if (!isInside(realRoot, real)) throw outside();
  return real;
}

/** The content of a regular file inside `root`. */
export async function readConfined(file: ConfinedFile): Promise<Uint8Array> {
  const { path } = file;
  const real = await resolveInside(file);
  // check both names: a link with a harmless name may point to a secret
  if (looksSecret(join(path)) || looksSecret(relative(await realRootOf(file), real))) {
    throw new Error(`"${path}" is refused: its name suggests secrets (keys, tokens or passwords).`);
  }
  if (!(await lstat(real)).isFile()) throw notRegular(path);
  // without O_NONBLOCK, opening a pipe would wait for a writer
  const handle = await open(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await isOpenedFile(handle, real, () => resolveInside(file))))
      throw new Error(`"${path}" changed while it was opened; try again.`);
    return await readAll(handle, file);
  } finally {
    await handle.close();
  }
}

/** Throws for binary files and for text that is not UTF-8. */
export function decodeText(path: string, bytes: Uint8Array): string {
  if (bytes.includes(0)) throw new Error(`"${path}" is a binary file; only text files can be read.`);
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new Error(`"${path}" is not UTF-8 text.`);
  return text;
}

async function realRootOf({ root, isRootReal = false }: Pick<ConfinedFile, 'root' | 'isRootReal'>): Promise<string> {
  return isRootReal ? root : realpath(root);
}

async function readAll(handle: FileHandle, { path, maxBytes }: ConfinedFile): Promise<Uint8Array> {
  const opened = await handle.stat();
  if (!opened.isFile()) throw notRegular(path);
  const { size } = opened;
  if (size > maxBytes) {
    throw new Error(
      `"${path}" is too large to read: ${(size / 1e6).toFixed(1)} MB, the limit is ${maxBytes / 1e6} MB.`,
    );
  }
  const buffer = new Uint8Array(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(buffer, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function isInside(root: string, path: string): boolean {
  const inside = relative(root, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

function notRegular(path: string): Error {
  return new Error(`"${path}" is not a regular file.`);
}

/** The type of an image that models can read, by its first bytes, because a name can be wrong. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 12)).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'image/gif';
  return start.startsWith('RIFF') && start.slice(8) === 'WEBP' ? 'image/webp' : undefined;
}

/** The first lines that fit into `maxLength` characters, but at least one. */
export function fittingLines(lines: string[], maxLength: number): string[] {
  let length = 0;
  const end = lines.findIndex((line, index) => {
    length += line.length + 1;
    return index > 0 && length > maxLength;
  });
  return end === -1 ? lines : lines.slice(0, end);
}
