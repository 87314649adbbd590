// Remembers the last receipt per agent and the agent of each task, so that models need not repeat them.
import { dropOldest } from '@pocket-agent/kit';
import type { Caller } from '../base/agent3.ts';
import type { CallResponse } from '../base/calls.ts';

const MAX_KEPT = 10_000;

export class CallMemory {
  readonly #receipts = new Map<string, string>();
  readonly #agents = new Map<string, string>();

  keep({ id }: Caller, agentId: string, { receipt, task }: CallResponse): void {
    if (receipt !== undefined) put(this.#receipts, `${id}\0${agentId}`, receipt);
    if (task) put(this.#agents, `${id}\0${task.taskHandle}`, agentId);
  }

  /** The receipt of the last call to this agent. */
  receipt({ id }: Caller, agentId: string): string | undefined {
    return this.#receipts.get(`${id}\0${agentId}`);
  }

  /** The agent that works on this task. */
  agentOf({ id }: Caller, taskHandle: string): string | undefined {
    return this.#agents.get(`${id}\0${taskHandle}`);
  }
}

function put(map: Map<string, string>, key: string, value: string): void {
  map.delete(key);
  map.set(key, value);
  dropOldest(map, MAX_KEPT);
}
