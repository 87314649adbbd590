// Shows an answer while its JSON arrives.
import { closedJson } from './answer-text.ts';

/** The text is read again when it has grown by this part of its length: the work stays linear in the whole. */
const GROWTH = 1 / 16;

export class PartialAnswer {
  readonly #show: (value: unknown) => void;
  #text = '';
  #readLength = 0;
  #shown: string | undefined;

  /** `show` gets the JSON read so far, each time a new object. */
  constructor(show: (value: unknown) => void) {
    this.#show = show;
  }

  add(delta: string): void {
    this.#text += delta;
    if (this.#text.length - this.#readLength >= this.#readLength * GROWTH) this.#read();
  }

  /** The answer is complete: shows what was not shown yet. */
  end(): void {
    if (this.#text.length > this.#readLength) this.#read();
  }

  /** The model begins its answer again. */
  reset(): void {
    this.#text = '';
    this.#readLength = 0;
    this.#shown = undefined;
  }

  #read(): void {
    this.#readLength = this.#text.length;
    const json = closedJson(this.#text);
    if (json === undefined || json === this.#shown) return;
    this.#shown = json;
    try {
      this.#show(JSON.parse(json));
    } catch {
      // not JSON: the complete answer is checked later
    }
  }
}
