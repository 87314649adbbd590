// The attachments of a question as files of a run. The text of the question names those that are left out, and why.
import { errorText, isPocketError } from '@pocket-agent/kit';
import type { FileInput } from 'pocket-agent';
import type { ToolContext } from '../../account/account.ts';
import type { Log } from '../../base/log.ts';
import { readBody } from '../../client/body.ts';
import { path } from '../../client/path.ts';
import type { FileRecord } from '../../client/records.ts';

/** All attachments of one question together, and the largest file that pocket-agent accepts. */
const MAX_BYTES = 20 * 1024 * 1024;
/** Text is part of the prompt. */
const MAX_TEXT_BYTES = 256 * 1024;
const MAX_NAME_LENGTH = 100;

export interface Attachment {
  file: FileInput;
  mediaType: string;
  name: string;
}

export interface Attachments {
  kept: readonly Attachment[];
  /** One line for each attachment that was left out. */
  notes: readonly string[];
}

interface ReadOptions {
  context: Pick<ToolContext, 'api' | 'config'>;
  log: Log;
  allowImages: boolean;
}

export async function readAttachments(
  ids: readonly string[],
  { context, log, allowImages }: ReadOptions,
): Promise<Attachments> {
  const kept: Attachment[] = [];
  const notes: string[] = [];
  let remaining = Math.min(MAX_BYTES, context.config.maxFileBytes);
  for (const id of ids) {
    let name = id;
    try {
      const info = await context.api.get<FileRecord>(path`/files/${id}/info`);
      name = info.name || id;
      const read = await readAttachment(info, { context, maxBytes: remaining });
      if (isImage(read) && !allowImages) notes.push(omissionNote(name, 'images are not allowed here'));
      else {
        kept.push(read);
        remaining -= info.size ?? 0;
      }
    } catch (error) {
      log.warning('attachment_not_read', { file_id: id, error: errorText(error).slice(0, 200) });
      const reason = error instanceof TooLarge ? error.message : 'it could not be read';
      notes.push(omissionNote(name, reason));
    }
  }
  return { kept, notes };
}

/** Without the attachments that the model refused; undefined if the run failed for another reason. */
export function withoutRefused({ kept, notes }: Attachments, error: unknown): Attachments | undefined {
  // these details come with a file that was refused before the model was called
  const refused = isPocketError(error, 'FILE_UNSUPPORTED') ? error.details?.mediaType : undefined;
  const accepted = kept.filter(({ mediaType }) => mediaType !== refused);
  if (accepted.length === kept.length) return undefined;
  const added = kept
    .filter((each) => !accepted.includes(each))
    .map(({ name }) => omissionNote(name, 'the model does not support its type'));
  return { kept: accepted, notes: [...notes, ...added] };
}

class TooLarge extends Error {}

async function readAttachment(
  { id, name, size, mime_type: declared }: FileRecord,
  { context, maxBytes }: { context: ReadOptions['context']; maxBytes: number },
): Promise<Attachment> {
  const type = declared?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if ((size ?? 0) > maxBytes) throw new TooLarge(`attachments may have ${inMegabytes(maxBytes)} in all`);
  const data = await context.api.download(path`/files/${id}`, (response) => readBody(response, maxBytes));
  const file: FileInput = {
    data,
    ...(name ? { name } : {}),
    ...(type === '' || type === 'application/octet-stream' ? {} : { mediaType: type }),
  };
  const { filePart } = await import('pocket-agent/internal');
  const part = filePart(file);
  if (part.type === 'text' && data.length > MAX_TEXT_BYTES) throw new TooLarge('text may have 256 kB');
  const mediaType = part.type === 'file' ? part.mediaType : 'text/plain';
  return { file, mediaType, name: name || id };
}

function isImage({ mediaType }: Attachment): boolean {
  return mediaType.startsWith('image/');
}

function omissionNote(name: string, reason: string): string {
  return `[attachment ${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))} is left out: ${reason}]`;
}

function inMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
