// A long answer as several messages: cut between lines, code blocks moved whole where they fit into one message, and
// closed and opened again where they do not.
import { fenceAfter, type OpenFence } from './fences.ts';

/** What Mattermost takes, in characters, not in UTF-16 units. */
export const LONGEST_MESSAGE = 16_383;

/** Longer fences are not closed and opened again: a message could hold little else. */
const LONGEST_FENCE = 20;

export function splitMessage(text: string, longest = LONGEST_MESSAGE): string[] {
  if (text.length <= longest) return [text];
  const parts = new Parts(longest);
  for (const line of text.split('\n')) parts.add(line);
  return parts.finish();
}

class Parts {
  readonly #longest: number;
  readonly #done: string[] = [];
  #lines: string[] = [];
  /** Characters of the lines, with their ends. */
  #size = 0;
  #open: OpenFence | undefined;
  /** Where the open block begins. */
  #openAt = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  add(line: string): void {
    const next = fenceAfter(this.#open, line);
    const closing = (carried(next)?.fence.length ?? -1) + 1;
    const size = length(line);
    const isTooMuch = () => this.#size + size + closing > this.#longest;
    while (isTooMuch() && this.#lines.length > (carried(this.#open) ? 1 : 0)) this.#cut();
    if (isTooMuch()) {
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
    const open = carried(this.#open);
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
    this.#size = next.reduce((sum, line) => sum + length(line) + 1, 0);
  }

  /** A line that is too long for any message. */
  #addPieces(line: string, room: number): void {
    const runes = [...line];
    while (runes.length > 0) {
      const piece = runes.splice(0, Math.max(1, room - this.#size)).join('');
      this.#lines.push(piece);
      this.#size += length(piece) + 1;
      if (runes.length > 0) this.#cut();
    }
  }
}

function carried(open: OpenFence | undefined): OpenFence | undefined {
  return open && open.fence.length <= LONGEST_FENCE ? open : undefined;
}

function length(line: string): number {
  // most text needs no counting
  return /[\ud800-\udbff]/.test(line) ? [...line].length : line.length;
}
