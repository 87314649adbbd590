// Whose turn it is: one agent has one history, so its runs wait for each other; and who hears of what happens in them.
import { abortable, startDeadline } from './abort.ts';
import { errorText, PocketError } from './errors.ts';
import type { AgentEvent, EventListener, UnsignedEvent } from './events.ts';
import type { Logger } from './logger.ts';
import { currentFrame, inFrame, type RunFrame } from './run-frame.ts';

export interface TurnOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  traceparent?: string | undefined;
  onEvent?: EventListener | undefined;
  streaming?: boolean | undefined;
}

export interface TurnOwner {
  readonly name: string;
  readonly agentId: string;
  readonly hooks: { onEvent?(event: AgentEvent): void | Promise<void> };
  readonly logger: Logger;
}

export class Turns {
  readonly #owner: TurnOwner;
  readonly #timeoutMs: number | undefined;
  readonly #closing = new AbortController();
  /** The turn that is last in line; the next one waits for it. */
  #last: Promise<void> = Promise.resolve();
  readonly #pendingHooks = new Set<Promise<void>>();

  constructor(owner: TurnOwner, timeoutMs: number | undefined) {
    this.#owner = owner;
    this.#timeoutMs = timeoutMs;
  }

  get hears(): boolean {
    return this.#owner.hooks.onEvent !== undefined;
  }

  /** Whether the code that asks runs within a turn of this agent (and not in a tool it called). */
  get isOn(): boolean {
    const frame = currentFrame();
    return frame?.owner === this && frame.toolCallId === undefined;
  }

  /** Runs `work` as a turn of this agent: at once within its own turn, otherwise when the turns before are over. */
  async take<Value>(options: TurnOptions, work: (frame: RunFrame) => Promise<Value>): Promise<Value> {
    const { signal, timeoutMs, traceparent, onEvent, streaming = onEvent !== undefined } = options;
    const parent = currentFrame();
    const isOwn = parent !== undefined && this.isOn;
    if (isOwn && !signal && !timeoutMs && !traceparent && !onEvent) return work(parent);
    if (!isOwn) this.#refuseCycle(parent);
    const { name } = this.#owner;
    const deadline = startDeadline(
      `The run of ${name}`,
      [this.#closing.signal, parent?.signal, signal],
      timeoutMs ?? (isOwn ? undefined : this.#timeoutMs),
    );
    const frame: RunFrame = {
      owner: this,
      parent,
      path: isOwn ? parent.path : [...(parent?.path ?? []), name],
      signal: deadline.signal,
      listener: onEvent,
      streaming: streaming || (parent?.streaming ?? false),
      traceparent: traceparent ?? parent?.traceparent,
      toolCallId: undefined,
      steps: 0,
      finished: false,
    };
    try {
      deadline.signal.throwIfAborted();
      const turn = () => inFrame(frame, () => work(frame));
      return await (isOwn ? turn() : this.#inLine(deadline.signal, turn));
    } finally {
      deadline.release();
    }
  }

  /** Shows an event to the owner's hook, to whoever watches the run, and to the agents above. */
  emit(event: UnsignedEvent, meta: Record<string, unknown> = {}): void {
    const current = currentFrame();
    const frame = current?.owner === this ? current : undefined;
    if (!this.hears && !isWatched(frame)) return;
    const { name: agentName, agentId } = this.#owner;
    const path = frame?.path ?? [agentName];
    const signed = { ...event, meta: { ...meta, agentName, agentId, isSubAgent: path.length > 1, path } } as AgentEvent;
    this.#callHook(signed);
    let below: Turns = this;
    for (let above = frame; above; above = above.parent) {
      above.listener?.(signed);
      // hooks shared by an agent and its sub-agent hear of an event once
      if (above.owner !== below && above.owner.#owner.hooks !== below.#owner.hooks) above.owner.#callHook(signed);
      below = above.owner;
    }
  }

  /** Resolves when hooks that were shown events have dealt with them. */
  async hooksDone(): Promise<void> {
    if (this.#pendingHooks.size > 0) await Promise.all(this.#pendingHooks);
  }

  /** Ends the turn that is on and refuses all that would come after. */
  close(): void {
    this.#closing.abort(new PocketError('AGENT_CLOSED', `The agent ${this.#owner.name} was closed; make a new one.`));
  }

  async #inLine<Value>(signal: AbortSignal, turn: () => Promise<Value>): Promise<Value> {
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = before.then(() => done.promise);
    try {
      await abortable(before, signal);
      return await turn();
    } finally {
      done.resolve();
    }
  }

  #refuseCycle(parent: RunFrame | undefined): void {
    for (let frame = parent; frame; frame = frame.parent) {
      if (frame.owner !== this) continue;
      const chain = [...(parent?.path ?? []), this.#owner.name].join(' → ');
      throw new PocketError('AGENT_CYCLE', `${this.#owner.name} cannot be called from inside its own run: ${chain}.`);
    }
  }

  #callHook(event: AgentEvent): void {
    const { hooks, logger } = this.#owner;
    if (!hooks.onEvent) return;
    const failed = (error: unknown) => logger.error(`hooks.onEvent failed: ${errorText(error)}`);
    try {
      const pending = hooks.onEvent(event);
      if (!(pending instanceof Promise)) return;
      const done: Promise<void> = pending.catch(failed).finally(() => this.#pendingHooks.delete(done));
      this.#pendingHooks.add(done);
    } catch (error) {
      failed(error);
    }
  }
}

/** Nothing is made for observers that are not there. */
function isWatched(frame: RunFrame | undefined): boolean {
  for (let above = frame; above; above = above.parent) {
    if (above.listener || above.owner.hears) return true;
  }
  return false;
}
