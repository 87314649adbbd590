// The receipt of each caller's last call to an agent, so that a rating needs no more than the agent's id.
import type { Caller } from '../types.ts';

const MOST_KEPT = 10_000;

export class Receipts {
  readonly #kept = new Map<string, string>();

  keep({ id }: Caller, agentId: string, receipt: string): void {
    const key = `${id}\0${agentId}`;
    this.#kept.delete(key);
    this.#kept.set(key, receipt);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  last({ id }: Caller, agentId: string): string | undefined {
    return this.#kept.get(`${id}\0${agentId}`);
  }
}
