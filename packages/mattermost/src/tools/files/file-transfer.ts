// Uploads and downloads: streamed, with progress and a size limit.
import type { ToolContext } from '../../account/account.ts';
import { MattermostError } from '../../base/errors.ts';
import { multipart } from '../../client/multipart.ts';
import { path } from '../../client/path.ts';
import type { FileRecord } from '../../client/records.ts';
import { omitEmpty } from '../base/compact.ts';
import { type ConflictRule, tooLarge, writeInRoots } from './file-access.ts';
import { type SourceArguments, withSource } from './file-source.ts';

/** Uploads a file to a channel. */
export function uploadFile(
  context: ToolContext,
  { channel_id, ...source }: SourceArguments & { channel_id: string },
): Promise<FileRecord> {
  const { api, progress } = context;
  return withSource(context, source, async ({ name, size, read }) => {
    const form = multipart(
      { channel_id },
      { field: 'files', filename: name, size, open: () => withProgress(read(), (done) => progress(done, size)) },
    );
    const answer = await api.upload<{ file_infos?: FileRecord[] | null }>('/files', form);
    const [uploaded] = answer.file_infos ?? [];
    if (uploaded) return uploaded;
    throw new MattermostError('ANSWER_INVALID', 'Mattermost accepted the file but did not return its id; try again.');
  });
}

interface DownloadRequest {
  file_id: string;
  destination_dir: string;
  filename?: string | undefined;
  on_conflict: ConflictRule;
}

export async function downloadFile(context: ToolContext, request: DownloadRequest): Promise<object> {
  const { fileRoots, maxFileBytes } = context.config;
  const info = await context.api.get<FileRecord>(path`/files/${request.file_id}/info`);
  const total = info.size ?? 0;
  if (total > maxFileBytes) throw tooLarge(`"${info.name}" has ${total} bytes`, maxFileBytes);
  const target = {
    roots: fileRoots,
    folder: request.destination_dir,
    name: request.filename ?? info.name ?? request.file_id,
    onConflict: request.on_conflict,
  };
  let size = 0;
  const saved = await writeInRoots(target, async (file) => {
    await context.api.download(path`/files/${request.file_id}`, async (response) => {
      await file.empty(); // discard the data of an interrupted attempt
      size = 0;
      for await (const chunk of response) {
        if (size + chunk.length > maxFileBytes) throw tooLarge(`"${info.name}" is larger than announced`, maxFileBytes);
        await file.append(chunk);
        size += chunk.length;
        context.progress(size, total);
      }
    });
  });
  return { path: saved, ...omitEmpty({ name: info.name, mime_type: info.mime_type }), size };
}

async function* withProgress(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  report: (done: number) => void,
): AsyncGenerator<Buffer> {
  let done = 0;
  for await (const chunk of source) {
    yield chunk;
    done += chunk.length;
    report(done);
  }
}
