// Converts the outcome of a remote call to a tool result: its artifacts, or its last message without artifacts.
import { isUtf8 } from 'node:buffer';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { isRecord, isTextual, PocketError } from '@pocket-agent/kit';
import type { TaskCollector } from '../client/task-collector.ts';
import { type Part, type TaskStateName, textOfParts } from '../wire/task.ts';

type Block = CallToolResult['content'][number];

interface ResultOptions {
  /** The name of the remote agent. */
  name: string;
  maxBytes: number;
  /** Where files are saved. */
  folder: string | undefined;
}

export async function remoteResult(
  { status, message, artifacts, isTruncated, taskId }: TaskCollector,
  { name, maxBytes, folder }: ResultOptions,
): Promise<CallToolResult> {
  const messageParts = status?.message?.parts ?? message?.parts ?? [];
  switch (status?.state) {
    case 'auth-required':
      throw new PocketError(
        'TOOL_FAILED',
        `The A2A agent ${name} wants you to log in first: ${textOfParts(messageParts)}`,
      );
    case 'input-required': {
      const howTo = `To answer, call this tool again with taskId "${taskId}" and the answer as the message.`;
      return {
        content: bounded(
          [{ text: `${name} asks a question before it continues:` }, ...messageParts, { text: howTo }],
          maxBytes,
        ),
      };
    }
    default: {
      const artifactParts = artifacts.flatMap(({ parts }) => parts);
      const received = artifactParts.length > 0 ? artifactParts : messageParts;
      const parts = folder === undefined ? received : await withSavedFiles(received, folder);
      const isDone = status === undefined || status.state === 'completed';
      if (isDone) return { content: bounded(parts, maxBytes, isTruncated), ...structured(parts, maxBytes) };
      const ending = `The task of ${name} ${endings[status.state] ?? `ended as ${status.state}`}.`;
      return { isError: true, content: bounded([{ text: ending }, ...messageParts], maxBytes) };
    }
  }
}

/** Files are saved; pictures and text files are also shown. */
async function withSavedFiles(parts: readonly Part[], folder: string): Promise<Part[]> {
  const { MAX_FILE_BYTES, MAX_FILES, saveFile } = await import('./remote-files.ts');
  const shown: Part[] = [];
  let count = 0;
  for (const part of parts) {
    const { text, mediaType = '', filename } = part;
    // text with a name is a file, too
    const raw = part.raw ?? (filename && text !== undefined ? Buffer.from(text).toString('base64') : undefined);
    const isShown = raw === undefined || mediaType.startsWith('image/') || fileText(raw, mediaType) !== undefined;
    if (isShown) shown.push(part);
    if (raw === undefined) continue;
    const bytes = Buffer.byteLength(raw, 'base64');
    const isTooMuch = bytes > MAX_FILE_BYTES || ++count > MAX_FILES;
    const saved = isTooMuch
      ? 'too large or too many to be saved'
      : `saved as ${await saveFile(folder, { raw, filename })}`;
    shown.push({ text: `(${[filename, mediaType, `${bytes} bytes`].filter(Boolean).join(', ')}: ${saved})` });
  }
  return shown;
}

const endings: Partial<Record<TaskStateName, string>> = {
  failed: 'failed',
  canceled: 'was canceled',
  rejected: 'was rejected',
};

/** The data part, if there is exactly one and it was not truncated. */
function structured(parts: readonly Part[], maxBytes: number): Pick<CallToolResult, 'structuredContent'> {
  const [only, ...others] = parts.filter(({ data }) => data !== undefined);
  const { data } = only ?? {};
  if (!isRecord(data) || others.length > 0) return {};
  return Buffer.byteLength(JSON.stringify(data)) <= maxBytes ? { structuredContent: data } : {};
}

function bounded(parts: readonly Part[], maxBytes: number, isCut = false): Block[] {
  const note = `… (cut: the answer is longer than ${maxBytes} bytes)`;
  const blocks: Block[] = [];
  let remaining = maxBytes;
  for (const part of parts) {
    const block = blockOf(part);
    const text = block.type === 'text' ? block.text : undefined;
    const size = Buffer.byteLength(text ?? part.raw ?? '');
    if (size > remaining) {
      const kept = text === undefined ? '' : Buffer.from(text).subarray(0, remaining).toString('utf8');
      return [...blocks, { type: 'text', text: kept + note }];
    }
    remaining -= size;
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
  // the URL is untrusted, so it is named but not fetched
  return {
    type: 'text',
    text: url === undefined ? `(${[filename, mediaType].filter(Boolean).join(', ')})` : `(${filename} at ${url})`,
  };
}

/** The content of a text file. A file without a type is text if it is valid UTF-8. */
function fileText(raw: string, mediaType: string): string | undefined {
  const bytes = Buffer.from(raw, 'base64');
  if (isTextual(mediaType)) return bytes.toString('utf8');
  return mediaType === '' && isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
}
