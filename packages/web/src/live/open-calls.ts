// The tool calls in progress of an agent and its sub-agents. They show whether a run is working or waits for the user.
import type { AgentEvent } from 'pocket-agent';

interface OpenCall {
  parent: string | undefined;
  isWaiting: boolean;
}

/** Identifies a call within a run: sub-agents may use the same call ids as their parents. */
export function callKey(path: readonly string[], toolCallId: string): string {
  return path.length > 1 ? `${path.slice(1).join('/')}/${toolCallId}` : toolCallId;
}

export class OpenCalls {
  readonly #open = new Map<string, OpenCall>();

  track({ type, data, meta }: AgentEvent): void {
    if (type !== 'tool_call' && type !== 'tool_result') return;
    if ('providerExecuted' in data) return;
    const key = callKey(meta.path, data.toolCallId);
    if (type === 'tool_result') {
      this.#open.delete(key);
      return;
    }
    this.#open.set(key, { parent: parentKey(data.parentToolCallId, meta), isWaiting: false });
  }

  setWaiting(key: string, isWaiting: boolean): void {
    const call = this.#open.get(key);
    if (call) call.isWaiting = isWaiting;
  }

  /** The last call that does not wait. */
  get lastActive(): string | undefined {
    return [...this.#open].findLast(([, { isWaiting }]) => !isWaiting)?.[0];
  }

  /** The calls that a call is part of, innermost first. */
  enclosing(key: string): string[] {
    const parent = this.#open.get(key)?.parent;
    return parent === undefined ? [] : [parent, ...this.enclosing(parent)];
  }

  /** Whether every call waits for the user, or contains only calls that do. */
  get isBlocked(): boolean {
    const outermost = [...this.#open].filter(([, { parent }]) => parent === undefined || !this.#open.has(parent));
    return outermost.length > 0 && outermost.every(([key]) => this.#isCallBlocked(key));
  }

  #isCallBlocked(key: string): boolean {
    if (this.#open.get(key)?.isWaiting) return true;
    const inner = [...this.#open].filter(([, { parent }]) => parent === key);
    return inner.length > 0 && inner.every(([each]) => this.#isCallBlocked(each));
  }
}

/** The call that a call is part of: one of its own agent, or the one that runs its agent. */
function parentKey(parentToolCallId: string | undefined, { path, parentToolCallId: agentCallId }: AgentEvent['meta']) {
  if (parentToolCallId !== undefined) return callKey(path, parentToolCallId);
  return agentCallId === undefined ? undefined : callKey(path.slice(0, -1), agentCallId);
}
