// The body of a response: decompressed, limited in size, and read ahead so that a small one frees its connection.
import type { IncomingMessage } from 'node:http';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, type Zlib } from 'node:zlib';
import { FetchError } from './fetch-error.ts';

interface BodyOptions {
  /** Of `content-encoding`. */
  decoders: readonly (Transform & Zlib)[];
  maxBytes: number | undefined;
  /** Called when nothing more is read from the connection. */
  onEnd(): void;
}

/** How much is read ahead before somebody reads the body. */
const READ_AHEAD_BYTES = 64 * 1_024;
/** A larger body keeps its connection for this long if it is not read. */
const UNREAD_MS = 30_000;
/** We ask for one. Each can expand a body a thousandfold, and `maxBytes` counts only what the last one returns. */
const MOST_ENCODINGS = 2;

const encodings = new Map<string, () => Transform & Zlib>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Destroying the returned stream stops the decoders and the connection. */
export function readBody(message: IncomingMessage, { decoders, maxBytes, onEnd }: BodyOptions): Readable {
  const source = decoded(message, decoders);
  let timer: NodeJS.Timeout | undefined;
  const body = new Readable({
    highWaterMark: READ_AHEAD_BYTES,
    read: () => void source.resume(),
    destroy(error, done) {
      clearTimeout(timer);
      source.destroy();
      message.destroy();
      onEnd();
      done(error);
    },
  });
  body.on('error', () => {}); // its reader gets the error
  const letGo = () => {
    if (body.readableDidRead) return;
    body.destroy(
      new FetchError('TIMEOUT', `The body was not read within ${UNREAD_MS} ms, so its connection was closed`),
    );
  };
  let size = 0;
  source.on('data', (chunk: Buffer) => {
    size += chunk.byteLength;
    if (maxBytes !== undefined && size > maxBytes) {
      body.destroy(new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`));
    } else if (!body.push(chunk)) {
      source.pause();
      if (!body.readableDidRead) timer ??= setTimeout(letGo, UNREAD_MS).unref();
    }
  });
  source.on('end', () => {
    clearTimeout(timer);
    onEnd();
    body.push(null);
  });
  source.on('error', (error: NodeJS.ErrnoException) => {
    const isEmpty = error.code === 'Z_BUF_ERROR' && decoders[0]?.bytesWritten === 0;
    if (isEmpty) body.push(null);
    else body.destroy(terminated(error));
  });
  return body;
}

/**
 * The decoders of a body, in the order in which they are applied. None for an encoding that is not known, which is
 * passed on as it is. Throws when there are more encodings than anyone needs.
 */
export function decodersOf(encoding: string | undefined): (Transform & Zlib)[] {
  if (encoding === undefined) return [];
  const makers = encoding.split(',').map((name) => encodings.get(name.trim().toLowerCase()));
  if (!makers.every((make) => make !== undefined)) return [];
  if (makers.length > MOST_ENCODINGS)
    throw terminated(new Error(`The answer has more than ${MOST_ENCODINGS} encodings`));
  return makers.reverse().map((make) => make());
}

function decoded(message: IncomingMessage, decoders: readonly Transform[]): Readable {
  const last = decoders.at(-1);
  if (!last) return message;
  pipeline([message, ...decoders], () => {}); // an error in any of them is one of the last
  return last;
}

function terminated(cause: Error): TypeError {
  return new TypeError('terminated', { cause });
}
