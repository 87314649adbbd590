// A file as content that a model can look at: a picture, or a piece of text.
import { isUtf8 } from 'node:buffer';
import type { ToolContext } from '../../account/caller.ts';
import { MattermostError } from '../../base/errors.ts';
import { readBody } from '../../client/api.ts';
import { path } from '../../client/path.ts';
import type { FileRecord } from '../../client/records.ts';
import { cutText, tidy } from '../base/compact.ts';
import { RichResult } from '../base/tool.ts';

/** Models and clients refuse larger pictures. */
const LARGEST_PICTURE = 5_000_000;
const LARGEST_TEXT = 10_000_000;
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

interface ContentRequest {
  fileId: string;
  offset: number;
  maxChars: number;
}

export async function readContent(
  { api }: ToolContext,
  { fileId, offset, maxChars }: ContentRequest,
): Promise<RichResult> {
  const info = await api.get<FileRecord>(path`/files/${fileId}/info`);
  const type = info.mime_type?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isPicture = PICTURES.includes(type);
  const largest = isPicture ? LARGEST_PICTURE : LARGEST_TEXT;
  if ((info.size ?? 0) > largest) throw unreadable(info, `has ${info.size} bytes; at most ${largest} can be shown`);
  if (!isPicture && /^(image|audio|video)\//.test(type) && type !== 'image/svg+xml')
    throw unreadable(info, `is ${type}`);
  const body = await api.download(path`/files/${fileId}`, (response) => readBody(response, largest));
  const facts = tidy({ id: info.id, name: info.name, mime_type: info.mime_type });
  if (isPicture) {
    const picture = { type: 'image' as const, data: body.toString('base64'), mimeType: type };
    return new RichResult([picture], { ...facts, size: body.length });
  }
  if (!isUtf8(body) || body.includes(0)) throw unreadable(info, 'is neither text nor a picture');
  const whole = body.toString('utf8');
  const text = cutText(whole.slice(offset), maxChars);
  const end = offset + text.length;
  const rest =
    end < whole.length ? { truncated: true, next: { offset: end, max_chars: maxChars } } : { truncated: false };
  return new RichResult([{ type: 'text', text }], { ...facts, size: body.length, text, ...rest });
}

function unreadable({ name, id }: FileRecord, why: string): MattermostError {
  return new MattermostError('FILE_FAILED', `File error: "${name || id}" ${why}. Use download_file.`);
}
