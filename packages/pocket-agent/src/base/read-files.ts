// Reads the files of a run from disk. Loaded when a run has files.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { configError, errorText, type PocketError } from '@pocket-agent/kit';
import {
  checkFile,
  type FileInput,
  fileName,
  MAX_FILE_BYTES,
  refuseLarge,
  refuseLargeTotal,
  sizeOf,
  tooLarge,
} from './file-input.ts';

/** Replaces the `path` of each file by its `data`. All sizes are checked before the first file is read. */
export async function readFiles(files: readonly FileInput[]): Promise<FileInput[]> {
  const sizes = await Promise.all(files.map(checkedSize));
  refuseLargeTotal(sizes.reduce((sum, size) => sum + size, 0));
  return Promise.all(
    files.map(async (file) => {
      const { path, ...others } = file;
      if (typeof path !== 'string') return file;
      return { ...others, data: await readBytes(path), name: file.name ?? basename(path) };
    }),
  );
}

async function checkedSize(file: FileInput): Promise<number> {
  checkFile(file);
  const { path, data, name } = file;
  if (typeof path === 'string') return sizeOnDisk(path);
  refuseLarge(fileName(name), data ?? '');
  return sizeOf(data);
}

async function sizeOnDisk(path: string): Promise<number> {
  const found = await readOrThrow(path, stat(path));
  // reading a pipe or a device may never end
  if (!found.isFile()) throw unreadable(path, new Error('it is not a regular file'));
  if (found.size > MAX_FILE_BYTES) throw tooLarge(fileName(path), found.size);
  return found.size;
}

async function readBytes(path: string): Promise<Buffer> {
  // a log may grow while it is read, and a file of the system may have more than its size says
  const bytes = await readOrThrow(path, buffer(createReadStream(path, { end: MAX_FILE_BYTES })));
  if (bytes.byteLength > MAX_FILE_BYTES) throw tooLarge(fileName(path), bytes.byteLength);
  return bytes;
}

async function readOrThrow<Result>(path: string, reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): PocketError {
  return configError(`Cannot read ${path}: ${errorText(error)}`, error);
}
