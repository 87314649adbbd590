// Files that the model generated, such as pictures, which are attached to its answer.
import type { Message } from 'pocket-agent';

export interface AnswerFile {
  name: string;
  bytes: Buffer;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'text/plain': 'txt',
};

export function answerFiles(messages: readonly Message[]): AnswerFile[] {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  const files = parts.flatMap((part) => {
    if (part.type !== 'file' || part.data.type !== 'data') return [];
    const { data } = part.data;
    return {
      mediaType: part.mediaType,
      bytes: typeof data === 'string' ? Buffer.from(data, 'base64') : Buffer.from(data),
    };
  });
  return files.map(({ mediaType, bytes }, index) => ({ name: `file-${index + 1}.${extensionOf(mediaType)}`, bytes }));
}

/** `png` for `image/png`. */
function extensionOf(mediaType: string): string {
  return EXTENSIONS[mediaType] ?? /\/([a-z0-9]{1,8})$/.exec(mediaType)?.[1] ?? 'bin';
}
