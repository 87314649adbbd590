// Reads the files of a run from disk. Loaded when a run has files.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { configError, errorText } from '@pocket-agent/kit';
import { checkFile, type FileInput, fileName, MAX_FILE_BYTES, tooLarge } from './file-input.ts';

/** The files with `data` in place of `path`. */
export function readFiles(files: readonly FileInput[]): Promise<FileInput[]> {
  return Promise.all(
    files.map(async (file) => {
      checkFile(file);
      const { path, ...others } = file;
      if (typeof path !== 'string') return file;
      return { ...others, data: await readBytes(path), name: file.name ?? basename(path) };
    }),
  );
}

async function readBytes(path: string): Promise<Buffer> {
  let size: number;
  try {
    const found = await stat(path);
    size = found.size;
    // reading a pipe or a device may never end
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (size <= MAX_FILE_BYTES) {
      // a log may grow while it is read, and a file of the system may have more than its size says
      const bytes = await buffer(createReadStream(path, { end: MAX_FILE_BYTES }));
      size = bytes.byteLength;
      if (size <= MAX_FILE_BYTES) return bytes;
    }
  } catch (error) {
    throw configError(`Cannot read ${path}: ${errorText(error)}`, error);
  }
  throw tooLarge(fileName(path), size);
}
