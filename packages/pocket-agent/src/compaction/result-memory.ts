// Whole tool results in memory, with a limit and an expiry for each agent, and a limit for the process.
import { type OpenResult, type ResultOrigin, type ResultStore, sourceOf, type WholeResult } from './result-pages.ts';

interface MemoryLimits {
  expiresAfterMs: number;
  /** The limit for one agent; its oldest results make room. */
  maxTotalBytes: number;
}

interface InMemory extends ResultOrigin {
  whole: Buffer;
  expiresAt: number;
}

/** The limit for all agents together, unless one of them has a higher limit; the oldest results make room. */
const MAX_PROCESS_BYTES = 64 * 1_024 * 1_024;

/** By id, the oldest first. */
const results = new Map<string, InMemory>();
let totalBytes = 0;

export class ResultMemory implements ResultStore {
  readonly #limits: MemoryLimits;
  /** The oldest first. */
  readonly #ids = new Set<string>();

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  async keep(id: string, { tool, toolCallId, text }: WholeResult): Promise<boolean> {
    const { maxTotalBytes, expiresAfterMs } = this.#limits;
    const bytes = Buffer.byteLength(text);
    if (bytes > maxTotalBytes / 4) return false;
    forgetExpired();
    let ownBytes = this.#countBytes();
    for (const oldest of this.#ids) {
      if (ownBytes + bytes <= maxTotalBytes) break;
      ownBytes -= results.get(oldest)?.whole.length ?? 0;
      forget(oldest);
    }
    const processLimit = Math.max(MAX_PROCESS_BYTES, maxTotalBytes);
    for (const oldest of results.keys()) {
      if (totalBytes + bytes <= processLimit) break;
      forget(oldest);
    }
    results.set(id, { tool, toolCallId, whole: Buffer.from(text), expiresAt: Date.now() + expiresAfterMs });
    totalBytes += bytes;
    this.#ids.add(id);
    return true;
  }

  async open(id: string): Promise<OpenResult | undefined> {
    const found = results.get(id);
    if (!found || found.expiresAt <= Date.now()) return undefined;
    const { tool, toolCallId, whole } = found;
    return { tool, toolCallId, ...sourceOf(whole), close: async () => {} };
  }

  async remove(id: string): Promise<void> {
    forget(id);
  }

  /** The bytes of this agent; ids of results that are gone are dropped. */
  #countBytes(): number {
    let bytes = 0;
    for (const id of this.#ids) {
      const found = results.get(id);
      if (found) bytes += found.whole.length;
      else this.#ids.delete(id);
    }
    return bytes;
  }

  /** Forgets the results of this agent. */
  clear(): void {
    for (const id of this.#ids) forget(id);
    this.#ids.clear();
  }
}

function forgetExpired(): void {
  const now = Date.now();
  for (const [id, { expiresAt }] of results) if (expiresAt <= now) forget(id);
}

function forget(id: string): void {
  totalBytes -= results.get(id)?.whole.length ?? 0;
  results.delete(id);
}
