// What each caller was answered last, so that a rating needs no more than the agent's id, and a reply no more than its
// task.
import type { Caller, CallResponse } from '../base/types.ts';

const MAX_KEPT = 10_000;

export class CallMemory {
  readonly #receipts = new Map<string, string>();
  readonly #agents = new Map<string, string>();

  keep({ id }: Caller, agentId: string, { receipt, task }: CallResponse): void {
    if (receipt !== undefined) put(this.#receipts, `${id}\0${agentId}`, receipt);
    if (task) put(this.#agents, `${id}\0${task.taskHandle}`, agentId);
  }

  /** Of the last call to this agent. */
  receipt({ id }: Caller, agentId: string): string | undefined {
    return this.#receipts.get(`${id}\0${agentId}`);
  }

  /** Whose task this is. */
  agentOf({ id }: Caller, taskHandle: string): string | undefined {
    return this.#agents.get(`${id}\0${taskHandle}`);
  }
}

function put(map: Map<string, string>, key: string, value: string): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_KEPT && oldest !== undefined) map.delete(oldest);
}
