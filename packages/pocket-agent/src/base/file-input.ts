// Files of a user message: text becomes a text part with the name of the file, everything else a file part.
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import {
  configError,
  decodeUtf8,
  isBase64,
  isString,
  isTextual,
  nullable,
  OptionSet,
  type PocketError,
  standardBase64,
  typeOfBytes,
  typeOfName,
} from '@pocket-agent/kit';

/** A file for the model. It has one of `path`, `url` and `data`. */
export interface FileInput {
  /** A file on this machine. Only `run` and `stream` read it. */
  path?: string;
  /** An http(s) address. Downloaded for models whose provider does not fetch it. */
  url?: string | URL;
  /** Bytes, base64 text, or a `data:` URL. */
  data?: Uint8Array | string;
  /** Such as `application/pdf`. Default: by the bytes, or by the ending of the name. */
  mediaType?: string;
  /** The name that the model reads. Default: the last part of the path or URL. */
  name?: string;
}

/** The part of a user message that a file becomes. */
export type FilePart = LanguageModelV4FilePart | LanguageModelV4TextPart;

/** Larger files are refused, as images are. */
export const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** Of all files and images of a message. */
export const MAX_TOTAL_BYTES = 5 * MAX_FILE_BYTES;

const MEDIA_TYPE = /^\w+\/[\w!#$&^.+*-]+\s*(;\P{Cc}*)?$/u;

const fileOptions = new OptionSet<FileInput>('A file', {
  path: nullable('a path', (value) => isString(value) && value !== ''),
  url: nullable('an http(s) URL', (value) => isString(value) || value instanceof URL),
  data: {
    ...nullable('bytes, base64 text or a data: URL', (value) => isString(value) || value instanceof Uint8Array),
    isSecret: true,
  },
  mediaType: nullable('a type such as "application/pdf"', (value) => isString(value) && MEDIA_TYPE.test(String(value))),
  name: nullable('a string', isString),
});

/** Throws unless it has exactly one of `path`, `url` and `data`. */
export function checkFile(file: FileInput): void {
  if (typeof file !== 'object' || file === null)
    throw configError("A file is an object: { path: 'report.pdf' }, { url } or { data, mediaType }.");
  fileOptions.check(file);
  const given = [file.path, file.url, file.data].filter((value) => (value ?? undefined) !== undefined);
  if (given.length !== 1) throw configError(`A file has one of path, url and data; this one has ${given.length}.`);
}

/** The files of a message as parts of it. `images` count for its size. */
export function fileParts(files: readonly FileInput[], images: readonly unknown[]): FilePart[] {
  const data = [...files.map((file) => file?.data), ...images];
  refuseLargeTotal(data.reduce<number>((sum, each) => sum + sizeOf(each), 0));
  return files.map(filePart);
}

/** A file without `path`, as a part of a message. */
export function filePart(file: FileInput): FilePart {
  checkFile(file);
  if (typeof file.path === 'string')
    throw configError('addUserMessage() does not read files: pass { path } to run() or stream(), or { data } here.');
  return (file.url ?? undefined) === undefined ? dataPart(file) : urlPart(file, file.url ?? '');
}

function urlPart({ mediaType, ...file }: FileInput, given: string | URL): FilePart {
  const name = file.name ?? undefined;
  const url = URL.parse(String(given));
  if (!url || !/^https?:$/.test(url.protocol)) {
    const instead = url?.protocol === 'file:' ? ' Write { path } for a file on this machine.' : '';
    throw configError(`The url of a file must begin with http:// or https://.${instead}`);
  }
  const filename = name ?? lastSegment(url);
  const type = mediaType ?? typeOfName(filename);
  if (type === undefined) throw unknownType(filename);
  // kept as text, because a history is plain JSON; a prompt gets the URL object that the type promises
  const data = { type: 'url' as const, url: url.href as unknown as URL };
  return { type: 'file', mediaType: baseType(type), ...(filename ? { filename } : {}), data };
}

function dataPart({ data = '', mediaType, ...file }: FileInput): FilePart {
  const name = file.name ?? undefined;
  refuseLarge(fileName(name), data);
  const { bytes, declared } = readData(data);
  if (bytes.byteLength > MAX_FILE_BYTES) throw tooLarge(fileName(name), bytes.byteLength);
  const given = mediaType ?? declared;
  const type = given ?? typeOfBytes(bytes) ?? typeOfName(name) ?? (isPlainText(bytes) ? 'text/plain' : undefined);
  if (type === undefined) throw unknownType(name);
  if (isTextual(type)) return textPart(bytes, baseType(type), name);
  if (bytes.byteLength === 0) throw configError(`${fileName(name)} is empty.`);
  const filename = name ? { filename: name } : {};
  return { type: 'file', mediaType: baseType(type), ...filename, data: { type: 'data', data: toBase64(bytes) } };
}

/** Checked before base64 text is decoded, which takes time. */
export function refuseLarge(what: string, data: Uint8Array | string): void {
  const bytes = sizeOf(data);
  // text may have a header, line breaks and padding
  const allowed = typeof data === 'string' ? MAX_FILE_BYTES * 1.05 : MAX_FILE_BYTES;
  if (bytes > allowed) throw tooLarge(what, bytes);
}

/** Before the files of a message are read. */
export function refuseLargeTotal(bytes: number): void {
  if (bytes <= MAX_TOTAL_BYTES) return;
  const advice = 'Send them in several messages.';
  throw configError(
    `The files are too large: they have ${inMegabytes(bytes)}, and those of a message may have 100 MB. ${advice}`,
  );
}

/** The size of data in bytes, estimated for base64 text without decoding it. */
export function sizeOf(data: unknown): number {
  if (typeof data === 'string') return Math.floor((data.length * 3) / 4);
  return ArrayBuffer.isView(data) ? data.byteLength : 0;
}

export function isImagePart(part: FilePart): boolean {
  return part.type === 'file' && part.mediaType.startsWith('image/');
}

/** The content of a text file, after its name. */
export function textPart(bytes: Uint8Array, mediaType: string, name: string | undefined): LanguageModelV4TextPart {
  const text = decodeUtf8(bytes);
  if (text === undefined)
    throw configError(
      `${fileName(name)} is not UTF-8 text, although its type is ${mediaType}. Give another mediaType.`,
    );
  return { type: 'text', text: `\n[file ${singleLine(name) ?? mediaType}]\n${text}` };
}

function readData(data: Uint8Array | string): { bytes: Uint8Array; declared?: string | undefined } {
  if (typeof data !== 'string') return { bytes: data };
  const [header, declared] = /^data:([^;,]+)[^,]*;base64,/.exec(data.slice(0, 200)) ?? [''];
  const base64 = standardBase64(data.slice(header.length));
  if (!isBase64(base64)) throw configError('The data of a file must be bytes, base64 text or a data: URL.');
  return { bytes: Buffer.from(base64, 'base64'), declared };
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function isPlainText(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && decodeUtf8(bytes) !== undefined;
}

/** Without parameters such as a charset. */
function baseType(mediaType: string): string {
  return (mediaType.split(';')[0] ?? '').trim().toLowerCase();
}

function lastSegment({ pathname }: URL): string | undefined {
  const last = pathname.split('/').at(-1) || undefined;
  try {
    return last && decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** A name must not look like a part of the text around it. */
function singleLine(name: string | undefined): string | undefined {
  return name?.replace(/[\p{Cc}[\]]+/gu, ' ').trim() || undefined;
}

export function tooLarge(what: string, bytes: number): PocketError {
  return configError(`${what} is too large: it has ${inMegabytes(bytes)}, and a file may have at most 20 MB.`);
}

function inMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function unknownType(name: string | undefined): PocketError {
  return configError(`The type of ${name === undefined ? 'a file' : `"${name}"`} is unknown: give its mediaType.`);
}

export function fileName(name: string | undefined): string {
  return name === undefined ? 'A file' : `The file "${name}"`;
}
