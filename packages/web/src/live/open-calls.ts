// The tool calls in progress, of the agent and of its sub-agents: they show whether the run works or only waits for answers.
import type { AgentEvent } from 'pocket-agent';

interface OpenCall {
  parent: string | undefined;
  waits: boolean;
}

/** The id of a call for the page. Sub-agents may use the same ids as their parents. */
export function callKey(path: readonly string[], toolCallId: string): string {
  return path.length > 1 ? `${path.slice(1).join('/')}/${toolCallId}` : toolCallId;
}

export class OpenCalls {
  readonly #open = new Map<string, OpenCall>();

  note({ type, data, meta }: AgentEvent): void {
    if (type !== 'tool_call' && type !== 'tool_result') return;
    if ('providerExecuted' in data) return;
    const key = callKey(meta.path, data.toolCallId);
    if (type === 'tool_result') {
      this.#open.delete(key);
      return;
    }
    const { parentToolCallId: ofTool } = data;
    const { parentToolCallId: ofAgent } = meta;
    const parent =
      ofTool !== undefined
        ? callKey(meta.path, ofTool)
        : ofAgent === undefined
          ? undefined
          : callKey(meta.path.slice(0, -1), ofAgent);
    this.#open.set(key, { parent, waits: false });
  }

  /** A call waits for an answer, or continues after it. */
  setWaiting(key: string, waits: boolean): void {
    const call = this.#open.get(key);
    if (call) call.waits = waits;
  }

  /** The call that began last and does not wait. */
  get working(): string | undefined {
    return [...this.#open].findLast(([, { waits }]) => !waits)?.[0];
  }

  /** The calls that a call is part of, innermost first. */
  around(key: string): string[] {
    const parent = this.#open.get(key)?.parent;
    return parent === undefined ? [] : [parent, ...this.around(parent)];
  }

  /** True if nothing happens before a question is answered. */
  get onlyWait(): boolean {
    const outermost = [...this.#open].filter(([, { parent }]) => parent === undefined || !this.#open.has(parent));
    return outermost.length > 0 && outermost.every(([key]) => this.#isBlocked(key));
  }

  #isBlocked(key: string): boolean {
    if (this.#open.get(key)?.waits) return true;
    const inner = [...this.#open].filter(([, { parent }]) => parent === key);
    return inner.length > 0 && inner.every(([each]) => this.#isBlocked(each));
  }
}
