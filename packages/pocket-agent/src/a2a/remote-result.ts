// What a remote agent came to, as the result of a tool: what it made rather than what it said on the way.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { PocketError } from '../errors.ts';
import type { RemoteCall } from './remote-call.ts';
import { type Part, textOfParts } from './wire.ts';

type Block = CallToolResult['content'][number];

export function remoteResult(
  { status, message, artifacts, taskId }: Pick<RemoteCall, 'status' | 'message' | 'artifacts' | 'taskId'>,
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
      if (isDone) return { content: bounded(parts, maxBytes), ...structured(parts) };
      const state = status.state.replace('TASK_STATE_', '').toLowerCase();
      return { isError: true, content: bounded([{ text: `The task of ${name} was ${state}.` }, ...said], maxBytes) };
    }
  }
}

function structured(parts: readonly Part[]): Pick<CallToolResult, 'structuredContent'> {
  const [only, ...others] = parts.filter(({ data }) => data !== undefined);
  const { data } = only ?? {};
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  return isObject && others.length === 0 ? { structuredContent: { ...data } } : {};
}

function bounded(parts: readonly Part[], maxBytes: number): Block[] {
  const blocks: Block[] = [];
  let left = maxBytes;
  for (const part of parts) {
    const block = blockOf(part);
    const text = block.type === 'text' ? block.text : undefined;
    const size = Buffer.byteLength(text ?? part.raw ?? '');
    if (size > left) {
      const kept = text === undefined ? '' : Buffer.from(text).subarray(0, left).toString('utf8');
      blocks.push({ type: 'text', text: `${kept}… (cut: the answer is longer than ${maxBytes} bytes)` });
      break;
    }
    left -= size;
    blocks.push(block);
  }
  return blocks.length > 0 ? blocks : [{ type: 'text', text: 'No result returned' }];
}

function blockOf({ text, raw, url, data, mediaType = '', filename = 'file' }: Part): Block {
  if (text !== undefined) return { type: 'text', text };
  if (data !== undefined) return { type: 'text', text: JSON.stringify(data) };
  if (raw !== undefined && mediaType.startsWith('image/')) return { type: 'image', data: raw, mimeType: mediaType };
  // what an address leads to is a stranger's choice, so nobody goes there unasked
  return { type: 'text', text: url === undefined ? `(${filename}, ${mediaType})` : `(${filename} at ${url})` };
}
