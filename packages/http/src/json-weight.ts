// Limits the work of parsing a JSON text. Small values cost far more than their bytes: 10 MB of `{}` take
// seconds and hundreds of megabytes, 10 MB of text a few milliseconds.

const MAX_JSON_VALUES = 250_000;
/** The most values in a request to our servers. */
const MAX_REQUEST_VALUES = 100_000;
const MAX_JSON_DEPTH = 1_000;
/** Messages of a batch, or fields of a message, in JSON-RPC. */
export const MAX_JSON_PARTS = 100;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

interface JsonLimits {
  maxValues?: number;
  maxDepth?: number;
  /** Items of the outermost list or object. Default: no limit. */
  maxParts?: number;
}

/** Counts the values of one text as its bytes arrive. */
export class JsonWeight {
  #values = 0;
  #parts = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  readonly #limits: Required<JsonLimits>;

  constructor(limits: JsonLimits = {}) {
    const { maxValues = MAX_JSON_VALUES, maxDepth = MAX_JSON_DEPTH, maxParts = Number.POSITIVE_INFINITY } = limits;
    this.#limits = { maxValues, maxDepth, maxParts };
  }

  /** Why the text is too much work, as the end of "it sent a message …". Undefined below the limits. */
  add(bytes: Uint8Array): string | undefined {
    const { maxDepth } = this.#limits;
    // local variables: with fields this loop would be ten times slower
    let values = this.#values;
    let parts = this.#parts;
    let depth = this.#depth;
    let isInString = this.#isInString;
    let isEscaped = this.#isEscaped;
    for (let index = 0; index < bytes.length && depth <= maxDepth; index++) {
      const byte = bytes[index];
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        // JSON has no line breaks in strings; other lines of an event stream may have a single quote
        isInString = false;
        isEscaped = false;
      } else if (isEscaped) isEscaped = false;
      else if (byte === QUOTE) isInString = !isInString;
      else if (isInString) isEscaped = byte === BACKSLASH;
      else if (byte === COMMA) {
        values++;
        if (depth === 1) parts++;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        values++;
        depth++;
      } else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && depth > 0) depth--;
    }
    this.#values = values;
    this.#parts = parts;
    this.#depth = depth;
    this.#isInString = isInString;
    this.#isEscaped = isEscaped;
    return this.#fault;
  }

  reset(): void {
    this.#values = 0;
    this.#parts = 0;
    this.#depth = 0;
    this.#isInString = false;
    this.#isEscaped = false;
  }

  get #fault(): string | undefined {
    const { maxValues, maxDepth, maxParts } = this.#limits;
    if (this.#depth > maxDepth) return `that exceeds the limit of ${maxDepth} nested levels`;
    if (this.#values > maxValues) return `that exceeds the limit of ${maxValues} values`;
    if (this.#parts > maxParts) return `that exceeds the limit of ${maxParts} parts`;
    return undefined;
  }
}

/** Why the body of a request is too much work to read, as a sentence. */
export function requestFault(body: Uint8Array): string | undefined {
  const fault = new JsonWeight({ maxValues: MAX_REQUEST_VALUES, maxParts: MAX_JSON_PARTS }).add(body);
  return fault && `The body is JSON ${fault}`;
}

/** Why a text from outside is too much work to parse, as the end of "a message …". */
export function textFault(json: string, limits?: JsonLimits): string | undefined {
  return new JsonWeight(limits).add(Buffer.from(json));
}
