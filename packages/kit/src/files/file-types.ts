// Media types of files: by their bytes, by the ending of their name, and which of them are text. Images as providers take
// them: plain base64 with the type that the bytes have, whatever was declared.

/** Whether bytes of this type are text that a model can read. */
export function isTextual(mediaType = ''): boolean {
  return /^(text\/|application\/([\w.-]+\+)?(json|xml|yaml|x-yaml|x-ndjson|toml|javascript|sql)\b)/i.test(mediaType);
}

/** Whether a type is one of `types`, in which `audio/*` stands for all audio. */
export function matchesType(mediaType: string, types: readonly string[]): boolean {
  const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  return types.some((each) => (each.endsWith('/*') ? type.startsWith(each.slice(0, -1)) : type === each));
}

/** A file in an error text, by its name if it has one. */
export function shownFile({ mediaType, filename }: { mediaType: string; filename?: string | undefined }): string {
  return filename ? `${JSON.stringify(filename)} (${mediaType})` : `a file of type ${mediaType}`;
}

const endings: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  heic: 'image/heic',
  heif: 'image/heif',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  aiff: 'audio/aiff',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  mpeg: 'video/mpeg',
  mpg: 'video/mpeg',
  webm: 'video/webm',
  avi: 'video/avi',
  wmv: 'video/wmv',
  flv: 'video/x-flv',
  '3gp': 'video/3gpp',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  xml: 'text/xml',
  css: 'text/css',
  js: 'text/javascript',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

export function typeOfName(name = ''): string | undefined {
  const [, ending = ''] = /\.([a-z0-9]+)$/.exec(name.toLowerCase()) ?? [];
  return Object.hasOwn(endings, ending) ? endings[ending] : undefined;
}

/** How formats begin, as Latin-1 text. */
const signatures: readonly (readonly [RegExp, string])[] = [
  [/^%PDF-/, 'application/pdf'],
  [/^RIFF....WAVE/s, 'audio/wav'],
  [/^(ID3|\xff[\xfb\xf3\xf2])/, 'audio/mpeg'],
  [/^OggS/, 'audio/ogg'],
  [/^fLaC/, 'audio/flac'],
  [/^....ftyp(isom|iso[2-6]|mp4|avc1|M4V|MSNV)/s, 'video/mp4'],
];
const SIGNATURE_BYTES = 48;
const OPEN_ANGLE = 60;

/** Undefined for text, and for bytes of no known format. */
export function typeOfBytes(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, SIGNATURE_BYTES));
  if (start[0] === OPEN_ANGLE) return undefined; // SVG, and XML that begins like it
  const latin = start.toString('latin1');
  return signatures.find(([pattern]) => pattern.test(latin))?.[1] ?? imageTypeOfBase64(start.toString('base64'));
}

/** The bytes as text; undefined if they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first bytes of each format, as they look in base64. */
const imageSignatures: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR/, 'image/webp'],
  [/^Qk[0-3]/, 'image/bmp'],
  [/^(SUkqA|TU0AK)/, 'image/tiff'],
  [/^.{5}mdHlwaGVp/, 'image/heic'],
  [/^.{5}mdHlwbWlm/, 'image/heif'],
  [/^.{5}mdHlwYXZpZ/, 'image/avif'],
  [/^(PHN2Z|PD94b|PCFET)/, 'image/svg+xml'],
];

/** Undefined for bytes of no known format. */
export function imageTypeOfBase64(base64: string): string | undefined {
  return imageSignatures.find(([start]) => start.test(base64))?.[1];
}

/** Providers refuse line breaks and the URL-safe alphabet. */
export function standardBase64(data: string): string {
  return /[\s_-]/.test(data) ? data.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/') : data;
}

export function isBase64(data: string): boolean {
  return data.length > 0 && !/[^A-Za-z0-9+/=]/.test(data);
}
