// Files that people attach: pictures for models that see, text as text, the rest by name only.

import type { HttpFetch } from '@pocket-agent/http/fetch';
import type { Attachment } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { messageOf } from '../errors.ts';
import { readPdf } from './read-pdf.ts';
import { untrusted } from './untrusted.ts';

export type GivenFile = Pick<Attachment, 'id' | 'name' | 'url' | 'size' | 'contentType' | 'description'>;

export interface ReadFiles {
  blocks: string[];
  images: Uint8Array[];
}

export interface ReadOptions {
  fetch: HttpFetch;
  seesImages: boolean;
  logger: Logger;
  signal: AbortSignal;
}

const MOST_FILES = 10;
const MOST_IMAGES = 4;
const IMAGE_BYTES = 4_000_000;
const TEXT_BYTES = 1_000_000;
const PDF_BYTES = 10_000_000;
const TEXT_SHOWN = 50_000;
const TEXT_NAME =
  /\.(txt|md|markdown|csv|tsv|json|jsonl|ya?ml|toml|ini|xml|html?|css|log|sql|sh|py|rb|rs|go|java|kt|c|h|cc|cpp|cs|php|swift|[cm]?[jt]sx?)$/i;
const IMAGE_TYPE = /^image\/(png|jpe?g|gif|webp)\b/;

export async function readAttachments(files: readonly GivenFile[], options: ReadOptions): Promise<ReadFiles> {
  const read: ReadFiles = { blocks: [], images: [] };
  for (const file of files.slice(0, MOST_FILES)) read.blocks.push(await readOne(file, read.images, options));
  if (files.length > MOST_FILES) read.blocks.push(`(${files.length - MOST_FILES} more files were not read.)`);
  return read;
}

async function readOne(file: GivenFile, images: Uint8Array[], options: ReadOptions): Promise<string> {
  const type = kindOf(file);
  const attributes = { name: file.name, type, bytes: String(file.size), alt: file.description ?? '' };
  const note = (text: string) => untrusted('attachment', attributes, `(${text})`);
  const { fetch, signal, seesImages, logger } = options;
  const bytes = async () => {
    const response = await fetch(file.url, { signal });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  };
  try {
    if (IMAGE_TYPE.test(type)) {
      if (!seesImages) return note('a picture; this model does not see pictures');
      if (images.length >= MOST_IMAGES || file.size > IMAGE_BYTES) return note('a picture that was not read');
      images.push(await bytes());
      return note(`picture ${images.length} of this message`);
    }
    if (type === 'application/pdf' && file.size <= PDF_BYTES) {
      const text = await readPdf(await bytes(), signal);
      return text === '' ? note('a PDF without readable text') : untrusted('attachment', attributes, cut(text));
    }
    if (isText(file, type) && file.size <= TEXT_BYTES) {
      return untrusted('attachment', attributes, cut((await bytes()).toString('utf8')));
    }
    return note('a file that was not read');
  } catch (error) {
    signal.throwIfAborted();
    logger.warn('An attachment could not be read', { file: file.id, reason: messageOf(error) });
    return note('a file that could not be read');
  }
}

/** Discord does not always say. */
function kindOf({ contentType, name }: GivenFile): string {
  if (contentType) return contentType.split(';')[0] ?? contentType;
  if (/\.pdf$/i.test(name)) return 'application/pdf';
  const image = /\.(png|jpe?g|gif|webp)$/i.exec(name)?.[1]?.toLowerCase();
  if (image) return `image/${image === 'jpg' ? 'jpeg' : image}`;
  return TEXT_NAME.test(name) ? 'text/plain' : 'application/octet-stream';
}

function isText({ name }: GivenFile, type: string): boolean {
  return /^text\/|[/+](json|xml|yaml)\b/.test(type) || TEXT_NAME.test(name);
}

function cut(text: string): string {
  return text.length > TEXT_SHOWN ? `${text.slice(0, TEXT_SHOWN)}\n(the rest was cut off)` : text;
}
