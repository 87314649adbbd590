// Where the content of an upload comes from: a file inside the allowed folders, or base64.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { openInRoots, safeName, tooLarge } from './file-access.ts';

export const sourceArguments = () => ({
  file_path: z.string().min(1).max(4096).optional(),
  content_base64: z.base64().optional(),
  filename: z.string().min(1).max(255).optional(),
});

export interface SourceArguments {
  file_path?: string | undefined;
  content_base64?: string | undefined;
  filename?: string | undefined;
}

interface Source {
  name: string;
  size: number;
  /** Yields the content from the start; can be called repeatedly. */
  read(): AsyncIterable<Buffer> | Iterable<Buffer>;
}

export function checkSource({ file_path, content_base64, filename }: SourceArguments): string | undefined {
  if ((file_path === undefined) === (content_base64 === undefined)) return 'set either file_path or content_base64';
  return content_base64 !== undefined && filename === undefined ? 'content_base64 requires filename' : undefined;
}

/** Opens the content while `use` runs. */
export async function withSource<Result>(
  { config: { fileRoots, maxFileBytes } }: ToolContext,
  { file_path, content_base64 = '', filename }: SourceArguments,
  use: (source: Source) => Promise<Result>,
): Promise<Result> {
  if (file_path === undefined) {
    const content = Buffer.from(content_base64, 'base64');
    if (content.length > maxFileBytes) throw tooLarge(`the content has ${content.length} bytes`, maxFileBytes);
    return use({ name: safeName(filename ?? ''), size: content.length, read: () => chunksOf(content) });
  }
  await using file = await openInRoots(fileRoots, file_path, maxFileBytes);
  return await use({ name: safeName(filename ?? file.name), size: file.size, read: () => file.read() });
}

const CHUNK_BYTES = 256 * 1024;

function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let start = 0; start < content.length; start += CHUNK_BYTES) yield content.subarray(start, start + CHUNK_BYTES);
}
