// What a tool returned, turned into what a model may read: every MCP content type, bounded in size, never empty.
import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { PocketError } from './errors.ts';
import { redactSecrets } from './redaction.ts';
import type { ToolCall, ToolContentPart, ToolResult } from './tools.ts';

export interface ToolResultOptions {
  allowImages: boolean;
  maxToolResultBytes: number;
}

export function toToolResult(call: ToolCall, result: CallToolResult, options: ToolResultOptions): ToolResult {
  const parts = (result.content ?? []).map((block) => contentPart(block, options.allowImages));
  if (result.structuredContent !== undefined && !parts.some(looksLikeJson)) {
    parts.push({ type: 'text', text: JSON.stringify(result.structuredContent) });
  }
  const shown = result.isError ? parts.map(withoutSecrets) : parts;
  return {
    toolCallId: call.id,
    toolCallName: call.name,
    toolResultContent: cap(
      shown.length > 0 ? shown : [text('(the tool returned no content)')],
      options.maxToolResultBytes,
    ),
    ...(result.isError ? { isError: true } : {}),
    extra: {
      toolResultRawContent: result.content ?? [],
      ...(result.structuredContent === undefined ? {} : { structuredContent: result.structuredContent }),
      ...(result._meta === undefined ? {} : { meta: result._meta }),
    },
  };
}

/** Errors are shown and logged in many places, and services like to repeat what they were sent. */
function withoutSecrets(part: ToolContentPart): ToolContentPart {
  return part.type === 'text' ? { ...part, text: redactSecrets(part.text) } : part;
}

/** What the tool itself returned; undefined where there was no answer. */
export function returnedIn({ extra, isError }: ToolResult): CallToolResult | undefined {
  const { toolResultRawContent, structuredContent, meta } = extra;
  if (toolResultRawContent === undefined) return undefined;
  return {
    content: toolResultRawContent as CallToolResult['content'],
    ...(structuredContent === undefined ? {} : { structuredContent: structuredContent as Record<string, unknown> }),
    ...(meta === undefined ? {} : { _meta: meta as Record<string, unknown> }),
    ...(isError ? { isError } : {}),
  };
}

export function errorToolResult(
  call: ToolCall,
  message: string,
  error: Error,
  { maxToolResultBytes }: Pick<ToolResultOptions, 'maxToolResultBytes'>,
): ToolResult {
  const toolResultContent = cap([text(message || 'The tool failed without saying why.')], maxToolResultBytes);
  return { toolCallId: call.id, toolCallName: call.name, toolResultContent, isError: true, extra: { error } };
}

export function textResult(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] };
}

/** The text of an MCP result, for people and error messages. */
export function resultText(result: CallToolResult): string {
  return (result.content ?? []).map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
}

/** A result that a hook made: it answers this call, and says something. */
export function checkedResult(call: ToolCall, result: ToolResult | undefined): ToolResult {
  const content: unknown = result?.toolResultContent;
  const isContent = Array.isArray(content) && content.length > 0 && content.every(isPart);
  if (!result || !isContent) {
    throw new PocketError(
      'CONFIG_INVALID',
      `A hook returned no result for "${call.name}": toolResultContent must be a list of text or file parts.`,
    );
  }
  return { ...result, toolCallId: call.id, toolCallName: call.name, extra: result.extra ?? {} };
}

function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null || !('type' in part)) return false;
  return (
    (part.type === 'text' && 'text' in part && typeof part.text === 'string') ||
    (part.type === 'file' && 'data' in part)
  );
}

/** The same content in the form that stands in the history. */
export function toolOutput(result: ToolResult): LanguageModelV4ToolResultOutput {
  const parts = result.toolResultContent;
  if (parts.some((part) => part.type === 'file')) {
    // this form has no place for "it failed", so it is said in words
    return { type: 'content', value: result.isError ? [text('The tool failed:'), ...parts] : parts };
  }
  const value = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n') || '(no content)';
  return { type: result.isError ? 'error-text' : 'text', value };
}

