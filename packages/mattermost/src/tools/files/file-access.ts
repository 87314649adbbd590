// Files of this machine, only below the configured folders, whatever links and races there are.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, open, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, extname, join, resolve, sep } from 'node:path';
import { errorText, MattermostError } from '../../base/errors.ts';

export interface OpenedFile extends AsyncDisposable {
  name: string;
  size: number;
  /** Exactly `size` bytes from the start; can be read again. */
  read(): AsyncGenerator<Buffer>;
}

const CHUNK = 256 * 1024;

/** Opened once; everything after looks at what was opened, not at what the path may have become. */
export async function openBelow(roots: readonly string[], path: string, largest: number): Promise<OpenedFile> {
  const real = await findBelow(roots, path);
  // a pipe would wait for a writer if it were opened in the usual way
  const handle = await attempt(path, open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw failure(`"${path}" is no regular file`);
    if (!(await isStill(handle, real, () => findBelow(roots, path))))
      throw failure(`"${path}" changed while it was opened`);
    if (opened.size > largest) throw tooLarge(`"${path}" has ${opened.size} bytes`, largest);
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
    const { bytesRead, buffer } = await attempt(path, handle.read(piece, 0, null, position));
    if (bytesRead === 0) throw failure(`"${path}" became shorter while it was sent`);
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The true path, all links followed, which must be inside one of the true roots. */
async function findBelow(roots: readonly string[], path: string): Promise<string> {
  if (roots.length === 0) {
    throw new MattermostError(
      'REFUSED',
      'Refused: files of this machine are off limits, because MATTERMOST_FILE_ROOTS is not set on this server.',
    );
  }
  const trueRoots = await Promise.all(roots.map((root) => attempt(root, realpath(root))));
  const wanted = resolve(trueRoots[0] ?? '', path);
  const real = await realpath(wanted).catch((error) => error);
  if (typeof real === 'string' && trueRoots.some((root) => isInside(root, real))) return real;
  // the same words for what is missing and what is forbidden, so that nobody can look around by asking
  const text = `Refused: "${path}" is not there or not below ${roots.join(', ')} (MATTERMOST_FILE_ROOTS).`;
  throw new MattermostError('REFUSED', text);
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Whether what was opened is what was checked: a folder on the way may have become a link in between. */
async function isStill(handle: FileHandle, real: string, findAgain: () => Promise<string>): Promise<boolean> {
  const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
  if (opened !== undefined) return opened === real;
  // without /proc: the same file must be there when the path is checked once more
  const [before, after] = await Promise.all([handle.stat(), findAgain().then((path) => stat(path))]);
  return before.dev === after.dev && before.ino === after.ino;
}

export const conflictRules = ['error', 'rename', 'overwrite'] as const;
export type ConflictRule = (typeof conflictRules)[number];

export interface NewFile {
  roots: readonly string[];
  /** Below a root; the first root when empty. */
  folder: string;
  name: string;
  onConflict: ConflictRule;
}

/** A file on its way; it throws when the disk does not take something whole. */
export interface GrowingFile {
  empty(): Promise<void>;
  append(chunk: Buffer): Promise<void>;
}

/** Writes beside the target and publishes at the end, so that nobody sees half a file. Returns where it is. */
export async function writeBelow(target: NewFile, write: (file: GrowingFile) => Promise<void>): Promise<string> {
  const folder = await findBelow(target.roots, target.folder);
  const name = safeName(target.name);
  const hidden = join(folder, `.${randomUUID()}.part`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_APPEND } = constants;
  const handle = await attempt(folder, open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND, 0o600));
  try {
    try {
      if (!(await isStill(handle, hidden, async () => hidden))) throw failure(`"${folder}" changed while it was used`);
      await write({
        empty: () => attempt(name, handle.truncate(0)),
        append: (chunk) => attempt(name, handle.appendFile(chunk)),
      });
      await attempt(name, handle.sync());
    } finally {
      await handle.close();
    }
    return await publish({ hidden, folder, name, onConflict: target.onConflict });
  } finally {
    await unlink(hidden).catch(() => {}); // gone already when it was renamed
  }
}

const MOST_NAMES = 1000;

interface Publication {
  hidden: string;
  folder: string;
  name: string;
  onConflict: ConflictRule;
}

async function publish({ hidden, folder, name, onConflict }: Publication): Promise<string> {
  if (onConflict === 'overwrite') {
    await attempt(name, rename(hidden, join(folder, name)));
    return join(folder, name);
  }
  for (let number = 0; number < MOST_NAMES; number++) {
    const path = join(folder, numbered(name, number));
    try {
      await link(hidden, path); // unlike a rename it never replaces anything
      return path;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw failure(errorText(error));
      if (onConflict === 'error')
        throw failure(`"${name}" is there already; choose on_conflict rename or overwrite, or another filename`);
    }
  }
  throw failure(`"${name}" and ${MOST_NAMES} names like it are there already`);
}

const LONGEST_NAME = 255;

/** The last part of a name, without what a file system, a terminal or a reader could misread; cut to what a folder takes. */
export function safeName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? '';
  const clean = last.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '').trim();
  if (clean === '' || clean === '.' || clean === '..') throw failure(`"${name}" is no name for a file; give filename`);
  return shortened(clean, '');
}

function numbered(name: string, number: number): string {
  return number === 0 ? name : shortened(name, ` (${number})`);
}

function shortened(name: string, suffix: string): string {
  const extension = extname(name).slice(0, 32);
  let stem = name.slice(0, name.length - extname(name).length);
  while (stem.length > 1 && Buffer.byteLength(stem + suffix + extension) > LONGEST_NAME) stem = stem.slice(0, -1);
  return stem + suffix + extension;
}

async function attempt<Value>(what: string, work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw failure(`"${what}": ${errorText(error)}`, error);
  }
}

function failure(text: string, cause?: unknown): MattermostError {
  return new MattermostError('FILE_FAILED', `File error: ${text}.`, { cause });
}

export function tooLarge(what: string, largest: number): MattermostError {
  return new MattermostError(
    'TOO_LARGE',
    `File error: ${what}, more than the ${largest} this server allows (MATTERMOST_MAX_FILE_MB).`,
  );
}
