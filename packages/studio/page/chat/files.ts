// Files of messages: those that a person adds, and those that a message has.
import type { SentFile } from '../../src/wire/wire.ts';

const MAX_BYTES = 20_000_000;

/** Images that a page may draw; others, such as SVG, are only named. */
const DRAWN = /^image\/(?:png|jpeg|gif|webp)$/;

export function isDrawn(mediaType: string): boolean {
  return DRAWN.test(mediaType);
}

export async function readFiles(files: Iterable<File>): Promise<SentFile[]> {
  return Promise.all(
    [...files].map(async (file) => {
      if (file.size > MAX_BYTES) throw new Error(`${file.name} is too large: a file may have at most 20 MB.`);
      const mediaType = file.type || 'application/octet-stream';
      return { name: file.name, mediaType, data: base64(new Uint8Array(await file.arrayBuffer())) };
    }),
  );
}

function base64(bytes: Uint8Array): string {
  const part = 32_768; // Limit of arguments per call
  let text = '';
  for (let from = 0; from < bytes.length; from += part)
    text += String.fromCharCode(...bytes.subarray(from, from + part));
  return btoa(text);
}