/** Whether it is content that MCP knows, with everything that belongs to it. */
export function isContentBlock(value: unknown): value is ContentBlock {
  if (!isRecord(value)) return false;
  switch (value.type) {
    case 'text':
      return hasText(value, 'text');
    case 'image':
    case 'audio':
      return hasText(value, 'data') && hasText(value, 'mimeType');
    case 'resource_link':
      return hasText(value, 'uri') && hasText(value, 'name');
    case 'resource': {
      const { resource } = value;
      return isRecord(resource) && hasText(resource, 'uri') && (hasText(resource, 'text') || hasText(resource, 'blob'));
    }
    default:
      return false;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function hasText(value: Record<string, unknown>, name: string): boolean {
  return typeof value[name] === 'string';
}

function text(value: string): ToolContentPart {
  return { type: 'text', text: value };
}

function contentPart(block: ContentBlock, allowImages: boolean): ToolContentPart {
  if (!isContentBlock(block)) return text(`[content of an unknown type: ${JSON.stringify(block)}]`);
  switch (block.type) {
    case 'text':
      return text(block.text);
    case 'image':
      return image(block.mimeType, block.data, allowImages);
    case 'audio':
      return text(`[audio ${block.mimeType}, ${base64Bytes(block.data)} bytes: cannot be shown to the model]`);
    case 'resource_link': {
      const about = [block.title ?? block.name, block.mimeType, block.description].filter(Boolean).join(', ');
      return text(`[resource ${block.uri}: ${about}]`);
    }
    case 'resource': {
      const { uri, mimeType } = block.resource;
      if ('text' in block.resource) return text(`[resource ${uri}]\n${block.resource.text}`);
      if (mimeType?.startsWith('image/')) return image(mimeType, block.resource.blob, allowImages);
      const size = base64Bytes(block.resource.blob);
      return text(`[resource ${uri}, ${mimeType ?? 'unknown type'}, ${size} bytes: cannot be shown to the model]`);
    }
  }
}

function image(mediaType: string, data: string, allowImages: boolean): ToolContentPart {
  if (allowImages) return { type: 'file', mediaType, data: { type: 'data', data } };
  return leftOut(mediaType, base64Bytes(data), 'this agent does not take images');
}

function leftOut(mediaType: string, bytes: number, why: string): ToolContentPart {
  return text(`[image ${mediaType}, ${bytes} bytes: left out, ${why}]`);
}

function base64Bytes(data: string): number {
  return Buffer.byteLength(data, 'base64');
}

// Servers should repeat structured content as JSON text; showing it twice would cost the model twice.
function looksLikeJson(part: ToolContentPart): boolean {
  return part.type === 'text' && /^\s*[[{]/.test(part.text);
}

/** A picture costs a model far less than text of its size. */
const PICTURE_BYTES_FOR_ONE = 20;

function cap(given: ToolContentPart[], maxBytes: number): ToolContentPart[] {
  const [only] = given;
  // no character takes more than three bytes
  if (given.length === 1 && only?.type === 'text' && only.text.length * 3 <= maxBytes) return given;
  const parts = capPictures(given, maxBytes * PICTURE_BYTES_FOR_ONE);
  const sizes = parts.map((part) => (part.type === 'text' ? Buffer.byteLength(part.text) : 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= maxBytes) return parts;
  return parts.map((part, index) => {
    const size = sizes[index] ?? 0;
    return part.type === 'text' ? text(headAndTail(part.text, size, Math.floor((maxBytes * size) / total))) : part;
  });
}

/** Half a picture is none. */
function capPictures(parts: ToolContentPart[], maxBytes: number): ToolContentPart[] {
  let left = maxBytes;
  return parts.map((part) => {
    if (part.type === 'text') return part;
    const size = base64Bytes(part.data.data);
    if (size > left) return leftOut(part.mediaType, size, 'it is more than maxToolResultBytes allows');
    left -= size;
    return part;
  });
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
