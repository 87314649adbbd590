// The last requests to models, whole, until there are too many.
import type { ModelCallDetails } from '../wire.ts';

const MAX_CHARACTERS = 64_000_000;

export class ModelCalls {
  /** JSON by id, oldest first: what a prompt refers to may change later. */
  readonly #calls = new Map<string, string>();
  #characters = 0;

  keep(call: ModelCallDetails): void {
    this.#remove(call.id);
    const text = JSON.stringify(call, shortBytes);
    this.#calls.set(call.id, text);
    this.#characters += text.length;
    for (const id of this.#calls.keys()) {
      if (this.#characters <= MAX_CHARACTERS) break;
      this.#remove(id);
    }
  }

  /** JSON. Undefined if it is no longer kept. */
  find(id: string): string | undefined {
    return this.#calls.get(id);
  }

  #remove(id: string): void {
    this.#characters -= this.#calls.get(id)?.length ?? 0;
    this.#calls.delete(id);
  }
}

/** A file would be larger than all the rest. */
function shortBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `[${value.length} bytes]` : value;
}
