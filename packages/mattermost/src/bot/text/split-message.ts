// Splits a long answer into several messages at line ends. Code blocks stay whole if they fit into one message; otherwise
// they are closed and reopened.
import { fenceAfter, type OpenFence } from './fences.ts';

/** Limit of Mattermost, in code points. */
export const MAX_MESSAGE_LENGTH = 16_383;

/** Longer fences are not closed and reopened, because they would fill the message. */
const MAX_FENCE_LENGTH = 20;

export function splitMessage(text: string, maxLength = MAX_MESSAGE_LENGTH): string[] {
  if (text.length <= maxLength) return [text];
  const splitter = new MessageSplitter(maxLength);
  for (const line of text.split('\n')) splitter.add(line);
  return splitter.finish();
}

class MessageSplitter {
  readonly #longest: number;
  readonly #done: string[] = [];
  #lines: string[] = [];
  /** Code points of the lines, including line ends. */
  #size = 0;
  #open: OpenFence | undefined;
  /** Index of the line that opens the block. */
  #openAt = 0;

  constructor(maxLength: number) {
    this.#longest = maxLength;
  }

  add(line: string): void {
    const next = fenceAfter(this.#open, line);
    const closing = (reopenable(next)?.fence.length ?? -1) + 1;
    const size = codePointCount(line);
    const exceedsLimit = () => this.#size + size + closing > this.#longest;
    while (exceedsLimit() && this.#lines.length > (reopenable(this.#open) ? 1 : 0)) this.#cut();
    if (exceedsLimit()) {
      this.#addPieces(line, this.#longest - closing);
      return;
    }
    if (next && !this.#open) this.#openAt = this.#lines.length;
    this.#lines.push(line);
    this.#size += size + 1;
    this.#open = next;
  }

  finish(): string[] {
    return [...this.#done, this.#lines.join('\n')].filter((part) => part.trim() !== '');
  }

  #cut(): void {
    const open = reopenable(this.#open);
    if (!open) {
      this.#begin(this.#lines, []);
    } else if (this.#openAt > 0) {
      this.#begin(this.#lines.slice(0, this.#openAt), this.#lines.slice(this.#openAt));
      this.#openAt = 0;
    } else {
      this.#begin([...this.#lines, open.fence], [open.line]);
    }
  }

  #begin(done: readonly string[], next: string[]): void {
    this.#done.push(done.join('\n'));
    this.#lines = next;
    this.#size = next.reduce((sum, line) => sum + codePointCount(line) + 1, 0);
  }

  /** Splits a line that is longer than a message. */
  #addPieces(line: string, room: number): void {
    const codePoints = [...line];
    while (codePoints.length > 0) {
      const piece = codePoints.splice(0, Math.max(1, room - this.#size)).join('');
      this.#lines.push(piece);
      this.#size += codePointCount(piece) + 1;
      if (codePoints.length > 0) this.#cut();
    }
  }
}

function reopenable(open: OpenFence | undefined): OpenFence | undefined {
  return open && open.fence.length <= MAX_FENCE_LENGTH ? open : undefined;
}

function codePointCount(line: string): number {
  // without surrogates the length is the number of code points
  return /[\ud800-\udbff]/.test(line) ? [...line].length : line.length;
}
