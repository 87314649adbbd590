// A numbered log of entries. Pages follow it, and resume from a number after a lost connection.
import type { Entry } from '../wire/wire.ts';

/** Older entries are dropped beyond this; the newest is kept. */
const MAX_CHARACTERS = 32_000_000;

export class Journal {
  /** JSON by number, oldest first. */
  readonly #lines = new Map<number, string>();
  /** Numbers of the text deltas of an unfinished message. */
  readonly #deltas = new Map<string, number[]>();
  readonly #maxCharacters: number;
  #last = 0;
  #characters = 0;
  /** The highest number that was dropped for lack of room. */
  #lost = 0;
  #changed = Promise.withResolvers<void>();

  constructor(maxCharacters = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters;
  }

  add(entry: Entry): void {
    this.#last += 1;
    const line = JSON.stringify({ seq: this.#last, ...entry });
    this.#lines.set(this.#last, line);
    this.#characters += line.length;
    if (entry.type === 'event') this.#forgetDeltas(entry, this.#last);
    for (const [seq, old] of this.#lines) {
      if (this.#characters <= this.#maxCharacters || seq === this.#last) break;
      this.#remove(seq, old);
      this.#lost = seq;
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  get last(): number {
    return this.#last;
  }

  /** Whether entries after this number are missing. A number above the last one comes from an earlier studio. */
  hasLost(after: number): boolean {
    return after < this.#lost || after > this.#last;
  }

  /** The lines after a number, existing ones in batches of a hundred, so that one page does not block the others. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<string[]> {
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    let seq = after;
    while (!signal.aborted) {
      const batch: string[] = [];
      const [first = this.#last] = this.#lines.keys();
      seq = Math.max(seq, first - 1);
      while (seq < this.#last && batch.length < 100) {
        seq += 1;
        const line = this.#lines.get(seq);
        if (line !== undefined) batch.push(line);
      }
      if (batch.length > 0) yield batch;
      else await Promise.race([this.#changed.promise, aborted]);
    }
  }

  /** Deletes the deltas of a message once the message itself is logged. */
  #forgetDeltas({ chatId, event }: Extract<Entry, { type: 'event' }>, seq: number): void {
    const key = `${chatId} ${event.meta.runId}`;
    if (event.type === 'text_delta' || event.type === 'reasoning_delta' || event.type === 'output_delta') {
      const known = this.#deltas.get(key);
      if (known) known.push(seq);
      else this.#deltas.set(key, [seq]);
    } else if (event.type === 'new_message' || event.type === 'run_finished' || event.type === 'run_failed') {
      for (const old of this.#deltas.get(key) ?? []) this.#remove(old, this.#lines.get(old));
      this.#deltas.delete(key);
    }
  }

  #remove(seq: number, line: string | undefined): void {
    if (line === undefined) return;
    this.#lines.delete(seq);
    this.#characters -= line.length;
  }
}
