// Images and other files for the model. The type of an image is checked by its content, not by its name.
import { readFile, stat } from 'node:fs/promises';
import { errorText, PocketError } from '@pocket-agent/kit';
import { imageTypeOf } from '@pocket-agent/kit/confined-files';
import type { FileInput } from 'pocket-agent';

const MAX_BYTES = 20 * 1024 * 1024;

export async function readImage(file: string): Promise<Uint8Array> {
  const bytes = await readBytes(file);
  if (imageTypeOf(bytes)) return bytes;
  throw new PocketError('CONFIG_INVALID', `${file} is not an image that models can read: use PNG, JPEG, GIF or WebP.`);
}

/** A file that the agent reads, or a URL. */
export function fileInput(file: string): FileInput {
  return /^https?:\/\//i.test(file) ? { url: file } : { path: file };
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    const found = await stat(file);
    // reading a pipe or a device may never end
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size <= MAX_BYTES) return await readFile(file);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
  throw new PocketError('CONFIG_INVALID', `${file} is too large: an image may have at most 20 MB.`);
}
