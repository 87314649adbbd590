// The last requests to models, whole. Prompts of one conversation share their messages, so they take little room.
import type { ModelCallDetails } from '../wire.ts';

const MAX_CALLS = 2_000;

export class ModelCalls {
  /** By id, oldest first. */
  readonly #calls = new Map<string, ModelCallDetails>();

  keep(call: ModelCallDetails): void {
    this.#calls.set(call.id, call);
    for (const id of this.#calls.keys()) {
      if (this.#calls.size <= MAX_CALLS) break;
      this.#calls.delete(id);
    }
  }

  /** The call as JSON; undefined if it is no longer kept. */
  find(id: string): string | undefined {
    const call = this.#calls.get(id);
    return call && JSON.stringify(call, shortBytes);
  }
}

/** Leaves out the bytes of files, which would be larger than everything else. */
function shortBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `[${value.length} bytes]` : value;
}
