// Whole tool results in memory: those of all agents of this process have one limit, and each an expiry.
import { newResultId, type OpenResult, type ResultStore, sourceOf, type WholeResult } from './result-pages.ts';

interface MemoryLimits {
  expiresAfterMs: number;
  /** Of all agents of this process; the oldest make room. */
  maxTotalBytes: number;
}

interface InMemory extends WholeResult {
  bytes: number;
  keptAt: number;
}

/** By id, the oldest first. */
const results = new Map<string, InMemory>();
let totalBytes = 0;

export class ResultMemory implements ResultStore {
  readonly #limits: MemoryLimits;
  readonly #ids = new Set<string>();

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  async keep(result: WholeResult): Promise<string | undefined> {
    const { maxTotalBytes, expiresAfterMs } = this.#limits;
    const bytes = Buffer.byteLength(result.text);
    if (bytes > maxTotalBytes / 4) return undefined;
    const oldest = Date.now() - expiresAfterMs;
    for (const [id, { keptAt }] of results) {
      if (keptAt > oldest && totalBytes + bytes <= maxTotalBytes) break;
      forget(id);
    }
    const id = newResultId();
    results.set(id, { ...result, bytes, keptAt: Date.now() });
    totalBytes += bytes;
    this.#ids.add(id);
    return id;
  }

  async open(id: string): Promise<OpenResult | undefined> {
    const found = results.get(id);
    if (!found || found.keptAt + this.#limits.expiresAfterMs <= Date.now()) return undefined;
    const { tool, toolCallId, text } = found;
    return { tool, toolCallId, ...sourceOf(text), close: async () => {} };
  }

  async remove(id: string): Promise<void> {
    forget(id);
  }

  /** Forgets the results of this agent. */
  clear(): void {
    for (const id of this.#ids) forget(id);
    this.#ids.clear();
  }
}

function forget(id: string): void {
  totalBytes -= results.get(id)?.bytes ?? 0;
  results.delete(id);
}
