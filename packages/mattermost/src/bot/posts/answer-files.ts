// Files that the model generated, such as pictures, in a post after the answer.
import { errorText } from '@pocket-agent/kit';
import { isMattermostError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { MattermostApi } from '../../client/api.ts';
import { multipart } from '../../client/multipart.ts';
import type { FileRecord } from '../../client/records.ts';
import { ANSWER_PROP } from './answer-post.ts';

export interface AnswerFile {
  mediaType: string;
  content: Buffer;
}

interface AnswerFilesOptions {
  api: MattermostApi;
  log: Log;
  channelId: string;
  rootId: string;
  /** Of the answer. */
  pendingId: string;
  maxBytes: number;
}

/** The most that Mattermost allows in a post. */
const MAX_FILES = 10;
const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'image/gif': 'gif',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/webp': 'webp',
  'application/json': 'json',
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/plain': 'txt',
  'video/mp4': 'mp4',
};

/** Key of the post with the files. */
export function filesKey(pendingId: string): string {
  return `${pendingId}:files`;
}

/** Files that cannot be uploaded are named in the post. */
export async function postFiles(files: readonly AnswerFile[], options: AnswerFilesOptions): Promise<void> {
  if (files.length === 0) return;
  const { api, channelId, rootId, pendingId } = options;
  const ids: string[] = [];
  const notes: string[] = [];
  for (const [index, file] of files.entries()) {
    const name = nameOf(file, index);
    try {
      if (index >= MAX_FILES) throw new LeftOut(`a post has at most ${MAX_FILES} files`);
      ids.push(await upload(file, name, options));
    } catch (error) {
      if (!(error instanceof LeftOut) && !isMattermostError(error)) throw error;
      options.log.warning('file_not_sent', { name, error: errorText(error).slice(0, 200) });
      const reason = error instanceof LeftOut ? error.message : 'it could not be uploaded';
      notes.push(`*(${name} is left out: ${reason})*`);
    }
  }
  const post = { channel_id: channelId, root_id: rootId, message: notes.join('\n'), file_ids: ids };
  await api.createPost({ ...post, pending_post_id: filesKey(pendingId) }, ANSWER_PROP);
}

class LeftOut extends Error {}

async function upload(
  { content }: AnswerFile,
  filename: string,
  { api, channelId, maxBytes }: AnswerFilesOptions,
): Promise<string> {
  if (content.length > maxBytes) throw new LeftOut('it is too large');
  const form = multipart(
    { channel_id: channelId },
    { field: 'files', filename, size: content.length, open: () => [content] },
  );
  const { file_infos } = await api.upload<{ file_infos?: FileRecord[] | null }>('/files', form);
  const [uploaded] = file_infos ?? [];
  if (uploaded) return uploaded.id;
  throw new LeftOut('Mattermost did not accept it');
}

function nameOf({ mediaType }: AnswerFile, index: number): string {
  return `file-${index + 1}.${EXTENSIONS[mediaType] ?? 'bin'}`;
}
