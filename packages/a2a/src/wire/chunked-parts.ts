// The parts of an artifact that arrives in chunks.
import type { Part } from './task.ts';

/** Joins chunks of a text, and chunks of a file: parts of bytes with the same name and type, one after the other. */
export class ChunkedParts {
  readonly #parts: { part: Part; chunks: string[] }[];

  constructor(parts: readonly Part[]) {
    this.#parts = parts.map((part) => ({ part: { ...part }, chunks: [] }));
  }

  get length(): number {
    return this.#parts.length;
  }

  /** The parts so far. */
  get all(): Part[] {
    return this.#parts.map(({ part, chunks }) => ({
      ...part,
      ...(chunks.length > 0 ? { raw: joined([part.raw ?? '', ...chunks]) } : {}),
    }));
  }

  /** Whether the part continues the last one. */
  continues(part: Part): boolean {
    const last = this.#parts.at(-1)?.part;
    if (part.text !== undefined)
      return last?.text !== undefined && (part.filename === undefined || last.filename === part.filename);
    const isNamed = part.raw !== undefined && part.filename !== undefined;
    return isNamed && last?.raw !== undefined && last.filename === part.filename && last.mediaType === part.mediaType;
  }

  append(part: Part): void {
    const last = this.#parts.at(-1);
    if (!last || !this.continues(part)) this.#parts.push({ part: { ...part }, chunks: [] });
    else if (part.text !== undefined) last.part.text += part.text;
    else if (part.raw !== undefined) last.chunks.push(part.raw);
  }
}

function joined(chunks: readonly string[]): string {
  return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk, 'base64'))).toString('base64');
}
