// What a remote agent came to, as the result of a tool: what it made rather than what it said on the way.
import { isUtf8 } from 'node:buffer';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import { isTextual, type Part, type TaskState, textOfParts } from '../wire/wire.ts';
import type { RemoteCall } from './remote-call.ts';

type Block = CallToolResult['content'][number];

export function remoteResult(
  {
    status,
    message,
    artifacts,
    isCut,
    taskId,
  }: Pick<RemoteCall, 'status' | 'message' | 'artifacts' | 'isCut' | 'taskId'>,
  { name, maxBytes }: { name: string; maxBytes: number },
): CallToolResult {
  const said = status?.message?.parts ?? message?.parts ?? [];
  switch (status?.state) {
    case 'TASK_STATE_AUTH_REQUIRED':
      throw new PocketError(
        'TOOL_FAILED',
        `The A2A agent ${name} wants somebody to log in first: ${textOfParts(said)}`,
      );
    case 'TASK_STATE_INPUT_REQUIRED': {
      const howTo = `To answer, call this tool again with taskId "${taskId}" and the answer as the message.`;
      return {
        content: bounded(
          [{ text: `${name} wants to know something before it goes on:` }, ...said, { text: howTo }],
          maxBytes,
        ),
      };
    }
    default: {
      const made = artifacts.flatMap(({ parts = [] }) => parts);
      const parts = made.length > 0 ? made : said;
      const isDone = status === undefined || status.state === 'TASK_STATE_COMPLETED';
      if (isDone) return { content: bounded(parts, maxBytes, isCut), ...structured(parts, maxBytes) };
      const ending = `The task of ${name} ${endings[status.state] ?? `ended as ${status.state}`}.`;
      return { isError: true, content: bounded([{ text: ending }, ...said], maxBytes) };
    }
  }
}

const endings: Partial<Record<TaskState, string>> = {
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'was cancelled',
  TASK_STATE_REJECTED: 'was rejected',
};

/** The only data there is, if it is whole. */
function structured(parts: readonly Part[], maxBytes: number): Pick<CallToolResult, 'structuredContent'> {
  const [only, ...others] = parts.filter(({ data }) => data !== undefined);
  const { data } = only ?? {};
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  const isWhole = isObject && Buffer.byteLength(JSON.stringify(data)) <= maxBytes;
  return isWhole && others.length === 0 ? { structuredContent: { ...data } } : {};
}

function bounded(parts: readonly Part[], maxBytes: number, isCut = false): Block[] {
  const note = `… (cut: the answer is longer than ${maxBytes} bytes)`;
  const blocks: Block[] = [];
  let left = maxBytes;
  for (const part of parts) {
    const block = blockOf(part);
    const text = block.type === 'text' ? block.text : undefined;
    const size = Buffer.byteLength(text ?? part.raw ?? '');
    if (size > left) {
      const kept = text === undefined ? '' : Buffer.from(text).subarray(0, left).toString('utf8');
      return [...blocks, { type: 'text', text: kept + note }];
    }
    left -= size;
    blocks.push(block);
  }
  if (isCut) return [...blocks, { type: 'text', text: note }];
  return blocks.length > 0 ? blocks : [{ type: 'text', text: 'No result returned' }];
}

function blockOf({ text, raw, url, data, mediaType = '', filename = 'file' }: Part): Block {
  const content = raw === undefined ? undefined : fileText(raw, mediaType);
  if (content !== undefined) return { type: 'text', text: `${filename}:\n${content}` };
  if (text !== undefined) return { type: 'text', text };
  if (data !== undefined) return { type: 'text', text: JSON.stringify(data) };
  if (raw !== undefined && mediaType.startsWith('image/')) return { type: 'image', data: raw, mimeType: mediaType };
  // what an address leads to is a stranger's choice, so nobody goes there unasked
  return {
    type: 'text',
    text: url === undefined ? `(${[filename, mediaType].filter(Boolean).join(', ')})` : `(${filename} at ${url})`,
  };
}

/** The content of a text file. One without a type is text if all of it reads as UTF-8. */
function fileText(raw: string, mediaType: string): string | undefined {
  const bytes = Buffer.from(raw, 'base64');
  if (isTextual(mediaType)) return bytes.toString('utf8');
  return mediaType === '' && isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
}
