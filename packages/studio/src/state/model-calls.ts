// The last requests to models, whole. Prompts of one conversation share their messages, which count once.
import { estimateBytes } from '@pocket-agent/kit';
import type { ModelCallDetails } from '../wire/wire.ts';

const MAX_CALLS = 2_000;
const MAX_BYTES = 134_217_728;

export class ModelCalls {
  /** By id, oldest first. */
  readonly #calls = new Map<string, ModelCallDetails>();
  /** Messages, tools and answers of the calls that are kept, with the number of those that have them. */
  readonly #parts = new Map<object, { bytes: number; uses: number }>();
  readonly #partsOf = new Map<string, object[]>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Again when the call has ended. */
  keep(call: ModelCallDetails): void {
    this.#release(call.id);
    this.#calls.set(call.id, call);
    const parts = [call.prompt, call.tools].flatMap((list) => (Array.isArray(list) ? list : []));
    const kept = [...parts, call.answer].filter((part) => typeof part === 'object' && part !== null);
    this.#partsOf.set(call.id, kept);
    for (const part of kept) this.#hold(part);
    for (const id of this.#calls.keys()) {
      if (this.#calls.size <= MAX_CALLS && (this.#bytes <= this.#maxBytes || this.#calls.size === 1)) break;
      this.#calls.delete(id);
      this.#release(id);
    }
  }

  get(id: string): ModelCallDetails | undefined {
    return this.#calls.get(id);
  }

  /** The call as JSON; undefined if it is no longer kept. */
  find(id: string): string | undefined {
    const call = this.#calls.get(id);
    return call && JSON.stringify(call, shortBytes);
  }

  #hold(part: object): void {
    const known = this.#parts.get(part) ?? { bytes: estimateBytes(part), uses: 0 };
    if (known.uses === 0) this.#bytes += known.bytes;
    known.uses++;
    this.#parts.set(part, known);
  }

  #release(id: string): void {
    for (const part of this.#partsOf.get(id) ?? []) {
      const known = this.#parts.get(part);
      if (!known || --known.uses > 0) continue;
      this.#bytes -= known.bytes;
      this.#parts.delete(part);
    }
    this.#partsOf.delete(id);
  }
}

/** Leaves out the bytes of files, which would be larger than everything else. */
function shortBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `[${value.length} bytes]` : value;
}
