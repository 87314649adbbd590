// Files for a remote agent and from it, in the folder that the option `folder` names.
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorText, PocketError, typeOfBytes, typeOfName } from '@pocket-agent/kit';
import { looksSecret, readConfined } from '@pocket-agent/kit/confined-files';
import type { Part } from '../wire/task.ts';

export const MAX_FILES = 20;
/** Of one file; base64 and JSON make it larger, and answers are at most 16 MiB. */
export const MAX_FILE_BYTES = 10_000_000;
const MAX_NAME_LENGTH = 100;
const MAX_COPIES = 1_000;

/** The files as parts of a message. Paths are relative to the folder, which they cannot leave. */
export async function readFiles(folder: string, paths: readonly string[]): Promise<Part[]> {
  if (paths.length > MAX_FILES) throw invalid(`at most ${MAX_FILES} files`);
  const parts: Part[] = [];
  let left = MAX_FILE_BYTES;
  for (const path of paths) {
    let bytes: Uint8Array;
    try {
      bytes = await readConfined({ root: folder, path, maxBytes: left, rootName: 'the folder for files' });
    } catch (error) {
      throw new PocketError('TOOL_ARGUMENTS_INVALID', errorText(error), { cause: error });
    }
    left -= bytes.length;
    const mediaType = typeOfBytes(bytes) ?? typeOfName(path) ?? 'application/octet-stream';
    parts.push({ raw: Buffer.from(bytes).toString('base64'), mediaType, filename: basename(path) });
  }
  return parts;
}

/** Saves a file of an answer; never replaces one. Returns its name in the folder. */
export async function saveFile(
  folder: string,
  { raw = '', filename }: Pick<Part, 'raw' | 'filename'>,
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const root = await realpath(folder);
  const name = safeName(filename);
  const [, stem = name, ending = ''] = /^(.+?)(\.[^.]*)?$/s.exec(name) ?? [];
  for (let copy = 1; copy <= MAX_COPIES; copy++) {
    const next = copy === 1 ? name : `${stem}-${copy}${ending}`;
    try {
      // wx: neither replaces a file nor follows a link
      await writeFile(join(root, next), Buffer.from(raw, 'base64'), { flag: 'wx', mode: 0o600 });
      return next;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  throw new PocketError('TOOL_FAILED', `There are ${MAX_COPIES} files named ${name} in the folder for files.`);
}

/** The name comes from the remote agent: it must neither leave the folder nor look like a file with secrets or settings. */
function safeName(filename = ''): string {
  const last = filename.split(/[/\\]/).at(-1) ?? '';
  const printable = last.replace(/[\p{C}<>:"|?*]+/gu, '').replace(/^[.\s]+|[.\s]+$/g, '');
  const short = printable.length > MAX_NAME_LENGTH ? printable.slice(-MAX_NAME_LENGTH) : printable;
  return short === '' || looksSecret(short) ? 'file' : short;
}

function invalid(what: string): PocketError {
  return new PocketError('TOOL_ARGUMENTS_INVALID', `A message takes ${what}.`);
}
