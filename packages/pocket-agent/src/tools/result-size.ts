// Keeps a tool result within `maxToolResultBytes`.
import type { ToolContentPart } from '../base/tool-call.ts';

/** Images may be this many times as large as text, because they cost a model far less. */
const IMAGE_SIZE_FACTOR = 20;
const MAX_IMAGES = 100;
/** More text blocks than these are joined: the overhead per block would exceed its text. */
const MAX_TEXTS = 100;

export function capped(given: readonly ToolContentPart[], maxBytes: number): ToolContentPart[] {
  const [only] = given;
  // no character takes more than three bytes
  if (given.length === 1 && only?.type === 'text' && only.text.length * 3 <= maxBytes) return [only];
  const withFewImages = cappedImages(given, maxBytes * IMAGE_SIZE_FACTOR);
  const isMany = withFewImages.filter(({ type }) => type === 'text').length > MAX_TEXTS;
  const parts = isMany ? joined(withFewImages) : withFewImages;
  const total = sizeOf(parts);
  if (total <= maxBytes) return parts;
  return parts.map((part) => {
    if (part.type !== 'text') return part;
    const size = Buffer.byteLength(part.text);
    return text(headAndTail(part.text, size, Math.floor((maxBytes * size) / total)));
  });
}

/** The full text of a result that `capped` cuts; undefined for others. */
export function fullTextIfCut(given: readonly ToolContentPart[], maxBytes: number): string | undefined {
  const only = given[0];
  if (given.length === 1 && only?.type === 'text' && only.text.length * 3 <= maxBytes) return undefined;
  if (sizeOf(given) <= maxBytes) return undefined;
  return given.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

export function leftOut(mediaType: string, bytes: number, why: string): ToolContentPart {
  return text(`[image ${mediaType}, ${bytes} bytes: left out, ${why}]`);
}

export function base64Bytes(data: string): number {
  return Buffer.byteLength(data, 'base64');
}

function sizeOf(parts: readonly ToolContentPart[]): number {
  return parts.reduce((sum, part) => sum + (part.type === 'text' ? Buffer.byteLength(part.text) : 0), 0);
}

/** Images are dropped, never truncated. */
function cappedImages(parts: readonly ToolContentPart[], maxBytes: number): ToolContentPart[] {
  let left = maxBytes;
  let count = 0;
  return parts.map((part) => {
    if (part.type === 'text') return part;
    const size = base64Bytes(part.data.data);
    if (size === 0) return leftOut(part.mediaType, size, 'it is empty');
    if (size > left) return leftOut(part.mediaType, size, 'it is more than maxToolResultBytes allows');
    if (++count > MAX_IMAGES) return leftOut(part.mediaType, size, `there are more than ${MAX_IMAGES}`);
    left -= size;
    return part;
  });
}

/** Joins consecutive texts. */
function joined(parts: readonly ToolContentPart[]): ToolContentPart[] {
  const groups: (string[] | ToolContentPart)[] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (part.type !== 'text') groups.push(part);
    else if (Array.isArray(last)) last.push(part.text);
    else groups.push([part.text]);
  }
  return groups.map((group) => (Array.isArray(group) ? text(group.join('\n')) : group));
}

function text(value: string): ToolContentPart {
  return { type: 'text', text: value };
}

function headAndTail(value: string, size: number, budget: number): string {
  if (size <= budget) return value;
  const bytes = Buffer.from(value);
  const half = Math.floor(budget / 2);
  // a cut inside a character decodes to the replacement character, which is dropped
  const head = bytes
    .subarray(0, half)
    .toString()
    .replace(/\uFFFD+$/, '');
  const tail = bytes
    .subarray(size - half)
    .toString()
    .replace(/^\uFFFD+/, '');
  return `${head}\n[... ${size - 2 * half} of ${size} bytes left out here ...]\n${tail}`;
}
