// Reads attached files: images for models with vision, text and PDF as text, other files by name only.

import type { HttpFetch } from '@pocket-agent/http/fetch';
import { errorText } from '@pocket-agent/kit';
import { imageTypeOf } from '@pocket-agent/kit/confined-files';
import type { Attachment } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import { readPdf } from './read-pdf.ts';
import { escapeMarkup, truncateEscaped, untrusted } from './untrusted.ts';

export type AttachedFile = Pick<Attachment, 'id' | 'name' | 'url' | 'size' | 'contentType' | 'description'>;

interface ReadFiles {
  blocks: string[];
  images: Uint8Array[];
}

export interface ReadOptions {
  fetch: HttpFetch;
  seesImages: boolean;
  /** The context window of the model. */
  contextTokens: number;
  logger: Logger;
  signal: AbortSignal;
}

const MAX_FILES = 10;
const MAX_IMAGES = 4;
const IMAGE_BYTES = 4_000_000;
const TEXT_BYTES = 1_000_000;
const PDF_BYTES = 10_000_000;
const MAX_TEXT_LENGTH = 50_000;
/** Files may fill a fifth of the context window, at three characters per token. */
const CHARACTERS_PER_TOKEN = 0.2 * 3;
const TEXT_NAME =
  /\.(txt|md|markdown|csv|tsv|json|jsonl|ya?ml|toml|ini|xml|html?|css|log|sql|sh|py|rb|rs|go|java|kt|c|h|cc|cpp|cs|php|swift|[cm]?[jt]sx?)$/i;
const IMAGE_TYPE = /^image\/(png|jpe?g|gif|webp)\b/;

export async function readAttachments(files: readonly AttachedFile[], options: ReadOptions): Promise<ReadFiles> {
  const read: ReadFiles = { blocks: [], images: [] };
  const opened = files.slice(0, MAX_FILES);
  let remaining = options.contextTokens * CHARACTERS_PER_TOKEN;
  for (const [index, file] of opened.entries()) {
    // characters that one file does not need are left for the next
    const characters = Math.min(MAX_TEXT_LENGTH, Math.floor(remaining / (opened.length - index)));
    const { text, note } = await readOne(file, { ...options, images: read.images });
    const shown = text === undefined ? `(${note})` : truncate(text, characters);
    if (text !== undefined) remaining -= escapeMarkup(shown).length;
    read.blocks.push(untrusted('attachment', attributesOf(file), shown));
  }
  if (files.length > MAX_FILES) read.blocks.push(`(${files.length - MAX_FILES} more files were not read.)`);
  return read;
}

type ReadFile = { text: string; note?: undefined } | { text?: undefined; note: string };

async function readOne(file: AttachedFile, options: ReadOptions & { images: Uint8Array[] }): Promise<ReadFile> {
  const type = contentTypeOf(file);
  const { images, signal, seesImages, logger } = options;
  try {
    if (IMAGE_TYPE.test(type)) {
      if (!seesImages) return { note: 'an image; this model cannot read images' };
      if (images.length >= MAX_IMAGES || file.size > IMAGE_BYTES) return { note: 'an image that was not read' };
      const bytes = await bytesOf(file, options);
      if (!imageTypeOf(bytes)) return { note: 'named like an image, but not an image' };
      images.push(bytes);
      return { note: `image ${images.length} of this message` };
    }
    if (type === 'application/pdf' && file.size <= PDF_BYTES) {
      const text = await readPdf(await bytesOf(file, options), signal);
      return text === '' ? { note: 'a PDF without readable text' } : { text };
    }
    if (isText(file, type) && file.size <= TEXT_BYTES) {
      const bytes = await bytesOf(file, options);
      return bytes.includes(0) ? { note: 'named like a text file, but not text' } : { text: bytes.toString('utf8') };
    }
    return { note: 'a file that was not read' };
  } catch (error) {
    signal.throwIfAborted();
    logger.warn('An attachment could not be read', { file: file.id, reason: errorText(error) });
    const isGone = error instanceof DiscordBotError && error.code === 'GONE';
    return { note: isGone ? error.message : 'a file that could not be read' };
  }
}

/** Discord deletes files of commands after some hours. */
const GONE_STATUSES = [403, 404, 410];

async function bytesOf({ url }: AttachedFile, { fetch, signal }: ReadOptions): Promise<Buffer> {
  const response = await fetch(url, { signal });
  if (response.ok) return Buffer.from(await response.arrayBuffer());
  await response.body?.cancel();
  if (!GONE_STATUSES.includes(response.status)) throw new Error(`status ${response.status}`);
  throw new DiscordBotError('GONE', 'Discord no longer has this file; ask the user to send it again');
}

function attributesOf(file: AttachedFile): Record<string, string> {
  return { name: file.name, type: contentTypeOf(file), bytes: String(file.size), alt: file.description ?? '' };
}

/** Derived from the file name if Discord gives no type. */
function contentTypeOf({ contentType, name }: AttachedFile): string {
  if (contentType) return contentType.split(';')[0] ?? contentType;
  if (/\.pdf$/i.test(name)) return 'application/pdf';
  const image = /\.(png|jpe?g|gif|webp)$/i.exec(name)?.[1]?.toLowerCase();
  if (image) return `image/${image === 'jpg' ? 'jpeg' : image}`;
  return TEXT_NAME.test(name) ? 'text/plain' : 'application/octet-stream';
}

function isText({ name }: AttachedFile, type: string): boolean {
  return /^text\/|[/+](json|xml|yaml)\b/.test(type) || TEXT_NAME.test(name);
}

function truncate(text: string, characters: number): string {
  const start = truncateEscaped(text.slice(0, characters), characters);
  return start.length < text.length ? `${start.toWellFormed()}\n(the rest was cut off)` : text;
}
