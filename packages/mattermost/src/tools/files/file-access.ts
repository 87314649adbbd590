// Local files, only inside the configured folders; safe against symbolic links and races.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, open, realpath, rename, unlink } from 'node:fs/promises';
import { basename, extname, join, resolve, sep } from 'node:path';
import { errorText } from '@pocket-agent/kit';
import { isOpenedFile } from '@pocket-agent/kit/private-files';
import { MattermostError } from '../../base/errors.ts';

interface OpenedFile extends AsyncDisposable {
  name: string;
  size: number;
  /** Yields exactly `size` bytes from the start; can be called repeatedly. */
  read(): AsyncGenerator<Buffer>;
}

const CHUNK = 256 * 1024;

/** All checks use the open file handle, because the path may change in the meantime. */
export async function openInRoots(roots: readonly string[], path: string, maxBytes: number): Promise<OpenedFile> {
  const real = await resolveInRoots(roots, path);
  // without O_NONBLOCK, opening a pipe would wait for a writer
  const handle = await orFileError(path, open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw fileError(`"${path}" is not a regular file`);
    if (!(await isOpenedFile(handle, real, () => resolveInRoots(roots, path))))
      throw fileError(`"${path}" changed while it was being opened`);
    if (opened.size > maxBytes) throw tooLarge(`"${path}" has ${opened.size} bytes`, maxBytes);
    return {
      name: basename(real),
      size: opened.size,
      read: () => readExactly(handle, opened.size, path),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function* readExactly(handle: FileHandle, size: number, path: string): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const piece = Buffer.alloc(Math.min(CHUNK, size - position));
    const { bytesRead, buffer } = await orFileError(path, handle.read(piece, 0, null, position));
    if (bytesRead === 0) throw fileError(`"${path}" shrank while it was being sent`);
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Resolves all symbolic links; the result must be inside one of the resolved roots. */
async function resolveInRoots(roots: readonly string[], path: string): Promise<string> {
  if (roots.length === 0) {
    throw new MattermostError(
      'REFUSED',
      'Refused: local files are disabled because MATTERMOST_FILE_ROOTS is not set on this server.',
    );
  }
  const trueRoots = await Promise.all(roots.map((root) => orFileError(root, realpath(root))));
  const absolute = resolve(trueRoots[0] ?? '', path);
  const real = await realpath(absolute).catch((error) => error);
  if (typeof real === 'string' && trueRoots.some((root) => isInside(root, real))) return real;
  // one message for missing and forbidden paths, so that callers cannot probe the file system
  const text = `Refused: "${path}" does not exist or is not inside ${roots.join(', ')} (MATTERMOST_FILE_ROOTS).`;
  throw new MattermostError('REFUSED', text);
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

export const conflictRules = ['error', 'rename', 'overwrite'] as const;
export type ConflictRule = (typeof conflictRules)[number];

interface NewFile {
  roots: readonly string[];
  /** Inside a root; empty for the first root. */
  folder: string;
  name: string;
  onConflict: ConflictRule;
}

/** A file being written; throws if a write is incomplete. */
interface PartialFile {
  empty(): Promise<void>;
  append(chunk: Buffer): Promise<void>;
}

/** Writes a temporary file and moves it into place at the end, so that partial files are never visible. Returns the path. */
export async function writeInRoots(target: NewFile, write: (file: PartialFile) => Promise<void>): Promise<string> {
  const folder = await resolveInRoots(target.roots, target.folder);
  const name = safeName(target.name);
  const temporary = join(folder, `.${randomUUID()}.part`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_APPEND } = constants;
  const handle = await orFileError(folder, open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND, 0o600));
  try {
    try {
      if (!(await isOpenedFile(handle, temporary, async () => temporary)))
        throw fileError(`"${folder}" changed while it was being used`);
      await write({
        empty: () => orFileError(name, handle.truncate(0)),
        append: (chunk) => orFileError(name, handle.appendFile(chunk)),
      });
      await orFileError(name, handle.sync());
    } finally {
      await handle.close();
    }
    return await publish({ temporary, folder, name, onConflict: target.onConflict });
  } finally {
    await unlink(temporary).catch(() => {}); // already gone if it was renamed
  }
}

const MAX_RENAMES = 1000;

interface Publication {
  temporary: string;
  folder: string;
  name: string;
  onConflict: ConflictRule;
}

async function publish({ temporary, folder, name, onConflict }: Publication): Promise<string> {
  if (onConflict === 'overwrite') {
    await orFileError(name, rename(temporary, join(folder, name)));
    return join(folder, name);
  }
  for (let number = 0; number < MAX_RENAMES; number++) {
    const path = join(folder, numbered(name, number));
    try {
      await link(temporary, path); // unlike rename, link never replaces a file
      return path;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw fileError(errorText(error));
      if (onConflict === 'error')
        throw fileError(`"${name}" already exists; set on_conflict to rename or overwrite, or choose another filename`);
    }
  }
  throw fileError(`"${name}" and ${MAX_RENAMES} numbered variants already exist`);
}

const MAX_NAME_BYTES = 255;

/** The last path segment without control and bidi characters, cut to the length that file systems allow. */
export function safeName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? '';
  const clean = last.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '').trim();
  if (clean === '' || clean === '.' || clean === '..')
    throw fileError(`"${name}" is not a valid file name; set filename`);
  return truncatedName(clean, '');
}

function numbered(name: string, number: number): string {
  return number === 0 ? name : truncatedName(name, ` (${number})`);
}

function truncatedName(name: string, suffix: string): string {
  const extension = extname(name).slice(0, 32);
  let stem = name.slice(0, name.length - extname(name).length);
  while (stem.length > 1 && Buffer.byteLength(stem + suffix + extension) > MAX_NAME_BYTES) stem = stem.slice(0, -1);
  return stem + suffix + extension;
}

async function orFileError<Value>(what: string, work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw fileError(`"${what}": ${errorText(error)}`, error);
  }
}

function fileError(text: string, cause?: unknown): MattermostError {
  return new MattermostError('FILE_FAILED', `File error: ${text}.`, { cause });
}

export function tooLarge(what: string, maxBytes: number): MattermostError {
  return new MattermostError(
    'TOO_LARGE',
    `File error: ${what}, but this server allows at most ${maxBytes} (MATTERMOST_MAX_FILE_MB).`,
  );
}
