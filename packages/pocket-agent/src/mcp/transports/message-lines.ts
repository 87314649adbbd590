// The stdout of a server process as messages: one per line, of limited size.
import { isJSONRPCResultResponse, type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/client';
import { ByteChunks } from '@pocket-agent/http/byte-chunks';
import { JsonWeight, MAX_JSON_PARTS } from '@pocket-agent/http/json-weight';
import { isRecord } from '@pocket-agent/kit';

/** The largest message over any transport: a server that never ends a message must not fill the memory. */
const MAX_MESSAGE_MB = 10;
export const MAX_MESSAGE_BYTES = MAX_MESSAGE_MB * 1_024 * 1_024;
const LINE_FEED = 10;
const INVALID_REQUEST = -32_600;

export class MessageLines {
  /** Parts of a line whose end has not arrived yet. */
  readonly #parts = new ByteChunks();
  readonly #weight = new JsonWeight();

  /** The lines that a chunk completes. Throws for a line that is too long. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      this.#add(chunk.subarray(from, end));
      lines.push(this.#takeLine());
      from = end + 1;
    }
    if (from < chunk.length) this.#add(chunk.subarray(from));
    return lines;
  }

  clear(): void {
    this.#parts.clear();
    this.#weight.reset();
  }

  #add(part: Buffer): void {
    this.#parts.push(part);
    const isTooLong = this.#parts.byteLength > MAX_MESSAGE_BYTES;
    const fault = isTooLong ? `that exceeds the limit of ${MAX_MESSAGE_MB} MB` : this.#weight.add(part);
    if (fault === undefined) return;
    this.clear();
    throw new Error(`it wrote a message to stdout ${fault}`);
  }

  #takeLine(): string {
    const line = this.#parts.concat().toString();
    this.clear();
    return line;
  }
}

/** Undefined for a line that is not JSON: some programs print other text to stdout. */
export function readMessage(line: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return checkedMessage(value);
}

/** The message; for an invalid answer, an error as the answer, so that its caller does not wait until the timeout. */
function checkedMessage(value: unknown): JSONRPCMessage {
  try {
    // the SDK's schema takes long to refuse a value
    if (!isRecord(value) || value.jsonrpc !== '2.0') throw new Error('The server sent something that is not JSON-RPC');
    if (Object.keys(value).length > MAX_JSON_PARTS) throw new Error('The server sent a message with too many fields');
    // nearly all messages are results; the schema for all kinds would first refuse them as requests and notifications
    return isJSONRPCResultResponse(value) ? value : parseJSONRPCMessage(value);
  } catch (error) {
    if (!isRecord(value) || !isId(value.id) || 'method' in value) throw error;
    const message = 'The server answered with invalid JSON-RPC';
    return { jsonrpc: '2.0', id: value.id, error: { code: INVALID_REQUEST, message } };
  }
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isInteger(value);
}
