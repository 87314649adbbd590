// The body of an answer as a web stream: decompressed, bounded, and failed when the exchange is.
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FetchError } from './fetch-error.ts';

interface BodyOptions {
  isEmpty: boolean;
  encoding: string | null;
  maxBytes: number | undefined;
  /** Why the exchange was ended by us, if it was. */
  reason(): unknown;
  /** Called once, when there is nothing more to read. */
  over(): void;
}

const decoders: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

export function bodyOf(message: IncomingMessage, options: BodyOptions): ReadableStream<Uint8Array> | null {
  const { isEmpty, maxBytes = Number.POSITIVE_INFINITY, reason, over } = options;
  if (isEmpty) {
    message.once('close', over).resume();
    return null;
  }
  const source = decoded(message, options.encoding);
  let size = 0;
  let isOver = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const finish = (end: () => void) => {
        if (isOver) return;
        isOver = true;
        over();
        end();
      };
      source.on('data', (chunk: Buffer) => {
        if (isOver) return;
        size += chunk.byteLength;
        if (size > maxBytes) {
          finish(() => controller.error(new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`)));
          message.destroy();
          return;
        }
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) source.pause();
      });
      source.once('end', () => finish(() => controller.close()));
      source.on('error', (error) =>
        finish(() => controller.error(reason() ?? new TypeError('terminated', { cause: error }))),
      );
    },
    pull() {
      source.resume();
    },
    cancel() {
      isOver = true;
      over();
      message.destroy();
    },
  });
}

function decoded(message: IncomingMessage, encoding: string | null): Readable {
  const make = encoding === null ? undefined : decoders[encoding.trim().toLowerCase()];
  // the stream it gives back fails when either part does
  return make ? pipeline(message, make(), () => {}) : message;
}
