// The result of a script for the model: what it returned, its console, and the files whose handles it returned.
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { ToolCall } from 'pocket-agent';
import type { ScriptFiles } from './values.ts';

const MAX_UNREPEATED = 20;
const MAX_ARGUMENTS = 200;
const NOTHING = 'The code returned nothing. Use return or console.log.';

export class ScriptOutput {
  readonly #maxBytes: number;
  readonly #lines: string[] = [];
  #bytes = 0;
  #dropped = 0;
  #unrepeated = '';

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Lines beyond the limit are only counted. */
  log(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#dropped > 0 || this.#bytes + bytes > this.#maxBytes) this.#dropped++;
    else {
      this.#lines.push(line);
      this.#bytes += bytes;
    }
  }

  /** Calls of the same script before its process ended. The model must know of them. */
  noteUnrepeated(calls: readonly ToolCall[]): void {
    if (calls.length === 0) return;
    const shown = calls.slice(0, MAX_UNREPEATED).map(({ name, arguments: args }) => {
      const text = JSON.stringify(args);
      return `${name}(${text.length > MAX_ARGUMENTS ? `${text.slice(0, MAX_ARGUMENTS)}…` : text})`;
    });
    const more = calls.length > shown.length ? `, and ${calls.length - shown.length} more` : '';
    this.#unrepeated = `The process ended while this code ran, and the code ran again, but differently. These calls of the first time were not repeated, and may have taken effect: ${shown.join(', ')}${more}.`;
  }

  /** The result of a script. `json`: what it returned. */
  returned(json: string | undefined, files: ScriptFiles): CallToolResult {
    if (json === undefined) return { content: this.#content(this.#lines.length > 0 ? undefined : NOTHING) };
    const bytes = Buffer.byteLength(json);
    if (bytes + this.#bytes > this.#maxBytes) {
      const both = this.#bytes > 0 ? ` and the console ${this.#bytes} bytes` : '';
      const text = `The returned value has ${bytes} bytes${both}; the limit is ${this.#maxBytes}.`;
      return this.failed(`${text} Return less, such as counts or the fields you need.`);
    }
    const value: unknown = JSON.parse(json);
    return { content: [...this.#content(typeof value === 'string' ? value : json), ...files.in(value)] };
  }

  failed(error: string): CallToolResult {
    return { content: this.#content(error), isError: true };
  }

  #content(last: string | undefined): ContentBlock[] {
    const more = this.#dropped > 0 ? [`[${this.#dropped} more lines did not fit]`] : [];
    const lines = [...this.#lines, ...more];
    const texts = [
      ...(lines.length > 0 ? [lines.join('\n')] : []),
      ...(this.#unrepeated === '' ? [] : [this.#unrepeated]),
      ...(last === undefined ? [] : [last]),
    ];
    return texts.map((text) => ({ type: 'text', text }));
  }
}
