// Converts tool results into text and files for the model: every MCP content type, limited in size, never empty.
import type { JSONObject, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import {
  configError,
  deepFreeze,
  errorText,
  isRecord,
  redactData,
  redactError,
  redactSecrets,
  snapshot,
} from '@pocket-agent/kit';
import { type ToolMessage, toolMessage } from '../base/messages.ts';
import type { ToolCall, ToolContentPart, ToolResult } from '../base/tool-call.ts';
import type { InnerCall } from './inner-calls.ts';
import { base64Bytes, capped, fullTextIfCut, leftOut } from './result-size.ts';
import { addedByStructure } from './structured-content.ts';

export interface ToolResultOptions {
  allowImages: boolean;
  maxToolResultBytes: number;
}

interface ReadResult {
  result: ToolResult;
  /** Set if the text of the result was cut. */
  fullText: string | undefined;
}

export function toToolResult(call: ToolCall, result: CallToolResult, options: ToolResultOptions): ReadResult {
  const content = result.content ?? [];
  const parts = content.map((block) => contentPart(block, options.allowImages));
  const added = addedByStructure(result);
  if (added !== undefined) parts.push(text(added));
  const { isError, structuredContent, _meta: meta } = result;
  const shown = isError ? parts.map(withoutSecrets) : parts;
  const read: ToolResult = {
    toolCallId: call.id,
    toolCallName: call.name,
    toolResultContent: capped(
      shown.length > 0 ? shown : [text('(the tool returned no content)')],
      options.maxToolResultBytes,
    ),
    ...(isError ? { isError: true } : {}),
    extra: {
      toolResultRawContent: isError ? content.map(withoutSecrets) : content,
      ...(structuredContent === undefined
        ? {}
        : { structuredContent: isError ? redactData(structuredContent) : structuredContent }),
      ...(meta === undefined ? {} : { meta: isError ? redactData(meta) : meta }),
    },
  };
  return { result: read, fullText: fullTextIfCut(shown, options.maxToolResultBytes) };
}

/** Errors are shown and logged in many places, and services often echo the request. */
function withoutSecrets<Part extends ContentBlock | ToolContentPart>(part: Part): Part {
  return part.type === 'text' && typeof part.text === 'string' ? { ...part, text: redactSecrets(part.text) } : part;
}

/** The tool's own result; undefined if the tool did not return one. */
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

interface FailedCall {
  error: Error;
  /** The text for the model. Default: that of the error. */
  message?: string;
  settings: Pick<ToolResultOptions, 'maxToolResultBytes'>;
}

/** Redacts secrets in `error` itself, since the result is in events. */
export function errorToolResult(call: ToolCall, { error, message, settings }: FailedCall): ToolResult {
  redactError(error);
  const shown = (message ?? errorText(error)) || 'The tool failed without saying why.';
  const toolResultContent = capped([text(shown)], settings.maxToolResultBytes);
  return { toolCallId: call.id, toolCallName: call.name, toolResultContent, isError: true, extra: { error } };
}

export function textResult(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] };
}

export function errorResult(text: string): CallToolResult {
  return { ...textResult(text), isError: true };
}

/** The text of an MCP result, for people and error messages. */
export function resultText(result: CallToolResult): string {
  return (result.content ?? []).map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
}

/** Checks a result returned by a hook and sets the ids of this call. */
export function checkedResult(call: ToolCall, result: ToolResult | undefined): ToolResult {
  const content: unknown = result?.toolResultContent;
  const isContent = Array.isArray(content) && content.length > 0 && content.every(isPart);
  if (!result || !isContent) {
    throw configError(
      `A hook returned no result for "${call.name}": toolResultContent must be a list of text parts or file parts with mediaType and data.`,
    );
  }
  return { ...result, toolCallId: call.id, toolCallName: call.name, extra: result.extra ?? {} };
}

function isPart(part: unknown): boolean {
  if (!isRecord(part)) return false;
  if (part.type === 'text') return hasText(part, 'text');
  if (part.type !== 'file' || !isRecord(part.data)) return false;
  return hasText(part, 'mediaType') && part.data.type === 'data' && hasText(part.data, 'data');
}

function toolOutput(result: ToolResult): LanguageModelV4ToolResultOutput {
  const parts = result.toolResultContent;
  if (parts.some((part) => part.type === 'file')) {
    // this type has no error flag
    return { type: 'content', value: snapshot(result.isError ? [text('The tool failed:'), ...parts] : parts) };
  }
  const value = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n') || '(no content)';
  return { type: result.isError ? 'error-text' : 'text', value };
}

/** A result as a message of the history. The model knows the call by `name`; a hook may have called another tool. */
export function resultMessage(name: string, result: ToolResult): ToolMessage {
  return deepFreeze(toolMessage(result.toolCallId, name, toolOutput(result), callLog(result)));
}

/** The history lists this many calls of one tool call, and counts the others. */
const MAX_LISTED = 100;

/** The log of the calls that a tool made: the first ones one by one, the others counted by tool and outcome. */
function callLog({ extra }: ToolResult): JSONObject[] | undefined {
  const calls = extra.toolCalls as readonly InnerCall[] | undefined;
  if (!calls?.length) return undefined;
  const others = Map.groupBy(calls.slice(MAX_LISTED), ({ toolName, outcome }) => `${outcome} ${toolName}`);
  const counted = [...others.values()].flatMap((group) => {
    const [first] = group;
    return first ? [{ toolName: first.toolName, outcome: first.outcome, calls: group.length }] : [];
  });
  return [...calls.slice(0, MAX_LISTED).map((call) => ({ ...call })), ...counted];
}

/** Whether the value is a complete MCP content block. */
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
