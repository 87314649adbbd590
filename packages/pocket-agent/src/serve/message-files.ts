// Files in a message to a served agent: the argument `files` of its tool.
import { errorText, matchesType, PocketError, shownFile } from '@pocket-agent/kit';
import { type FileInput, filePart } from '../base/file-input.ts';
import type { UserInput } from '../base/messages.ts';

/** The most files of one message. */
export const MAX_FILES = 20;

/** One file as a client sends it. */
export interface SentFile {
  /** base64 */
  data?: string;
  url?: string;
  mimeType?: string;
  name?: string;
}

/** The schema of the argument, for an agent that takes files of these types. */
export function filesSchema(types: readonly string[]): object {
  return {
    type: 'array',
    description: `Files for the agent: text, ${types.join(', ')}. Each has either data or url.`,
    maxItems: MAX_FILES,
    items: {
      type: 'object',
      properties: {
        data: { type: 'string', description: 'The bytes of the file, as base64 text' },
        url: { type: 'string', description: 'The http(s) address of the file' },
        mimeType: { type: 'string', description: 'Such as application/pdf' },
        name: { type: 'string', description: 'The name of the file' },
      },
      additionalProperties: false,
    },
  };
}

/** The input of the run. Throws for a file that cannot be read, or whose type is not one of `types`. */
export function inputOf(text: string, files: readonly SentFile[], types: readonly string[]): string | UserInput {
  if (files.length === 0) return text;
  if (files.length > MAX_FILES)
    throw new PocketError(
      'TOOL_ARGUMENTS_INVALID',
      `A message may have at most ${MAX_FILES} files, not ${files.length}.`,
    );
  return { text, files: files.map((file) => readFile(file, types)) };
}

/** Never a path: that would be a file of this machine. */
function readFile({ data, url, mimeType, name }: SentFile, types: readonly string[]): FileInput {
  const file: FileInput = {
    ...(data === undefined ? {} : { data }),
    ...(url === undefined ? {} : { url }),
    ...(mimeType ? { mediaType: mimeType } : {}),
    ...(name ? { name } : {}),
  };
  let part: ReturnType<typeof filePart>;
  try {
    part = filePart(file);
  } catch (error) {
    throw new PocketError('TOOL_ARGUMENTS_INVALID', errorText(error), { cause: error });
  }
  if (part.type === 'text' || matchesType(part.mediaType, types)) return file;
  const what = shownFile({ mediaType: part.mediaType, filename: name });
  throw new PocketError('TOOL_ARGUMENTS_INVALID', `This agent takes text, ${types.join(', ')}, not ${what}.`);
}
