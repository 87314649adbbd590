// The messages of a server that writes one to a line; what else it prints there is passed over.
import { type JSONRPCMessage, type JSONRPCResultResponse, parseJSONRPCMessage } from '@modelcontextprotocol/client';
import { JsonWeight, MOST_JSON_PARTS } from '@pocket-agent/http/json-weight';

/** Of one message over any transport: a server that never ends one must not fill the memory. */
export const MOST_MESSAGE_MB = 10;
export const MOST_MESSAGE_BYTES = MOST_MESSAGE_MB * 1_024 * 1_024;
const LINE_FEED = 10;
const INVALID_REQUEST = -32_600;
/** In `_meta` the SDK looks at this and at the progress token. */
const RELATED_TASK = 'io.modelcontextprotocol/related-task';

export class MessageLines {
  /** The beginning of a line whose end has not come yet. */
  #begun: Buffer[] = [];
  #bytes = 0;
  readonly #weight = new JsonWeight();

  /** The lines that a chunk completes. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      this.#add(chunk.subarray(from, end));
      lines.push(this.#take());
      from = end + 1;
    }
    if (from < chunk.length) this.#add(chunk.subarray(from));
    return lines;
  }

  clear(): void {
    this.#begun = [];
    this.#bytes = 0;
    this.#weight.reset();
  }

  #add(part: Buffer): void {
    this.#bytes += part.length;
    this.#begun.push(part);
    const isTooLong = this.#bytes > MOST_MESSAGE_BYTES;
    const fault = isTooLong ? `of more than ${MOST_MESSAGE_MB} MB, the most that is read` : this.#weight.add(part);
    if (fault === undefined) return;
    this.clear();
    throw new Error(`it wrote a message ${fault} over stdio`);
  }

  #take(): string {
    const [only, ...more] = this.#begun;
    const line = only && more.length === 0 ? only.toString() : Buffer.concat(this.#begun).toString();
    this.clear();
    return line;
  }
}

/** Undefined for what is no JSON: programs print to stdout what belongs on stderr. */
export function readMessage(line: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return checkedMessage(value);
}

/** A message, or an error for whoever waits for an answer that is none. */
export function checkedMessage(value: unknown): JSONRPCMessage {
  if (isResult(value)) return value;
  try {
    // the SDK's schema takes long to refuse a value
    if (!isObject(value) || value.jsonrpc !== '2.0') throw new Error('The server sent something that is not JSON-RPC');
    if (Object.keys(value).length > MOST_JSON_PARTS) throw new Error('The server sent a message with too many fields');
    return parseJSONRPCMessage(value);
  } catch (error) {
    if (!isObject(value) || !isId(value.id) || 'method' in value) throw error;
    const message = 'The server answered with something that is no valid JSON-RPC';
    return { jsonrpc: '2.0', id: value.id, error: { code: INVALID_REQUEST, message } };
  }
}

/** As strict as the SDK's schema, which takes long for what is most of what arrives. */
function isResult(value: unknown): value is JSONRPCResultResponse {
  if (!isObject(value) || value.jsonrpc !== '2.0' || !isId(value.id) || !isObject(value.result)) return false;
  const { _meta } = value.result;
  if (_meta !== undefined && (!isObject(_meta) || 'progressToken' in _meta || RELATED_TASK in _meta)) return false;
  for (const key in value) if (key !== 'jsonrpc' && key !== 'id' && key !== 'result') return false;
  return true;
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isInteger(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
