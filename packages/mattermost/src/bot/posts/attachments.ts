// The attachments of a question as files of a run. The text of the question names those that are left out, and why.
import { errorText, isPocketError } from '@pocket-agent/kit';
import type { FileInput } from 'pocket-agent';
import type { ToolContext } from '../../account/account.ts';
import type { Log } from '../../base/log.ts';
import { readBody } from '../../client/body.ts';
import { path } from '../../client/path.ts';
import type { FileRecord } from '../../client/records.ts';

/** All attachments of one question together; pocket-agent takes no larger file. */
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
  /** One line for each that was left out. */
  notes: readonly string[];
}

interface Reading {
  context: Pick<ToolContext, 'api' | 'config'>;
  log: Log;
  allowImages: boolean;
}

export async function readAttachments(
  ids: readonly string[],
  { context, log, allowImages }: Reading,
): Promise<Attachments> {
  const kept: Attachment[] = [];
  const notes: string[] = [];
  let left = Math.min(MAX_BYTES, context.config.maxFileBytes);
  for (const id of ids) {
    let name = id;
    try {
      const info = await context.api.get<FileRecord>(path`/files/${id}/info`);
      name = info.name || id;
      const read = await readAttachment(info, { context, maxBytes: left });
      if (isImage(read) && !allowImages) notes.push(leftOut(name, 'images are not allowed here'));
      else {
        kept.push(read);
        left -= info.size ?? 0;
      }
    } catch (error) {
      log.warning('attachment_not_read', { file_id: id, error: errorText(error).slice(0, 200) });
      const reason = error instanceof TooLarge ? error.message : 'it could not be read';
      notes.push(leftOut(name, reason));
    }
  }
  return { kept, notes };
}

/** Without the attachments that the model does not take; undefined if the run failed for another reason. */
export function withoutRefused({ kept, notes }: Attachments, error: unknown): Attachments | undefined {
  // these details come with a file that was refused before the model was called
  const refused = isPocketError(error, 'FILE_UNSUPPORTED') ? error.details?.mediaType : undefined;
  const left = kept.filter(({ mediaType }) => mediaType !== refused);
  if (left.length === kept.length) return undefined;
  const added = kept
    .filter((each) => !left.includes(each))
    .map(({ name }) => leftOut(name, 'the model does not take it'));
  return { kept: left, notes: [...notes, ...added] };
}

class TooLarge extends Error {}

async function readAttachment(
  { id, name, size, mime_type: declared }: FileRecord,
  { context, maxBytes }: { context: Reading['context']; maxBytes: number },
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

function leftOut(name: string, reason: string): string {
  return `[attachment ${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))} is left out: ${reason}]`;
}

function inMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
