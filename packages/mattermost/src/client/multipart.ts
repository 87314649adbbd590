// A multipart form with fields and one file, streamed with a known length.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';

interface MultipartFile {
  field: string;
  filename: string;
  size: number;
  /** Opens the file from the start; called once per attempt. */
  open(): AsyncIterable<Buffer> | Iterable<Buffer>;
}

interface Multipart {
  type: string;
  length: number;
  open(): Readable;
}

export function multipart(fields: Readonly<Record<string, string>>, file: MultipartFile): Multipart {
  const boundary = `----mattermost-${randomBytes(16).toString('hex')}`;
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const disposition = `form-data; name="${file.field}"; filename="${escapeName(file.filename)}"`;
  parts.push(`--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`);
  const head = Buffer.from(parts.join(''));
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    length: head.length + file.size + tail.length,
    open: () => Readable.from(concat(head, file, tail), { objectMode: false }),
  };
}

async function* concat(head: Buffer, file: MultipartFile, tail: Buffer): AsyncGenerator<Buffer> {
  yield head;
  yield* file.open();
  yield tail;
}

/** Escapes the characters that would end the name, as browsers do. */
function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
