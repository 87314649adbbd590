// Images and other files for the model. The type of an image is checked by its content, not by its name.
import { readFile, stat } from 'node:fs/promises';
import { errorText, PocketError } from '@pocket-agent/kit';
import type { FileInput } from 'pocket-agent';

const MAX_BYTES = 20 * 1024 * 1024;

const signatures: readonly ((bytes: Buffer) => boolean)[] = [
  (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')),
  (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
  (bytes) => bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
];

export async function readImage(file: string): Promise<Uint8Array> {
  const bytes = await readBytes(file);
  if (signatures.some((matches) => matches(bytes))) return bytes;
  throw new PocketError('CONFIG_INVALID', `${file} is not an image that models can read: use PNG, JPEG, GIF or WebP.`);
}

/** A file that the agent reads, or a URL. */
export function fileInput(file: string): FileInput {
  return /^https?:\/\//i.test(file) ? { url: file } : { path: file };
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size <= MAX_BYTES) return await readFile(file);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
  throw new PocketError('CONFIG_INVALID', `${file} is too large: an image may have at most 20 MB.`);
}
