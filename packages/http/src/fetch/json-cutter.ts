// Shortens long strings in JSON while it streams in, so that an answer of any length can be read.
import { FetchError } from './fetch-error.ts';

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

class JsonCutter {
  readonly #maxBytes: number;
  #isInString = false;
  /** Bytes of the current string so far. */
  #length = 0;
  #isDropping = false;
  /** Bytes that belong to the current escape: 1 after a backslash, then 4 after a `u`. */
  #escapeLength = 0;
  #isAfterBackslash = false;

  /** `maxBytes` counts the bytes of a string as JSON writes it. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  cut(chunk: Uint8Array): Uint8Array {
    const kept = new Uint8Array(chunk.length);
    let size = 0;
    // local variables: with fields this loop would be several times slower
    let isInString = this.#isInString;
    let length = this.#length;
    let isDropping = this.#isDropping;
    let escapeLength = this.#escapeLength;
    let isAfterBackslash = this.#isAfterBackslash;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] ?? 0;
      // JSON strings have no raw newline, so a newline ends a quote in a comment between events
      if (byte === NEWLINE || !isInString) {
        isInString = byte === QUOTE;
        length = 0;
        isDropping = false;
        escapeLength = 0;
      } else if (escapeLength > 0) {
        escapeLength = isAfterBackslash && byte === LETTER_U ? 4 : escapeLength - 1;
        isAfterBackslash = false;
        length++;
      } else if (byte === QUOTE) {
        isInString = false;
        isDropping = false;
      } else {
        const isContinuation = (byte & 0xc0) === 0x80;
        if (length >= this.#maxBytes && !isContinuation) isDropping = true;
        isAfterBackslash = byte === BACKSLASH;
        escapeLength = isAfterBackslash ? 1 : 0;
        length++;
      }
      if (!isDropping) kept[size++] = byte;
    }
    this.#isInString = isInString;
    this.#length = length;
    this.#isDropping = isDropping;
    this.#escapeLength = escapeLength;
    this.#isAfterBackslash = isAfterBackslash;
    return kept.subarray(0, size);
  }
}

interface CutOptions {
  maxStringBytes: number;
  /** The largest body, measured after its strings were cut. */
  maxBytes?: number;
}

/** The response, with long strings of its JSON or event stream cut. */
export function withCutStrings(response: Response, options: CutOptions): Response {
  const { maxStringBytes, maxBytes = Number.POSITIVE_INFINITY } = options;
  const { body, headers, status, statusText } = response;
  if (!body) return response;
  const cutter = new JsonCutter(maxStringBytes);
  let size = 0;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const kept = cutter.cut(chunk);
      size += kept.byteLength;
      if (size > maxBytes) throw new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`);
      controller.enqueue(kept);
    },
  });
  return new Response(body.pipeThrough(cut), { headers, status, statusText });
}
