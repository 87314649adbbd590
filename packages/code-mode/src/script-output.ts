// The result of a script for the model: what it returned, its console, and the files whose handles it returned.
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { ScriptFiles } from './values.ts';

const NOTHING = 'The code returned nothing. Use return or console.log.';

export class ScriptOutput {
  readonly #maxBytes: number;
  readonly #lines: string[] = [];
  #bytes = 0;
  #dropped = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Lines beyond the bound are counted. */
  log(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#dropped > 0 || this.#bytes + bytes > this.#maxBytes) this.#dropped++;
    else {
      this.#lines.push(line);
      this.#bytes += bytes;
    }
  }

  /** `json`: what was returned. */
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
    const texts = [...(lines.length > 0 ? [lines.join('\n')] : []), ...(last === undefined ? [] : [last])];
    return texts.map((text) => ({ type: 'text', text }));
  }
}
