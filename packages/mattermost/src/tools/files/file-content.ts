// A file as content for a model: an image or a piece of text.
import { isUtf8 } from 'node:buffer';
import type { ToolContext } from '../../account/account.ts';
import { MattermostError } from '../../base/errors.ts';
import { readBody } from '../../client/body.ts';
import { path } from '../../client/path.ts';
import type { FileRecord } from '../../client/records.ts';
import { omitEmpty, truncateText } from '../base/compact.ts';
import { ContentResult } from '../base/tool.ts';

/** Models and clients reject larger images. */
const MAX_IMAGE_BYTES = 5_000_000;
const MAX_TEXT_BYTES = 10_000_000;
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

interface ContentRequest {
  fileId: string;
  offset: number;
  maxChars: number;
}

export async function readContent(
  { api }: ToolContext,
  { fileId, offset, maxChars }: ContentRequest,
): Promise<ContentResult> {
  const info = await api.get<FileRecord>(path`/files/${fileId}/info`);
  const type = info.mime_type?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isImage = IMAGE_TYPES.includes(type);
  const maxBytes = isImage ? MAX_IMAGE_BYTES : MAX_TEXT_BYTES;
  if ((info.size ?? 0) > maxBytes) throw unreadable(info, `has ${info.size} bytes; at most ${maxBytes} can be shown`);
  if (!isImage && /^(image|audio|video)\//.test(type) && type !== 'image/svg+xml') throw unreadable(info, `is ${type}`);
  const body = await api.download(path`/files/${fileId}`, (response) => readBody(response, maxBytes));
  const facts = omitEmpty({ id: info.id, name: info.name, mime_type: info.mime_type });
  if (isImage) {
    const image = { type: 'image' as const, data: body.toString('base64'), mimeType: type };
    return new ContentResult([image], { ...facts, size: body.length });
  }
  if (!isUtf8(body) || body.includes(0)) throw unreadable(info, 'is neither text nor an image');
  const content = body.toString('utf8');
  const text = truncateText(content.slice(offset), maxChars);
  const end = offset + text.length;
  const rest =
    end < content.length ? { truncated: true, next: { offset: end, max_chars: maxChars } } : { truncated: false };
  return new ContentResult([{ type: 'text', text }], { ...facts, size: body.length, text, ...rest });
}

function unreadable({ name, id }: FileRecord, why: string): MattermostError {
  return new MattermostError('FILE_FAILED', `File error: "${name || id}" ${why}. Use download_file.`);
}
