// Structured content without what the other content shows: servers usually repeat the same data in both.
import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { isRecord } from '@pocket-agent/kit';

/** Shorter strings are repeated. */
const MIN_REFERENCE_LENGTH = 100;
const ABOVE = '(shown above)';

/** JSON of the structured content that the other content does not show; undefined if it shows all of it. */
export function addedByStructure({ content = [], structuredContent }: CallToolResult): string | undefined {
  if (structuredContent === undefined) return undefined;
  if (content.length === 0) return JSON.stringify(withoutBinary(structuredContent, new Set()));
  const shown = content.map(shownBy);
  if (isShown(structuredContent, content, shown)) return undefined;
  const [only, ...others] = isRecord(structuredContent) ? Object.values(structuredContent) : [];
  // servers wrap a result that is not an object: { "result": … }, { "content": … }
  if (others.length === 0 && only !== undefined && isShown(only, content, shown)) return undefined;
  return JSON.stringify(withoutBinary(structuredContent, new Set(shown.filter(isLong))));
}

/** The text or the data of a block. */
function shownBy(block: unknown): unknown {
  if (!isRecord(block)) return undefined;
  const { resource } = block;
  return block.text ?? block.data ?? (isRecord(resource) ? (resource.text ?? resource.blob) : undefined);
}

/** As one block, as all blocks together, or item by item. */
function isShown(value: unknown, content: readonly unknown[], shown: readonly unknown[]): boolean {
  if (shown.some((text) => isSame(text, value)) || isDeepStrictEqual(value, content)) return true;
  return Array.isArray(value) && value.length === shown.length && value.every((item, at) => isSame(shown[at], item));
}

function isSame(shown: unknown, value: unknown): boolean {
  if (shown === value) return true;
  if (typeof shown !== 'string' || typeof value === 'string') return false;
  try {
    return isDeepStrictEqual(JSON.parse(shown), value);
  } catch {
    return false; // text that is not JSON
  }
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' && value.length >= MIN_REFERENCE_LENGTH;
}

/** A copy that refers to text shown above, and has only the size of images and audio. */
function withoutBinary(value: unknown, shown: ReadonlySet<unknown>): unknown {
  if (shown.has(value)) return ABOVE;
  if (Array.isArray(value)) return value.map((item) => withoutBinary(item, shown));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutBinary(item, shown)] as const);
  const copy = Object.fromEntries(entries);
  const isBinary = (value.type === 'image' || value.type === 'audio') && isLong(value.data) && copy.data !== ABOVE;
  return isBinary ? { ...copy, data: `(${Buffer.byteLength(String(value.data), 'base64')} bytes left out)` } : copy;
}
