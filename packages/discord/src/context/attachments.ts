// Files that people attach: pictures for models that see, text as text, the rest by name only.

import type { HttpFetch } from '@pocket-agent/http/fetch';
import type { Attachment } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { DiscordBotError, messageOf } from '../base/errors.ts';
import { readPdf } from './read-pdf.ts';
import { escaped, untrusted } from './untrusted.ts';

export type GivenFile = Pick<Attachment, 'id' | 'name' | 'url' | 'size' | 'contentType' | 'description'>;

interface ReadFiles {
  blocks: string[];
  images: Uint8Array[];
}

export interface ReadOptions {
  fetch: HttpFetch;
  seesImages: boolean;
  /** How much the model takes of everything. */
  contextTokens: number;
  logger: Logger;
  signal: AbortSignal;
}

const MOST_FILES = 10;
const MOST_IMAGES = 4;
const IMAGE_BYTES = 4_000_000;
const TEXT_BYTES = 1_000_000;
const PDF_BYTES = 10_000_000;
const TEXT_SHOWN = 50_000;
/** A fifth of the window, with what stands in it counted as three characters to the token. */
const CHARACTERS_PER_TOKEN = 0.2 * 3;
const TEXT_NAME =
  /\.(txt|md|markdown|csv|tsv|json|jsonl|ya?ml|toml|ini|xml|html?|css|log|sql|sh|py|rb|rs|go|java|kt|c|h|cc|cpp|cs|php|swift|[cm]?[jt]sx?)$/i;
const IMAGE_TYPE = /^image\/(png|jpe?g|gif|webp)\b/;
/** How such files begin, in hexadecimal. */
const IMAGE_START = /^(89504e470d0a1a0a|ffd8ff|47494638(37|39)61|52494646.{8}57454250)/;

export async function readAttachments(files: readonly GivenFile[], options: ReadOptions): Promise<ReadFiles> {
  const read: ReadFiles = { blocks: [], images: [] };
  const opened = files.slice(0, MOST_FILES);
  let room = options.contextTokens * CHARACTERS_PER_TOKEN;
  for (const [index, file] of opened.entries()) {
    // what one does not need is there for those after it
    const characters = Math.min(TEXT_SHOWN, Math.floor(room / (opened.length - index)));
    const { text, note } = await readOne(file, { ...options, images: read.images });
    const shown = text === undefined ? `(${note})` : cut(text, characters);
    if (text !== undefined) room -= escaped(shown).length;
    read.blocks.push(untrusted('attachment', attributesOf(file), shown));
  }
  if (files.length > MOST_FILES) read.blocks.push(`(${files.length - MOST_FILES} more files were not read.)`);
  return read;
}

type ReadFile = { text: string; note?: undefined } | { text?: undefined; note: string };

async function readOne(file: GivenFile, options: ReadOptions & { images: Uint8Array[] }): Promise<ReadFile> {
  const type = kindOf(file);
  const { images, signal, seesImages, logger } = options;
  try {
    if (IMAGE_TYPE.test(type)) {
      if (!seesImages) return { note: 'a picture; this model does not see pictures' };
      if (images.length >= MOST_IMAGES || file.size > IMAGE_BYTES) return { note: 'a picture that was not read' };
      const bytes = await bytesOf(file, options);
      if (!IMAGE_START.test(bytes.toString('hex', 0, 12))) return { note: 'called a picture, but it is none' };
      images.push(bytes);
      return { note: `picture ${images.length} of this message` };
    }
    if (type === 'application/pdf' && file.size <= PDF_BYTES) {
      const text = await readPdf(await bytesOf(file, options), signal);
      return text === '' ? { note: 'a PDF without readable text' } : { text };
    }
    if (isText(file, type) && file.size <= TEXT_BYTES) {
      const bytes = await bytesOf(file, options);
      return bytes.includes(0) ? { note: 'called a text, but it is none' } : { text: bytes.toString('utf8') };
    }
    return { note: 'a file that was not read' };
  } catch (error) {
    signal.throwIfAborted();
    logger.warn('An attachment could not be read', { file: file.id, reason: messageOf(error) });
    const isGone = error instanceof DiscordBotError && error.code === 'GONE';
    return { note: isGone ? error.message : 'a file that could not be read' };
  }
}

/** Discord keeps what comes with a command for some hours, and forgets what was deleted. */
const GONE = [403, 404, 410];

async function bytesOf({ url }: GivenFile, { fetch, signal }: ReadOptions): Promise<Buffer> {
  const response = await fetch(url, { signal });
  if (response.ok) return Buffer.from(await response.arrayBuffer());
  await response.body?.cancel();
  if (!GONE.includes(response.status)) throw new Error(`status ${response.status}`);
  throw new DiscordBotError('GONE', 'Discord does not have this file any more; it has to be sent again');
}

function attributesOf(file: GivenFile): Record<string, string> {
  return { name: file.name, type: kindOf(file), bytes: String(file.size), alt: file.description ?? '' };
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

/** What is escaped takes more room than it did. */
function cut(text: string, characters: number): string {
  const beginning = text.slice(0, characters);
  const most = Math.floor((characters * beginning.length) / Math.max(1, escaped(beginning).length));
  return text.length > most ? `${text.slice(0, most).toWellFormed()}\n(the rest was cut off)` : text;
}
