// The messages of a server that writes one to a line; what else it prints there is passed over.
import { type JSONRPCMessage, type JSONRPCResultResponse, parseJSONRPCMessage } from '@modelcontextprotocol/client';

/** A server that never ends its line must not fill the memory. */
const LONGEST_BYTES = 10 * 1_024 * 1_024;
const LINE_FEED = 10;

export class MessageLines {
  /** The beginning of a line whose end has not come yet. */
  #begun: Buffer[] = [];
  #bytes = 0;

  /** The lines that a chunk completes. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      lines.push(this.#line(chunk.subarray(from, end)));
      from = end + 1;
    }
    if (from === chunk.length) return lines;
    this.#bytes += chunk.length - from;
    if (this.#bytes > LONGEST_BYTES) {
      this.clear();
      throw new Error(`A line of the server is longer than ${LONGEST_BYTES} bytes`);
    }
    this.#begun.push(chunk.subarray(from));
    return lines;
  }

  clear(): void {
    this.#begun = [];
    this.#bytes = 0;
  }

  #line(end: Buffer): string {
    if (this.#bytes === 0) return end.toString();
    const whole = Buffer.concat([...this.#begun, end]);
    this.clear();
    return whole.toString();
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

/** Answers, which are most of what arrives, are checked by the SDK's client anyway; the rest is checked here. */
export function checkedMessage(value: unknown): JSONRPCMessage {
  return isResult(value) ? value : parseJSONRPCMessage(value);
}

/** An answer that says it went well. */
export function isResult(value: unknown): value is JSONRPCResultResponse {
  if (typeof value !== 'object' || value === null || !('id' in value) || 'method' in value) return false;
  return 'result' in value && typeof value.result === 'object' && value.result !== null;
}
