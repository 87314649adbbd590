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
  #escape = 0;
  #isAfterBackslash = false;

  /** `maxBytes` counts the bytes of a string as JSON writes it. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  cut(chunk: Uint8Array): Uint8Array {
    const kept = new Uint8Array(chunk.length);
    let size = 0;
    for (const byte of chunk) if (this.#keeps(byte)) kept[size++] = byte;
    return kept.subarray(0, size);
  }

  #keeps(byte: number): boolean {
    // JSON strings have no raw newline, so a newline ends a quote in a comment between events
    if (byte === NEWLINE || !this.#isInString) {
      this.#begin(byte === QUOTE);
      return true;
    }
    if (this.#escape > 0) this.#readEscape(byte);
    else if (byte === QUOTE) {
      this.#isInString = false;
      return true;
    } else {
      const isContinuation = (byte & 0xc0) === 0x80;
      if (this.#length >= this.#maxBytes && !isContinuation) this.#isDropping = true;
      this.#isAfterBackslash = byte === BACKSLASH;
      this.#escape = this.#isAfterBackslash ? 1 : 0;
    }
    this.#length++;
    return !this.#isDropping;
  }

  #begin(isInString: boolean): void {
    this.#isInString = isInString;
    this.#length = 0;
    this.#isDropping = false;
    this.#escape = 0;
  }

  #readEscape(byte: number): void {
    this.#escape = this.#isAfterBackslash && byte === LETTER_U ? 4 : this.#escape - 1;
    this.#isAfterBackslash = false;
  }
}

interface CutOptions {
  maxStringBytes: number;
  /** Of the whole body, after its strings were cut. */
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
