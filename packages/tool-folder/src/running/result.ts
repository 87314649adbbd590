// Converts the return value of a tool method to an MCP result of limited size.
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { errorText, PocketError } from '@pocket-agent/kit';
import type { ToolReturn } from 'pocket-agent';
import { isContentBlock, toCallToolResult } from 'pocket-agent/internal';

export function toResult(tool: string, value: unknown, maxBytes: number): CallToolResult {
  return truncated(asResult(tool, value), maxBytes);
}

function asResult(tool: string, value: unknown): CallToolResult {
  if (value === undefined || value === null || typeof value === 'string') return toCallToolResult(value);
  const plain: unknown = JSON.parse(jsonText(tool, value));
  if (isContentBlock(plain)) return { content: [plain] };
  if (Array.isArray(plain) && plain.length > 0 && plain.every(isContentBlock)) return { content: plain };
  return toCallToolResult(plain as ToolReturn);
}

/** Throws for values that `JSON.stringify` would silently leave out. */
function jsonText(tool: string, value: unknown): string {
  try {
    return JSON.stringify(value, (key, item: unknown) => {
      const kind = notJson(item);
      if (kind) throw new TypeError(key === '' ? kind : `${kind} at "${key}"`);
      return item;
    });
  } catch (error) {
    const reason = /circular/i.test(errorText(error)) ? 'an object that contains itself' : errorText(error);
    const message = `Tool "${tool}" returned a value that is not JSON: ${reason}.`;
    throw new PocketError('TOOL_FAILED', `${message} Return a string, number, object, list or MCP content.`);
  }
}

function notJson(value: unknown): string | undefined {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value === 'bigint') return 'a BigInt';
  if (value instanceof Map) return 'a Map';
  if (value instanceof Set) return 'a Set';
  return value instanceof Promise ? 'a promise' : undefined;
}

function truncated(result: CallToolResult, maxBytes: number): CallToolResult {
  const { structuredContent, ...rest } = result;
  if (sizeOf(result) <= maxBytes) return result;
  if (structuredContent !== undefined) {
    const text: ContentBlock = { type: 'text', text: JSON.stringify(structuredContent) };
    return truncated({ ...rest, content: rest.content.length > 0 ? rest.content : [text] }, maxBytes);
  }
  let left = maxBytes;
  const content = rest.content.map((block): ContentBlock => {
    const own = sizeOf(block);
    if (own <= left) {
      left -= own;
      return block;
    }
    const note = `[truncated: ${own} bytes of ${block.type}, the limit is ${maxBytes} bytes]`;
    const kept = block.type === 'text' ? beginning(block.text, left / own) : '';
    left = 0;
    return { type: 'text', text: kept ? `${kept}\n${note}` : note };
  });
  return { ...rest, content };
}

/** Drops a character that was cut in half, which decodes to the replacement character. */
function beginning(text: string, share: number): string {
  const bytes = Buffer.from(text);
  return bytes
    .subarray(0, bytes.length * share)
    .toString()
    .replace(/\uFFFD+$/, '');
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
