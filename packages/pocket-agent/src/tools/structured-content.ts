// What structured content adds to the content beside it: servers repeat there what they have shown already.
import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/client';

/** Shorter strings are repeated rather than pointed to. */
const SHORTEST_REFERENCE = 100;
const ABOVE = '(shown above)';

/** JSON of what is not in the content already; undefined when all of it is. */
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
  return typeof value === 'string' && value.length >= SHORTEST_REFERENCE;
}

/** A copy that points to what is shown, and has only the size of pictures and sound. */
function withoutBinary(value: unknown, shown: ReadonlySet<unknown>): unknown {
  if (shown.has(value)) return ABOVE;
  if (Array.isArray(value)) return value.map((item) => withoutBinary(item, shown));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutBinary(item, shown)] as const);
  const copy = Object.fromEntries(entries);
  const isBinary = (value.type === 'image' || value.type === 'audio') && isLong(value.data) && copy.data !== ABOVE;
  return isBinary ? { ...copy, data: `(${Buffer.byteLength(String(value.data), 'base64')} bytes left out)` } : copy;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
