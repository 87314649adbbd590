// Whole results in a file or in memory, and parts of them: a page by its position in bytes, or the places where a text occurs.
import { nextTurn } from '@pocket-agent/kit';

/** A result in a file or in memory. */
export interface ResultSource {
  bytes: number;
  read(from: number, length: number): Promise<Buffer>;
}

/** The call that a result came from. */
export interface ResultOrigin {
  tool: string;
  toolCallId: string;
}

export interface WholeResult extends ResultOrigin {
  text: string;
}

export interface OpenResult extends ResultOrigin, ResultSource {
  close(): Promise<void>;
}

/** Options of `keepResults` that concern any store. */
export interface ResultLimits {
  expiresAfterMs?: number | undefined;
  /** The oldest make room. */
  maxTotalBytes?: number | undefined;
}

export interface ResultStore {
  /** False if the result is too large. */
  keep(id: string, result: WholeResult): Promise<boolean>;
  /** Undefined if the result has expired or made room for others. */
  open(id: string): Promise<OpenResult | undefined>;
  remove(id: string): Promise<void>;
  /** Forgets the results, if the store is of no use after its agent. */
  clear?(): void;
}

export function sourceOf(text: string | Buffer): ResultSource {
  const whole = typeof text === 'string' ? Buffer.from(text) : text;
  return { bytes: whole.length, read: async (from, length) => whole.subarray(from, from + length) };
}

export interface Page {
  text: string;
  /** Positions of the first byte and of the one after the last. */
  from: number;
  to: number;
}

export async function readPage(source: ResultSource, from: number, bytes: number): Promise<Page> {
  const page = await source.read(from, bytes);
  const { start, end } = wholeCharacters(page);
  return { text: page.toString('utf8', start, end), from: from + start, to: from + end };
}

export interface Match {
  /** Position of its first byte. */
  at: number;
  /** The match and the text around it, on one line. */
  text: string;
}

/** Searched in a few milliseconds. */
const CHUNK_BYTES = 64 * 1024;
/** The characters that are shown before and after a match. */
const CONTEXT_CHARACTERS = 100;

/** The first places where a text occurs; upper and lower case are the same. */
export async function searchIn(source: ResultSource, wanted: string, maxMatches: number): Promise<Match[]> {
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'), 'giu');
  // a match may begin in one chunk and end in the next
  const overlap = Buffer.byteLength(wanted) * 2 + CONTEXT_CHARACTERS * 4;
  const matches: Match[] = [];
  for (let from = 0; from < source.bytes; from += CHUNK_BYTES) {
    const begin = Math.max(0, from - CONTEXT_CHARACTERS * 4);
    const page = await readPage(source, begin, CHUNK_BYTES + (from - begin) + overlap);
    for (const { index, 0: found } of page.text.matchAll(pattern)) {
      const at = page.from + Buffer.byteLength(page.text.slice(0, index));
      if (at < from || at >= from + CHUNK_BYTES) continue; // in another chunk
      const around = page.text.slice(
        Math.max(0, index - CONTEXT_CHARACTERS),
        index + found.length + CONTEXT_CHARACTERS,
      );
      matches.push({ at, text: around.replace(/\s+/g, ' ').trim() });
      if (matches.length >= maxMatches) return matches;
    }
    await nextTurn();
  }
  return matches;
}

/** The part of the bytes without characters that are cut off at either end. */
function wholeCharacters(bytes: Buffer): { start: number; end: number } {
  const isContinued = (index: number) => ((bytes[index] ?? 0) & 0b1100_0000) === 0b1000_0000;
  let start = 0;
  while (start < 3 && start < bytes.length && isContinued(start)) start++;
  let last = bytes.length - 1;
  while (last > start && bytes.length - last < 4 && isContinued(last)) last--;
  const first = bytes[last] ?? 0;
  const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return { start, end: last + size > bytes.length ? Math.max(last, start) : bytes.length };
}
